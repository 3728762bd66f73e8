"""Rates of streams that cannot be true are flagged, and intervals contain the mean as often as they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from keisoku.ground.run.result import Result
from keisoku.ground.statistics.uncertainty import half_width
from keisoku.subjects.stream.analysis import analyse
from keisoku.subjects.stream.confidence import Confidence
from keisoku.subjects.stream.flow.table import SCHEMA
from keisoku.subjects.stream.outcome import cell_outcomes
from keisoku.subjects.stream.settings import StreamSettings, TcpSettings, UdpSettings

SECOND = 1_000_000_000
TBF = {"interface": "eth1", "limit": "tbf", "bps": 100_000_000, "frame_bytes": 14, "both_ways": False}
LINE = {"interface": "eth1", "limit": "line", "bps": 1_000_000_000, "frame_bytes": 38, "both_ways": True}


def _row(number: int, bps: float, **values: Any) -> dict[str, Any]:
    moved = round(bps / 8)
    plain = {
        "number": number,
        "path": "dut",
        "setup": 0,
        "message_bytes": 1000,
        "direction": "forward",
        "flow": 0,
        "warm_up": False,
        "sent_bytes": moved,
        "sent_ns": SECOND,
        "sender_cpu_ns": SECOND // 10,
        "received_bytes": moved,
        "settled_bytes": moved,
        "settled_ns": SECOND,
        "receiver_cpu_ns": SECOND // 4,
        "segment_bytes": 1448,
    }
    return {name: (plain | values).get(name) for name in SCHEMA.names}


def _found(kind: type[StreamSettings], rows: list[dict[str, Any]], links: dict[str, Any], **values: Any) -> Result:
    settings = kind.model_validate({"host": "h", "size_bytes": (1000,), **values})
    return analyse(settings, cell_outcomes(rows), {"links": links})[0]


def _flag(found: Result, name: str) -> str:
    return next((flag.text for flag in found.flags if flag.name == name), "")


def test_a_rate_above_the_links_is_flagged() -> None:
    rates = (95.6e6, 107.4e6, 96.3e6)
    rows = [_row(number, bps) for number, bps in enumerate(rates)]
    found = _found(TcpSettings, rows, {"near": [TBF], "far": []})
    assert _flag(found, "above-link").startswith("2 trials are above the 95.64 Mb/s of payload that the token bucket")
    assert any("2 of 3 trials above what the link carries" in row.remark for row in found.rows)
    # What a token bucket lets through at once is no error, and a bucket limits what its own end sends.
    within = [_row(number, 95.9e6) for number in range(3)]
    assert not _flag(_found(TcpSettings, within, {"near": [TBF], "far": []}), "above-link")
    assert not _flag(_found(TcpSettings, rows, {"near": [], "far": [TBF]}), "above-link")
    backwards = [{**row, "direction": "reverse"} for row in rows]
    assert _flag(_found(TcpSettings, backwards, {"near": [], "far": [TBF]}, direction="reverse"), "above-link")
    gigabit = [_row(0, 943e6), _row(1, 960e6)]
    assert _flag(_found(TcpSettings, gigabit, {"near": [], "far": [LINE]}), "above-link").startswith("1 trial is above")


def _udp(number: int, bps: float, cpu: float) -> dict[str, Any]:
    count = round(bps / 8000)
    counts = {"offered": count, "arrived": count, "came": count, "lost": 0, "buffers": count, "most_in_buffer": 1}
    return _row(number, bps, sender_cpu_ns=round(cpu * SECOND), **counts)


@pytest.mark.parametrize(("cpu", "why"), [(0.99, "busy all the time"), (0.3, "had to wait")])
def test_a_rate_of_1200_mbps_that_is_offered_as_387_is_flagged(cpu: float, why: str) -> None:
    found = _found(UdpSettings, [_udp(number, 387e6, cpu) for number in range(3)], {}, rate_bps=1.2e9)
    said = _flag(found, "not-offered")
    assert "387 of 1,200 Mb/s" in said and why in said
    (row,) = (row for row in found.rows if row.group == "Message")
    assert row.figures["intended_rate"].value == 1.2e9 and "offered 387 of 1,200 Mb/s" in row.remark


def test_a_rate_that_is_offered_is_not_flagged_and_one_by_a_factor_is() -> None:
    offered = [_udp(number, 1.199e9, 0.9) for number in range(3)]
    assert not _flag(_found(UdpSettings, offered, {}, rate_bps=1.2e9), "not-offered")
    assert not _flag(_found(UdpSettings, [_udp(0, 387e6, 0.9)], {}), "not-offered")
    two = [_udp(0, 100e6, 0.1), {**_udp(1, 387e6, 0.99), "setup": 1}]
    assert "In 1 of 2 cells" in _flag(
        _found(UdpSettings, two, {}, factor={"rate": ("100Mb/s", "1Gb/s")}), "not-offered"
    )
    tcp = _flag(_found(TcpSettings, [_row(0, 90e6)], {}, rate_bps=100e6), "not-offered")
    assert "did not take more" in tcp


NOISES = {
    "normal": lambda chance, count: chance.normal(size=count),
    "heavy": lambda chance, count: chance.standard_t(4, size=count) / np.sqrt(2),
}


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("scatter", [0.002, 0.012, 0.025, 0.035, 0.06])
def test_intervals_contain_the_mean_although_the_rule_prefers_to_stop_at_little_scatter(
    noise: str, scatter: float
) -> None:
    """Seeds and scatters that the level of the factor was not chosen with."""
    rule, chance, sets = Confidence(), np.random.default_rng(round(1e6 * scatter) + 77), 4000
    trials = 1 + scatter * NOISES[noise](chance, sets * rule.most).reshape(sets, rule.most)
    counts = np.arange(1, rule.most + 1)
    means = np.cumsum(trials, axis=1) / counts
    squares = np.cumsum((trials - 1) ** 2, axis=1) - counts * (means - 1) ** 2
    factors = np.array([half_width([-1.0, 1.0] * (count // 2) + [0.0] * (count % 2), 0.99) for count in counts[1:]])
    deviations = np.array([np.std([-1.0, 1.0] * (count // 2) + [0.0] * (count % 2), ddof=1) for count in counts[1:]])
    # Student's factor over the root of the count, from the second trial on.
    reach = factors / deviations * np.sqrt(np.maximum(squares[:, 1:], 0) / (counts[1:] - 1))
    met = reach <= rule.half_width * np.abs(means[:, 1:])
    met[:, : rule.least - 2] = False
    ended = np.where(met.any(axis=1), met.argmax(axis=1) + 2, rule.most)
    shown = plain = 0
    for every, count in zip(trials, ended, strict=True):
        values = every[:count]
        assert rule.settled(values) and not (count > rule.least and rule.settled(every[: count - 1]))
        error = abs(float(np.mean(values)) - 1)
        shown += error <= half_width(values, rule.student_level(values))
        plain += error <= half_width(values, 0.95)
    # Four standard errors of the share that is seen in so many sets.
    assert 0.95 - 4 * 0.0035 <= shown / sets <= 0.985 + 4 * 0.002
    if noise == "normal" and 0.012 <= scatter <= 0.035:
        assert plain / sets < 0.94, "Student's interval of what was stopped would do"


def test_a_number_of_trials_that_no_rule_chose_has_students_interval() -> None:
    values = [1.0, 1.01, 0.99]
    assert half_width(values, Confidence(least=3, most=3).student_level(values)) == half_width(values, 0.95)
    assert half_width(values, Confidence(half_width=0.001, most=4).student_level(values)) == half_width(values, 0.95)
    assert half_width(values, Confidence(half_width=0.1).student_level(values)) == half_width(values, 0.98)

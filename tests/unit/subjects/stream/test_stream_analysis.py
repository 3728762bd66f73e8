"""What the trials of streams say: figures, set of the best, ceiling, losses by place, bottlenecks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisoku.errors import PlanError
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.result import Result
from keisoku.running.measurement.carry_out import findings_of
from keisoku.subjects.stream.analysis import analyse
from keisoku.subjects.stream.factor import apply, named, of_interface
from keisoku.subjects.stream.file.analysis import analyse as analyse_stages
from keisoku.subjects.stream.file.bottleneck import find_bottleneck, hindrance
from keisoku.subjects.stream.file.settings import NETWORK, SINK, SOURCE, WHOLE, FileSettings
from keisoku.subjects.stream.flow.report import join
from keisoku.subjects.stream.flow.table import SCHEMA, table
from keisoku.subjects.stream.measure import carried
from keisoku.subjects.stream.outcome import cell_outcomes
from keisoku.subjects.stream.run import StreamRun
from keisoku.subjects.stream.schedule import Cell
from keisoku.subjects.stream.settings import StreamSettings, TcpSettings, UdpSettings
from keisoku.subjects.stream.trial import StreamTrial

SECOND = 1_000_000_000
GIGABIT = 1e9


def _settings(**values: Any) -> StreamSettings:
    kind = UdpSettings if values.pop("protocol", "tcp") == "udp" else TcpSettings
    return kind.model_validate({"host": "h", "size_bytes": (1000,), **values})


def _row(number: int, bps: float, path: str = "dut", size: int = 1000, **values: Any) -> dict[str, Any]:
    moved = round(bps / 8)
    plain = {
        "number": number,
        "path": path,
        "setup": 0,
        "message_bytes": size,
        "direction": "forward",
        "flow": 0,
        "warm_up": False,
        "sent_bytes": moved,
        "sent_ns": SECOND,
        "sender_cpu_ns": SECOND // 2,
        "received_bytes": moved,
        "settled_bytes": moved,
        "settled_ns": SECOND,
        "receiver_cpu_ns": SECOND // 4,
    }
    return {name: (plain | values).get(name) for name in SCHEMA.names}


def _observed(rows: list[dict[str, Any]], settings: StreamSettings, **facts: Any) -> Result:
    return analyse(settings, cell_outcomes(rows), facts)[0]


def _runs(bps: float, path: str, size: int, first: int, seed: int = 1) -> list[dict[str, Any]]:
    noise = np.random.default_rng(seed + size)
    return [_row(first + place, bps * (1 + 0.005 * noise.normal()), path, size) for place in range(5)]


def test_throughput_and_cost_are_of_what_was_moved() -> None:
    found = _observed([_row(number, GIGABIT, retransmissions=2, rtt_us=100.0) for number in range(3)], _settings())
    row = next(row for row in found.rows if row.group == "Message")
    assert row.figures["throughput"].value == pytest.approx(GIGABIT)
    # Half a second of CPU for an eighth of 10⁹ bytes.
    assert row.figures["sender_CPU"].value == pytest.approx(4.0)
    assert row.figures["receiver_CPU"].value == pytest.approx(2.0)
    assert row.figures["retransmissions"].value == 6 and row.figures["rtt"].value == pytest.approx(1e5)
    assert "not distinguishable from the best" in row.remark and not found.flagged("not-settled")


def test_a_path_as_fast_as_the_machine_is_marked_and_a_slower_one_is_not() -> None:
    rows = _runs(GIGABIT, "bare", 1000, 0) + _runs(5 * GIGABIT, "bare", 64_000, 10)
    near = _runs(0.97 * GIGABIT, "dut", 1000, 20) + _runs(2 * GIGABIT, "dut", 64_000, 30)
    found = _observed(rows + near, _settings(size_bytes=(1000, 64_000)))
    said = {row.case: row.remark for row in found.rows if row.group == "Message"}
    assert "limited by the tester" in said["1000 byte"] and "limited by the tester" not in said["64000 byte"]
    assert not found.flagged("tester-limited")
    limit = next(row for row in found.rows if row.group == "Own ceiling" and row.remark)
    assert limit.case == "64000 byte"
    assert _observed(rows + _runs(4.9 * GIGABIT, "dut", 64_000, 20), _settings()).flagged("tester-limited")


def test_an_earlier_run_serves_as_ceiling_between_its_sizes() -> None:
    earlier = {"run": "runs/cable", "values": [[0, 500, 1e9, 1e9], [0, 2000, 1e9, 1e9]]}
    found = _observed(_runs(0.99e9, "dut", 1000, 0), _settings(ceiling="runs/cable"), ceiling=earlier)
    assert found.flagged("tester-limited") and any("runs/cable" in remark for remark in found.remarks)


def test_broken_trials_and_warm_ups_do_not_count_and_are_told() -> None:
    rows = [_row(0, 9 * GIGABIT, warm_up=True), _row(1, 5 * GIGABIT, error="sender: reset")]
    found = _observed(rows + _runs(GIGABIT, "dut", 1000, 2), _settings())
    best = next(row for row in found.rows if row.group == "Best")
    assert best.figures["throughput"].value == pytest.approx(GIGABIT, rel=0.01)
    assert found.flagged("broken-trials") and "sender: reset" in str(found.flags)


def test_a_host_that_changes_in_the_middle_is_flagged() -> None:
    calm = [_row(number, GIGABIT * (1 + 0.002 * (-1) ** number)) for number in range(40)]
    slow = [_row(number, GIGABIT * (0.7 if number > 20 else 1) * (1 + 0.002 * (-1) ** number)) for number in range(40)]
    assert not _observed(calm, _settings()).flagged("shift")
    assert _observed(slow, _settings()).flagged("shift")


def _udp(offered: int, lost: int, drops: int, buffers: int, most: int) -> dict[str, Any]:
    return _row(
        0,
        GIGABIT,
        offered=offered,
        arrived=offered - lost,
        came=offered - lost,
        lost=lost,
        duplicated=0,
        reordered=3,
        foreign=0,
        socket_drops=drops,
        buffers=buffers,
        most_in_buffer=most,
    )


def test_losses_of_the_socket_are_told_from_those_of_the_network() -> None:
    (plain,) = cell_outcomes([_udp(10_000, 1000, 400, 9000, 1)])
    assert (plain.dropped, plain.network_lost, plain.network_bounds) == (400, 600, (600, 600))
    # Buffers of 40: 25 of them are all that was lost.
    (offload,) = cell_outcomes([_udp(10_000, 1000, 25, 225, 40)])
    assert (offload.dropped, offload.network_lost, offload.network_bounds) == (1000, 0, (0, 975))
    found = _observed([_udp(10_000, 1000, 400, 9000, 1)] * 1, _settings(protocol="udp"))
    figures = next(row for row in found.rows if row.group == "Message").figures
    assert figures["of_those_in_network"].value == 600 and figures["of_those_in_network"].uncertainty == 0
    assert figures["offered"].value == figures["received"].value + figures["lost_datagrams"].value
    assert figures["reordered"].value == 3


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(1, 10**5), st.integers(1, 64))
def test_places_of_loss_add_up_whatever_the_socket_says(lost: int, drops: int, buffers: int, most: int) -> None:
    (outcome,) = cell_outcomes([_udp(2 * 10**6, lost, drops, buffers, most)])
    least, greatest = outcome.network_bounds
    assert 0 <= least <= greatest <= lost and outcome.dropped + outcome.network_lost == lost


def test_reports_of_both_ends_make_a_row_for_each_stream() -> None:
    trial = StreamTrial(protocol="tcp", message_bytes=10, streams=2, direction="both")
    sent = [{"flow": flow, "bytes": 8, "rtt_us": [10, 30], "tcp": {"busy_us": 5}} for flow in range(4)]
    received = [{"flow": flow, "bytes": 8} for flow in range(3)]
    rows = join(trial, sent, received, [(0, {"retransmissions": 7})])
    assert [row["direction"] for row in rows] == ["forward", "forward", "reverse", "reverse"]
    assert rows[0]["retransmissions"] == 7 and rows[1]["retransmissions"] is None
    assert rows[0]["rtt_us"] == 20 and rows[3]["error"] == "the receiver sent no report"
    place = {"number": 0, "path": "dut", "setup": 0, "warm_up": False}
    assert table([{**row, **place} for row in rows]).num_rows == 4


def test_factors_are_applied_and_refused() -> None:
    factors = {"congestion": ("cubic", "bbr"), "mtu": ("1500", "9000"), "buffer": ("65536",)}
    assert len(_settings(factor=factors).setups()) == 4
    setup = {"congestion": "bbr", "mtu": "9000", "gro": "off", "nodelay": "on"}
    trial = apply(StreamTrial(protocol="tcp", message_bytes=1), setup)
    assert trial.congestion == "bbr" and trial.no_delay and of_interface(setup) == {"mtu": 9000, "gro": False}
    assert named(setup) == "congestion bbr, mtu 9000, gro off, nodelay on"
    for wrong in ("speed=1", "mtu=", "mtu=1500,1500", "mtu=x", "nodelay=perhaps", "offload=on", "streams=0", "mtu=7"):
        name, _, levels = wrong.partition("=")
        with pytest.raises(PlanError, match="factor"):
            _settings(factor={name: levels.split(",")})


def test_effects_of_factors_are_rows() -> None:
    settings = _settings(factor={"congestion": ["cubic", "bbr"]})
    rows = _runs(GIGABIT, "dut", 1000, 0) + [{**row, "setup": 1} for row in _runs(2 * GIGABIT, "dut", 1000, 10, seed=9)]
    found = _observed(rows, settings)
    (effect,) = (row for row in found.rows if row.group == "Factor")
    assert effect.case == "congestion bbr against cubic"
    assert effect.figures["ratio_of_throughput"].value == pytest.approx(2, rel=0.02)


@pytest.mark.filterwarnings("error")
def test_a_size_of_which_a_trial_carried_nothing_has_no_effect_of_factors() -> None:
    """The logarithm of zero was taken: warnings on the terminal, and a ratio that is no number."""
    settings = _settings(factor={"congestion": ["cubic", "bbr"]})
    rows = _runs(GIGABIT, "dut", 1000, 0) + [{**row, "setup": 1} for row in _runs(GIGABIT, "dut", 1000, 10, seed=9)]
    rows += _runs(GIGABIT, "dut", 500, 20) + [{**row, "setup": 1} for row in _runs(0, "dut", 500, 30)]
    (effect,) = (row for row in _observed(rows, settings).rows if row.group == "Factor")
    assert effect.figures["ratio_of_throughput"].value == pytest.approx(1, rel=0.02)


def test_a_run_is_computed_again_from_its_files_and_broken_trials_end_it(tmp_path: Path) -> None:
    from keisoku.errors import EngineError
    from keisoku.subjects.stream.schedule import CellSchedule

    settings = _settings(most_repetitions=4)
    directory = RunDirectory.create(tmp_path / "run", "stream tcp", settings.plain(), {})
    run = StreamRun(directory)
    run.know(ended=False)
    values = iter([9.0, 1.0, 1.01, 0.99, 1.0, 1.0])
    run.campaign("dut", CellSchedule([Cell(0, 1000)], settings.rule, 1), lambda _: [_row(0, next(values) * GIGABIT)])
    run.know(ended=True)
    found = findings_of(RunDirectory.open(tmp_path / "run", "stream tcp"))
    best = next(row for row in found.results[0].rows if row.group == "Best")
    assert best.figures["throughput"].value == pytest.approx(GIGABIT, rel=0.01) and found.plots
    with pytest.raises(EngineError, match="three trials in a row"):
        run.campaign("dut", CellSchedule([Cell(0, 1000)], settings.rule, 1), lambda _: [_row(0, 1.0, error="reset")])


def _stages(source: float, network: float, sink: float, together: float, seed: int = 1) -> dict[str, list[float]]:
    noise = np.random.default_rng(seed)
    means = {SOURCE: source, NETWORK: network, SINK: sink, WHOLE: together}
    return {stage: (mean * (1 + 0.05 * noise.normal(size=4))).tolist() for stage, mean in means.items()}


@pytest.mark.parametrize("slow", [SOURCE, NETWORK, SINK])
def test_the_slowest_stage_is_the_bottleneck(slow: str) -> None:
    rates: Mapping[str, float] = {SOURCE: 3.0, NETWORK: 3.0, SINK: 3.0} | {slow: 1.0}
    bps = _stages(rates[SOURCE], rates[NETWORK], rates[SINK], 0.95)
    assert find_bottleneck({stage: bps[stage] for stage in rates}).named == slow
    settings = FileSettings(host="h", source="s", name="n", bytes=1)
    found = analyse_stages(settings, bps, [True] * 4, {"0"})
    assert found.flagged(f"bottleneck-{slow.split()[0]}") and not found.flagged("stages-hinder")


def test_stages_that_are_alike_are_not_named_and_hindrance_is_told() -> None:
    bps = _stages(1.0, 1.01, 5.0, 0.4)
    found = find_bottleneck({stage: bps[stage] for stage in (SOURCE, NETWORK, SINK)})
    assert found.named is None and set(found.stages) == {SOURCE, NETWORK}
    assert hindrance(bps[WHOLE], bps[SOURCE]) < 0.5
    told = analyse_stages(FileSettings(host="h", source="s", name="n", bytes=1), bps, [True, False], {"0", "1"})
    assert told.flagged("bottleneck-not-told") and told.flagged("stages-hinder") and told.flagged("differs")
    with pytest.raises(ValueError):
        find_bottleneck({SOURCE: [1.0], NETWORK: []})


def test_the_bare_path_is_not_asked_for_segments_beyond_its_mtu() -> None:
    """`stream udp` to a path of a larger MTU ended there: "Message too long", three times in a row."""
    sizes, levels = (64, 1472, 1473, 65507), ("off", "on")
    settings = UdpSettings(host="far", size_bytes=sizes, factor={"offload": levels})
    found = {(cell.message_bytes, settings.setups()[cell.setup]["offload"]) for cell in carried(settings, 1500)}
    assert found == {(size, level) for size in sizes for level in levels} - {(1473, "on"), (65507, "on")}
    assert len(carried(TcpSettings(host="far", size_bytes=sizes), 1500)) == len(sizes)

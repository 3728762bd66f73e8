"""A mesh, from what its ends kept: exact where the truth is made here, packet by packet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from keisoku.errors import PlanError
from keisoku.ground.run.criterion import Verdict
from keisoku.running.measurement.table import find
from keisoku.subjects.stream.outage.mesh.analysis import Clock, MeshOutcome, mesh_outcome_of
from keisoku.subjects.stream.outage.mesh.figures import matrix_lines, result_of
from keisoku.subjects.stream.outage.mesh.plot import mesh_plots
from keisoku.subjects.stream.outage.mesh.settings import MeshSettings

MS = 1_000_000
INTERVAL, DELAY = 100 * MS, 2 * MS
BEGUN, LENGTH = 50_000 * MS, 20_000 * MS
AHEAD = [0, 3_000_000 * MS, -20_000 * MS, 7 * MS]
"""How far the clock of each end is ahead of that of the host that asks."""
NAMES = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"]
LATE = 5
"""So many packets come at each end after the time that is looked at."""


def seen(receiver: int, sender: int, lost: tuple[int, int] | None) -> dict[str, Any]:
    """What an end kept of its session with another one; `lost` are the first and last packet that did not come."""
    count = LENGTH // INTERVAL + LATE
    sent = [BEGUN + AHEAD[sender] + number * INTERVAL for number in range(count)]
    came = [number for number in range(count) if lost is None or not lost[0] <= number <= lost[1]]

    def arrival(number: int) -> dict[str, int]:
        here = sent[number] - AHEAD[sender] + AHEAD[receiver] + DELAY
        return {"number": number, "sent_ns": sent[number], "arrived_ns": here}

    missing, pauses = [], []
    if lost and came[-1] > lost[1]:
        before, after = arrival(lost[0] - 1), arrival(lost[1] + 1)
        gap = {"first": lost[0], "last": lost[1], "count": lost[1] - lost[0] + 1}
        missing = [{**gap, "after_ns": before["sent_ns"], "before_ns": after["sent_ns"]}]
        pauses = [{"before": before, "after": after, "dropped": 0, "held": 0}]
    arrivals = {
        "received": len(came),
        "duplicated": 0,
        "reordered": 0,
        "next": came[-1] + 1,
        "first": arrival(came[0]),
        "last": arrival(came[-1]),
        "missing": missing,
        "missing_kept_as": "list",
        "pauses": pauses,
        "unlisted": 0,
    }
    start = BEGUN + AHEAD[receiver]
    apart = AHEAD[receiver] - AHEAD[sender] + DELAY
    return {
        "now_ns": start + LENGTH + LATE * INTERVAL,
        "opened_ns": start,
        "sent": {
            "start_ns": start,
            "interval_ns": INTERVAL,
            "flows": 1,
            "late_ns": INTERVAL // 2,
            "next": count,
            "skipped": 0,
            "slips": [],
            "unlisted": 0,
        },
        "flows": [{"flow": 0, "begun": 0, "from": [], "arrivals": arrivals}],
        "delays": {"start_ns": start, "width_ns": LENGTH, "rows": [[count, apart, apart + 1000, apart + 9000]]},
        "refused": {},
    }


def record(lost: dict[tuple[int, int], tuple[int, int]] | None = None) -> dict[str, Any]:
    """Of four ends; `lost` by sender and receiver."""
    lost = lost or {}
    pairs = [(one, other) for one in range(4) for other in range(one + 1, 4)]
    ended = BEGUN + LENGTH
    return {
        "begun_ns": BEGUN,
        "ended_ns": ended,
        "marks": [{"kind": "marker", "text": "step", "begun_ns": BEGUN + 4000 * MS, "ended_ns": BEGUN + 4000 * MS}],
        "ends": [
            {
                "name": name,
                "clock": [[at - MS, at + ahead, at + MS] for at in (BEGUN, ended)],
                "host": {"stops": [], "unlisted": 0, "steps": [], "suspended": []},
            }
            for name, ahead in zip(NAMES, AHEAD, strict=True)
        ],
        "pairs": [
            {
                "near": one,
                "far": other,
                "seen": [seen(one, other, lost.get((other, one))), seen(other, one, lost.get((one, other)))],
            }
            for one, other in pairs
        ],
    }


def of_path(found: MeshOutcome) -> dict[tuple[int, int], list[Any]]:
    return {(way.sender, way.receiver): way.flow.of_path for way in found.ways if way.flow.of_path}


def test_nothing_is_invented_and_what_comes_afterwards_does_not_count() -> None:
    found = mesh_outcome_of(record())
    assert not of_path(found) and len(found.ways) == 12 and not found.unknown
    assert {(way.flow.sent, way.flow.received, way.flow.lost) for way in found.ways} == {(201, 201, 0)}


def test_lost_packets_are_counted_whatever_comes_after_the_end() -> None:
    found = mesh_outcome_of(record({(0, 2): (50, 59)}))
    (way,) = [way for way in found.ways if way.flow.lost]
    assert (way.sender, way.receiver, way.flow.lost, way.flow.received) == (0, 2, 10, 191)


def test_interruptions_of_all_ends_lie_on_one_line_of_time() -> None:
    every = [(one, other) for one in range(4) for other in range(4) if one != other]
    found = mesh_outcome_of(record(dict.fromkeys(every, (50, 59))))
    assert set(of_path(found)) == set(every)
    for (one,) in of_path(found).values():
        assert one.begin.lowest - MS <= 49 * INTERVAL <= one.begin.highest + MS
        assert one.length.lowest <= 10 * INTERVAL <= one.length.highest
        assert abs(one.begin.likely - 49.5 * INTERVAL) <= INTERVAL / 2 + 3 * MS


def test_the_end_with_which_all_were_interrupted_is_named() -> None:
    lost = {(2, other): (50, 59) for other in (0, 1, 3)} | {(other, 2): (50, 59) for other in (0, 1, 3)}
    found = mesh_outcome_of(record(lost))
    result = result_of(found, MeshSettings(ends=tuple(NAMES)), "outage mesh", "")
    (flag,) = [flag for flag in result.flags if flag.name == "end-interrupted"]
    assert NAMES[2] in flag.text
    rows = {row.case: row.figures for row in result.rows}
    assert rows[NAMES[2]]["affected_from"].value == rows[NAMES[2]]["affected_to"].value == 3
    assert rows[NAMES[0]]["affected_from"].value == rows[NAMES[0]]["affected_to"].value == 1
    assert rows["all pairs"]["affected"].value == 6
    (event,) = [row.figures for row in result.rows if row.group == "Event"]
    assert event["affected"].value == 6
    verdicts = {tuple(line[:2]): line[-1] for line in matrix_lines(found)[1:]}
    assert [ends for ends, verdict in verdicts.items() if (verdict == "interrupted") != (NAMES[2] in ends)] == []
    matrix, line = mesh_plots(found)
    assert matrix.traces[0]["z"][2][0] == pytest.approx(1.0, abs=0.1) and matrix.traces[0]["z"][0][0] is None
    assert len([x for x in line.traces[0]["x"] if x is not None]) == 12


def test_what_never_came_back_is_a_verdict_of_its_own() -> None:
    found = mesh_outcome_of(record({(1, 3): (100, 204)}))
    settings = MeshSettings(ends=tuple(NAMES), allowed_s=3600.0)
    result = result_of(found, settings, "outage mesh", "")
    assert result.rows[0].figures["never"].value == 1
    assert result.rows[0].figures["interruption"].bound == "at least"
    verdicts: list[Verdict] = [each.judge([result]) for each in find("outage mesh").criteria(settings.plain())]
    assert "missed" in [each.word for each in verdicts]
    assert ["10.0.0.2", "10.0.0.4", "never came back"] in [[*line[:2], line[-1]] for line in matrix_lines(found)]


def test_of_an_end_that_cannot_be_asked_only_what_it_sent_is_known() -> None:
    kept = record({(0, 1): (50, 59), (1, 0): (50, 59)})
    for pair in kept["pairs"]:
        for side, place in enumerate((pair["near"], pair["far"])):
            if place == 0:
                pair["seen"][side] = None
    found = mesh_outcome_of(kept)
    assert found.unknown == [(1, 0), (2, 0), (3, 0)]
    assert list(of_path(found)) == [(0, 1)]
    settings = MeshSettings(ends=tuple(NAMES), allowed_s=10.0)
    budget = result_of(found, settings, "outage mesh", "").rows[0].figures["budget"]
    assert budget.bound == "at least", "what is not known may exceed the budget"


def test_a_clock_that_runs_faster_is_followed() -> None:
    clock = Clock([[0, 1_000_000, 10], [1_000_000, 2_000_100, 1_000_010]])
    assert clock.here(1_500_052) == pytest.approx(500_007, abs=3)
    assert clock.there(500_005) == pytest.approx(1_500_050, abs=3)


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        (("10.0.0.1",), "1 ends are given"),
        (("10.0.0.1", "10.0.0.1@other"), "10.0.0.1 is given twice"),
        (("10.0.0.1", ""), "an end has no address"),
        (tuple(f"10.0.0.{number}" for number in range(65)), "65 ends are given"),
    ],
)
def test_impossible_ends_are_refused_in_a_sentence(ends: tuple[str, ...], said: str) -> None:
    with pytest.raises(PlanError, match=said):
        MeshSettings(ends=ends)


def test_ends_may_be_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("# a mesh\n10.0.0.1\n\n10.0.0.2@blue\n")
    settings = MeshSettings(ends=(f"@{file}", "10.0.0.3")).with_files_read()
    assert settings.ends == ("10.0.0.1", "10.0.0.2@blue", "10.0.0.3")
    with pytest.raises(PlanError, match="cannot be read"):
        MeshSettings(ends=(f"@{tmp_path}/none",)).with_files_read()

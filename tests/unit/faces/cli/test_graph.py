"""The graph of a running measurement: live counters first, then what was recorded, and only where there is room."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console
from support.screen import Screen
from support.synthetic_runs import host_run

from keisoku.faces.cli.graph import MOST, Graph
from keisoku.faces.cli.live import Live
from keisoku.ground.run.directory import RunDirectory
from keisoku.subjects.device.engine.engine import Progress
from keisoku.subjects.device.record.trial_record import TrialRecord


def _progress(offered: int, forwarded: int, elapsed_s: float) -> Progress:
    return Progress(
        offered_frames=offered, forwarded_frames=forwarded, finished=False, elapsed_s=elapsed_s, expected_s=9.0
    )


def _with_loss() -> TrialRecord:
    return next(record for record in host_run().records if record.valid and record.facts.tracked.lost_frames)


def test_a_running_trial_shows_the_rate_between_its_counters_and_nothing_of_its_waits() -> None:
    graph = Graph()
    for counters in ((0, 0, 0.5), (100, 100, 1.0), (300, 200, 2.0), (300, 250, 3.0)):
        graph.counted(_progress(*counters))
    assert [one.frames_per_second for one in graph.moments] == [200.0, 100.0]
    assert graph.lines(80) == ["forwarded █▅ 0.1 kf/s, at most 0.2 kf/s", "lost", "latency"]


def test_a_trial_that_is_over_shows_its_record_in_the_columns_that_it_had() -> None:
    graph, record = Graph(), _with_loss()
    for step in range(1, 5):
        graph.counted(_progress(step, step, float(step)))
    graph.recorded(record)
    tracked, seconds = record.facts.tracked, record.trial.duration_ns / 1e9
    assert len(graph.moments) == 4
    assert sum(one.frames_per_second for one in graph.moments) / 4 == pytest.approx(tracked.forwarded_frames / seconds)
    lost = 100 * tracked.lost_frames / record.facts.expected_frames
    assert {one.lost_percent for one in graph.moments} == {lost}
    latencies = [one.latency_ns for one in graph.moments if one.latency_ns is not None]
    assert len(latencies) == 4 and tracked.latency is not None
    assert sum(latencies) / 4 == pytest.approx(tracked.latency.mean_ns, rel=0.02)
    graph.counted(_progress(10, 10, 1.0))
    assert graph.moments[-1].frames_per_second == 10.0, "counters of the next trial begin anew"


@pytest.mark.parametrize(("width", "shown"), [(40, 0), (80, 3), (200, 3)])
def test_lines_fit_or_are_left_out(width: int, shown: int) -> None:
    graph, record = Graph(), _with_loss()
    for _ in range(2 * MOST):
        graph.recorded(record)
    lines = graph.lines(width)
    assert len(graph.moments) == MOST and len(lines) == shown
    assert all(len(line) <= width for line in lines)


@pytest.mark.parametrize(("height", "drawn"), [(24, True), (12, False)])
def test_the_table_has_the_graph_below_it_where_the_screen_has_room(height: int, drawn: bool) -> None:
    screen = Screen(80, height)
    live = Live(Console(file=screen, force_terminal=True, width=80, height=height))
    record = _with_loss()
    with live:
        live.begun(RunDirectory(Path("runs/x"), "throughput", {}, {}))
        for number in range(2):
            live.trial_started(number, record.method, record.trial)
            live.trial_finished(record)
        live.refresh()
        shown = [line.split()[0] for line in screen.text.splitlines()]
    assert shown[:2] == ["Procedure", record.method]
    assert (shown[2:5] == ["forwarded", "lost", "latency"]) is drawn
    assert not screen.text, "nothing of it stays"

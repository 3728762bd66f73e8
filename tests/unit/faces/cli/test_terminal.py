"""What a user sees of a measurement on the terminal: lines while it runs, and the end on one screen."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console
from support.command_line import keisoku
from support.screen import Screen
from support.synthetic_runs import host_run

from keisoku.faces.cli.live import Live
from keisoku.faces.cli.progress import WIDTH, Lines, Rows, rate
from keisoku.faces.cli.summary import MOST_LINES, Summary
from keisoku.ground.report.table import Head, Table
from keisoku.ground.run.directory import RunDirectory
from keisoku.subjects.device.forecast.forecast import Forecast
from keisoku.subjects.device.record.trial import Trial


def _trial(size: int, fps: float) -> Trial:
    return Trial(purpose="search", frame_bytes=size, frames_per_second=fps, duration_ns=1_000_000_000)


def test_lines_are_at_most_100_characters(capsys: pytest.CaptureFixture[str]) -> None:
    with Lines() as lines:
        lines.tell("word " * 90)
        lines.trial_started(0, "throughput", _trial(64, 610_000.0))
        lines.trial_started(1, "throughput", _trial(1518, 81_000.0))
    said = capsys.readouterr().err.splitlines()
    assert max(map(len, said)) <= WIDTH
    assert said[5:] == [
        "throughput 64 byte: trying 0.61 Mf/s",
        "throughput 64 byte: done (0 valid)",
        "throughput 1518 byte: trying 81 kf/s",
        "throughput 1518 byte: ended (0 valid)",
    ]


def test_the_time_that_is_left_is_that_of_all_runs_and_not_of_the_one_that_is_measured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 0.0
    monkeypatch.setattr("keisoku.faces.cli.progress.monotonic", lambda: now_s)
    with Lines() as lines:
        now_s = 10.0
        lines.came_to(0.25, 1.0, "pair 2, A")
        lines.expects(Forecast(0.23, 0.23))
        lines.trial_started(0, "latency", _trial(64, 2000.0))
    assert capsys.readouterr().err.splitlines()[:2] == [
        "25 %: pair 2, A (about 30 s left)",
        "latency 64 byte: trying 2 kf/s (about 30 s left)",
    ]


def _on_a_screen(verbose: bool = False) -> tuple[Live, Screen]:
    screen = Screen(80, 24)
    return Live(Console(file=screen, force_terminal=True, width=80, height=24), verbose), screen


def test_a_warning_stays_above_the_table_and_other_sentences_go() -> None:
    live, screen = _on_a_screen()
    with live:
        live.tell("3 sizes, about 4 min")
        live.begun(RunDirectory(Path("runs/x"), "throughput", {}, {}))
        live.tell("looking for the hops")
        live.warn("the reference did not answer 3 times")
        live.tell("5 of 6 hops answer")
        live.came_to(1.0, 4.0, "round 2")
        live.refresh()
        assert screen.text.splitlines()[:4] == [
            "3 sizes, about 4 min",
            "the reference did not answer 3 times",
            "5 of 6 hops answer",
            "round 2",
        ]
    assert screen.text.splitlines() == ["3 sizes, about 4 min", "the reference did not answer 3 times"]
    assert screen.shows_cursor


def test_the_screen_is_not_empty_before_the_plan_is_known() -> None:
    live, screen = _on_a_screen()
    with live:
        assert screen.text.splitlines() == ["getting ready to measure"]
        live.tell("3 sizes, about 4 min")
        live.begun(RunDirectory(Path("runs/x"), "throughput", {}, {}))
        live.refresh()
        assert screen.text.splitlines() == ["3 sizes, about 4 min"]


def test_with_v_every_sentence_stays() -> None:
    live, screen = _on_a_screen(verbose=True)
    with live:
        live.begun(RunDirectory(Path("runs/x"), "throughput", {}, {}))
        live.tell("looking for the hops")
        live.tell("5 of 6 hops answer")
    assert screen.text.splitlines() == ["looking for the hops", "5 of 6 hops answer"]


def test_a_row_says_what_is_tried_after_what() -> None:
    lines = Lines()
    lines.planned(("throughput",), (64, 1518))
    lines.rows.found["throughput", 64].last = "loss at 0.64 Mf/s"
    lines.trial_started(0, "throughput", _trial(64, 610_000.0))
    assert [row.state for row in lines.rows.found.values()] == ["trying 0.61 Mf/s after loss at 0.64 Mf/s", "waits"]


def test_a_load_that_could_not_be_offered_is_not_said_to_have_passed() -> None:
    """'no loss at 100 Mf/s' stood there, where a lab device had forwarded 0.45 Mf/s."""
    record = next(record for record in host_run().records if record.valid and not record.facts.tracked.lost_frames)
    asked = record.trial.model_copy(update={"frames_per_second": 100e6})
    rows = Rows()
    rows.planned((record.method,), (asked.frame_bytes,))
    rows.started(record.method, asked)
    assert rows.now is not None and rows.now.state == "trying all that the tester can send"
    rows.finished(record.model_copy(update={"trial": asked}))
    assert rows.now.last == f"no loss at {rate(record.offered_fps)}"


def test_a_narrow_table_cuts_no_figure() -> None:
    live, screen = _on_a_screen()
    live.rows.planned(("throughput",), (1518,))
    row = live.rows.found["throughput", 1518]
    row.state, row.valid, row.repeated = "trying 0.45 Mf/s after " + "no loss " * 20, 12, 3
    with live:
        live.refresh()
        (shown,) = [line for line in screen.text.splitlines() if line.startswith("throughput")]
    assert shown.split()[1] == "1518" and shown.endswith("…  12 valid, 3 repeated")


def test_rates_are_short() -> None:
    assert [rate(each) for each in (1_487_800.0, 81_274.0, 12.0)] == ["1.49 Mf/s", "81.3 kf/s", "12 f/s"]


@pytest.mark.parametrize("width", [40, 80, 100])
@pytest.mark.parametrize("count", [1, 4, 30])
def test_the_end_is_at_most_20_lines_that_fit(width: int, count: int) -> None:
    table = Table("Throughput", [Head("Frame size", "byte"), Head("Throughput", "Mframes/s")], [["64", "1.5"]] * 40, [])
    said = Summary(
        ["long " * 60] * count, "runs/x/report.html", ["met"] * count, table, 1, count, ["12 deviations"]
    ).lines(width)
    assert len(said) == MOST_LINES
    assert max(map(len, said)) <= width
    assert said[-1] == "report: runs/x/report.html"
    assert said[-2].startswith("12 deviations: see")
    shown = sum(line.startswith("64") for line in said)
    assert shown >= 3
    assert said[-3].startswith(f"… {40 - shown} more rows and {count} more table")


def test_the_end_shows_every_row_of_the_main_table_and_its_main_column() -> None:
    heads = [Head("Source", ""), Head("Bulk", "ns"), Head("Minimum", "ns"), Head("Median", "ns")]
    table = Table("Cost", heads, [[f"source {row}", "1" * 12, "2" * 12, f"{row}†"] for row in range(9)], ["†"])
    said = Summary(["In short."], "report.html", (), table, 3, 0, ()).lines(40)
    assert said[1:4] == ["Cost (3 of 4 columns)", "Source            Bulk  Median", f"{'ns':>22}{'ns':>8}"]
    assert [line.split()[-1] for line in said[4:13]] == [f"{row}†" for row in range(9)]
    assert said[13:] == ["† uncertainty not known", "report: report.html"]


def test_the_name_alone_shows_one_screen(tmp_path: Path) -> None:
    alone, asked = keisoku(cwd=tmp_path), keisoku("--help", cwd=tmp_path)
    assert (alone.code, asked.code) == (2, 0)
    assert len(alone.stderr.splitlines()) <= 32 and "doctor" in alone.stderr and "--help" in alone.stderr
    assert len(asked.stdout.splitlines()) > 100 and "back-to-back" in asked.stdout

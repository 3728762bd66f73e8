"""The kept table of tests/drivers/outcomes.md is that of the cases that exist."""

from pathlib import Path

import pytest
from drivers import page
from drivers.cases import CASES
from drivers.driver import DRIVERS
from drivers.page import (
    BEGIN,
    BEGIN_LABS,
    END,
    LabOutcome,
    Outcome,
    kept,
    kept_cases,
    kept_labs,
    sentences,
    table,
    write,
)


def test_the_kept_page_has_the_cases_that_exist() -> None:
    assert kept_cases() == [case.name for case in CASES]


def test_a_case_that_failed_or_was_not_run_never_looks_like_one_that_passed() -> None:
    case = next(case for case in CASES if case.each_engine and len(case.drivers) == len(DRIVERS))
    outcomes = [
        Outcome(case.name, DRIVERS[0].name, "packet", True, "", 1.0),
        Outcome(case.name, DRIVERS[0].name, "xdp", False, "", 1.0),
    ]
    row = next(line for line in table(outcomes).splitlines() if line.startswith(f"| `{case.name}`"))
    assert row.split(" | ")[2] == "`packet` yes, `xdp` NO, `afxdp` not run"
    assert "yes" not in row.split(" | ")[3] and "not run" in row.split(" | ")[3]


def test_what_cases_saw_is_told_once_where_it_differs_only_by_names_and_times() -> None:
    case = next(case for case in CASES if case.each_engine and len(case.drivers) == len(DRIVERS))
    told = "{0} lost its carrier {1} s after the begin"
    outcomes = [
        Outcome(case.name, "igb", "xdp", True, told.format("igb0", 1.5), 0.0),
        Outcome(case.name, "e1000e", "xdp", True, told.format("e1000e0", 0.38), 0.0),
        Outcome(case.name, "e1000e", "packet", True, "another sentence", 0.0),
    ]
    lines = [line for line in sentences(outcomes).splitlines() if line.startswith("- ")]
    assert lines == [
        f"- `{case.name}`, igb (`xdp`), e1000e (`xdp`): igb0 lost its carrier 1.5 s after the begin",
        f"- `{case.name}`, e1000e (`packet`): another sentence",
    ]


def test_a_run_that_was_ended_early_is_carried_on_from_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "page.md"
    path.write_text(f"before\n{BEGIN}{END}between\n{BEGIN_LABS}{END}after\n")
    monkeypatch.setattr(page, "PAGE", path)
    first, once = (next(case for case in CASES if case.each_engine is each) for each in (True, False))
    outcomes = [
        Outcome(first.name, "igb", "xdp", True, "what it saw, with `igb0`: all", 0.0),
        Outcome(first.name, "igb", "afxdp", False, "", 0.0),
        Outcome(once.name, "e1000e", None, True, "", 0.0),
    ]
    of_labs = [
        LabOutcome("test_lab[taprio]", "passed", 0.0),
        LabOutcome("test_lab[etf?a=1&b=2]", "passed", 0.0),
        LabOutcome("test_lab[cbs]", "failed", 0.0),
        LabOutcome("test_once", "skipped", 0.0),
    ]
    write(outcomes, [], of_labs, [], "A guest")
    assert kept() == outcomes
    assert kept_labs() == of_labs
    mended = Outcome(first.name, "igb", "afxdp", True, "", 0.0)
    write([mended], kept(), [], [], "Another guest")
    assert set(kept()) == {outcomes[0], mended, outcomes[2]}
    text = path.read_text()
    assert "Runs: 1, of cases: 1, in 0 min; failed: 0. 2 other cells are of earlier runs." in text
    assert kept_labs() == of_labs, "what was not run again is kept"
    assert text.startswith("before\n") and "\nbetween\n" in text and text.endswith("after\n")
    mended_lab = LabOutcome("test_lab[cbs]", "passed", 60.0)
    write([], [], [mended_lab], kept_labs(), "A third guest")
    assert {one.test: one.outcome for one in kept_labs()} == {
        **{one.test: one.outcome for one in of_labs},
        "test_lab[cbs]": "passed",
    }
    assert "1 tests in 1 minutes; 3 others are of earlier runs:" in path.read_text()

"""The kept table of docs/drivers.md is that of the cases that exist."""

from drivers.cases import CASES
from drivers.driver import DRIVERS
from drivers.page import Outcome, kept_cases, table


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

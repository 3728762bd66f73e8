"""Boots the guest once, runs tests of labs in it if asked to, and writes the tables of outcomes.md."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from drivers.guest import Guest, NoGuestError
from drivers.page import LabOutcome, Outcome, kept, kept_labs, write

OUTCOMES = pytest.StashKey[list[Outcome]]()
EARLIER = pytest.StashKey[list[Outcome]]()
LAB_OUTCOMES = pytest.StashKey[list[LabOutcome]]()
EARLIER_OF_LABS = pytest.StashKey[list[LabOutcome]]()
ABOUT = pytest.StashKey[str]()
GUEST = pytest.StashKey[Guest | NoGuestError]()
REPORTS = pytest.StashKey[Iterator[tuple[str, list[dict[str, Any]]]]]()
LAB_TESTS = Path(__file__).parents[1] / "lab"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-page", action="store_true", help="write the tables of outcomes.md from this run")
    parser.addoption("--short", action="store_true", help="the sixteen cases of drivers that say most")
    parser.addoption("--missing", action="store_true", help="only what has not passed in the kept page")
    parser.addoption("--in-guest", action="store_true", help="run tests of tests/lab in the guest, not on this host")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[OUTCOMES], config.stash[LAB_OUTCOMES] = [], []
    config.stash[EARLIER] = kept() if config.getoption("--missing") else []
    config.stash[EARLIER_OF_LABS] = kept_labs() if config.getoption("--missing") else []
    config.addinivalue_line("markers", "long_form: left out of the short form (--short)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items if config.getoption("--in-guest") else ():
        if item.path.is_relative_to(LAB_TESTS):
            # In the guest it has a limit of its own; the first one waits for the guest and for all imports besides.
            item.add_marker(pytest.mark.timeout(0))
    left_out = list[pytest.Item]()
    if config.getoption("--short"):
        left_out += [item for item in items if item.get_closest_marker("long_form")]
    passed = {(one.case, one.driver, one.engine): one.passed for one in config.stash[EARLIER]}
    left_out += [item for item in items if passed.get(_cell(item))]
    of_labs = {one.test for one in config.stash[EARLIER_OF_LABS] if one.outcome == "passed"}
    left_out += [item for item in items if item.name in of_labs and item.path.is_relative_to(LAB_TESTS)]
    # What failed before comes before what was never run.
    items.sort(key=lambda item: _cell(item) not in passed)
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def _cell(item: pytest.Item) -> tuple[Any, Any, Any]:
    values = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    return values.get("case"), values.get("driver"), values.get("engine")


def guest_of(config: pytest.Config) -> Guest:
    """The guest, booted when it is first asked for. Raises NoGuestError where there can be none."""
    if GUEST not in config.stash:
        try:
            made = config.stash[GUEST] = Guest()
        except NoGuestError as error:
            config.stash[GUEST] = error
        else:
            config.stash[ABOUT] = (
                f"Linux {made.facts['kernel']} under QEMU ({made.accelerator}), 2 cores, on a host of "
                f"{platform.machine()}; booted in {made.boot_s:.0f} s, of which {made.facts['imported_s']:.0f} s were "
                "imports"
            )
            print(config.stash[ABOUT], flush=True)
    found = config.stash[GUEST]
    if isinstance(found, NoGuestError):
        raise found
    return found


@pytest.fixture(scope="session")
def guest(request: pytest.FixtureRequest) -> Guest:
    try:
        return guest_of(request.config)
    except NoGuestError as error:
        pytest.skip(str(error))


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A test of labs is not run here but reported as the guest reports it."""
    if not item.config.getoption("--in-guest") or not item.path.is_relative_to(LAB_TESTS):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in _reports_of(item):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _reports_of(item: pytest.Item) -> list[pytest.TestReport]:
    try:
        if REPORTS not in item.config.stash:
            names = [one.nodeid for one in item.session.items if one.path.is_relative_to(LAB_TESTS)]
            item.config.stash[REPORTS] = guest_of(item.config).carry_out_tests(names)
        reported = item.config.stash[REPORTS]
        name, told = next(reported)
        assert name == item.nodeid, f"the guest is at {name}"
        reports = [_report(report) for report in told]
        # Of several attempts, which follow where the machine spoiled one, the last one counts.
        last = max(number for number, report in enumerate(reports) if report.when == "setup")
        found = reports[last:]
    except NoGuestError as error:
        return [_told(item, "skipped", (str(item.path), 0, f"Skipped: {error}"))]
    except (OSError, StopIteration) as error:
        return [_told(item, "failed", str(error) or "the guest ran no more tests")]
    outcomes = {report.outcome for report in found}
    outcome = next(one for one in ("failed", "skipped", "passed") if one in outcomes)
    seconds = sum(report.duration for report in found)
    item.config.stash[LAB_OUTCOMES].append(LabOutcome(item.name, outcome, seconds))
    return found


def _report(told: dict[str, Any]) -> pytest.TestReport:
    report = pytest.TestReport._from_json(told)
    if isinstance(report.longrepr, list):  # JSON has no tuples, and pytest's list of what was skipped wants one
        report.longrepr = tuple(report.longrepr)
    return report


def _told(item: pytest.Item, outcome: Any, why: Any) -> pytest.TestReport:
    return pytest.TestReport(item.nodeid, item.location, {}, outcome, why, "call")


@pytest.fixture(autouse=True)
def _page(request: pytest.FixtureRequest) -> Iterator[None]:
    """Written after each case: a run of an hour may be ended early."""
    yield
    _write_page(request.config)


def pytest_sessionfinish(session: pytest.Session) -> None:
    _write_page(session.config)


def _write_page(config: pytest.Config) -> None:
    if config.getoption("--write-page") and ABOUT in config.stash:
        outcomes = config.stash[OUTCOMES], config.stash[EARLIER]
        of_labs = config.stash[LAB_OUTCOMES], config.stash[EARLIER_OF_LABS]
        write(*outcomes, *of_labs, config.stash[ABOUT])


def pytest_unconfigure(config: pytest.Config) -> None:
    if isinstance(made := config.stash.get(GUEST, None), Guest):
        made.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if ABOUT in config.stash:
        seconds = sum(outcome.seconds for outcome in config.stash[OUTCOMES])
        terminalreporter.write_line(f"guest: {config.stash[ABOUT]}; cases: {seconds:.0f} s")

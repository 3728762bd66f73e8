"""Boots the guest once, and writes the table of docs/drivers.md if asked to."""

from __future__ import annotations

import platform
from collections.abc import Iterator

import pytest

from drivers.guest import Guest, NoGuestError
from drivers.page import Outcome, write

OUTCOMES = pytest.StashKey[list[Outcome]]()
GUEST = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-page", action="store_true", help="write the table of docs/drivers.md from this run")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[OUTCOMES] = []


@pytest.fixture(scope="session")
def guest(request: pytest.FixtureRequest) -> Iterator[Guest]:
    try:
        made = Guest()
    except NoGuestError as error:
        pytest.skip(str(error))
    facts = made.facts
    request.config.stash[GUEST] = (
        f"Linux {facts['kernel']} under QEMU ({made.accelerator}), 2 cores, on a host of {platform.machine()}; "
        f"booted in {made.boot_s:.0f} s, of which {facts['imported_s']:.0f} s were imports"
    )
    print(request.config.stash[GUEST], flush=True)
    yield made
    made.close()


def pytest_sessionfinish(session: pytest.Session) -> None:
    outcomes = session.config.stash[OUTCOMES]
    if session.config.getoption("--write-page", False) and outcomes:
        write(outcomes, session.config.stash[GUEST])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if GUEST in config.stash:
        seconds = sum(outcome.seconds for outcome in config.stash[OUTCOMES])
        terminalreporter.write_line(f"guest: {config.stash[GUEST]}; cases: {seconds:.0f} s")

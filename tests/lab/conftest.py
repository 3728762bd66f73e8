"""Skips lab tests by name where there can be no lab, runs again what failed while the host took a CPU; keeps taps."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from support.host_watch import HostWatch
from support.lab_frames import Tap

from keisoku.ground.lab.available import available
from keisoku.ground.lab.device.port import LabPort

HOST = pytest.StashKey[HostWatch]()
ATTEMPTS = 4
"""A failure is reported at once if the host was calm, else if it came so often."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "alone: wants no other test beside it: it measures how fast, or looks at what all labs have in common",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    reason = available()
    labs = [item for item in items if item.get_closest_marker("lab")]
    for item in labs:
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))
    if labs and not reason:
        host = HostWatch()
        config.stash[HOST] = host
        config.add_cleanup(host.close)
        for item in labs:
            item.add_marker(pytest.mark.flaky(reruns=ATTEMPTS - 1, condition=host.saw_stall))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if host := item.config.stash.get(HOST, None):
        host.restart()


@pytest.fixture
def tap() -> Iterator[Callable[[LabPort], Tap]]:
    taps: list[Tap] = []

    def make(port: LabPort) -> Tap:
        taps.append(Tap(port))
        return taps[-1]

    yield make
    for made in taps:
        made.close()

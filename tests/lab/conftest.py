"""Skips lab tests by name where there can be no lab; opens and closes taps."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from lab_frames import Tap

from keisoku.lab import LabPort, available


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "alone: wants no other test beside it: it measures how fast, or looks at what all labs have in common",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = available()
    for item in items:
        if reason and item.get_closest_marker("lab"):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def tap() -> Iterator[Callable[[LabPort], Tap]]:
    taps: list[Tap] = []

    def make(port: LabPort) -> Tap:
        taps.append(Tap(port))
        return taps[-1]

    yield make
    for made in taps:
        made.close()

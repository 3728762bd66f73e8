"""The beginning of every run on a system: opens the system, completes the settings, opens the log of intervals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from keisoku.ground.entry import Work
from keisoku.subjects.system.interval_log import IntervalLog
from keisoku.subjects.system.opening import open_system
from keisoku.subjects.system.settings import SystemSettings, filled_in
from keisoku.subjects.system.system import System

_Settings = TypeVar("_Settings", bound=SystemSettings)


def check(settings: SystemSettings) -> None:
    """Raises PlanError for a system that does not exist; it is not entered."""
    open_system(settings.system, settings.seed)


@contextmanager
def set_up(work: Work[_Settings]) -> Iterator[tuple[System, _Settings, IntervalLog]]:
    """The system, on which no limit is left afterwards, the completed settings, and the log of intervals."""
    with open_system(work.settings.system, work.settings.seed) as system:
        settings = filled_in(work.settings, system)
        with IntervalLog(work.begin(system.facts(), settings)) as log:
            yield system, settings, log

"""`--within`: settings that fit a time, and an end to what takes longer all the same."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from math import sqrt
from types import FrameType
from typing import Any, TypeVar

from keisoku.errors import PlanError
from keisoku.ground.entry import ENDS, Measurement, to_measure_s
from keisoku.ground.run.settings import RunSettings
from keisoku.language import join_texts, phrase
from keisoku.units import time_text

SHORT_S, LONG_S = 5.0, 120.0
"""How long it takes is said beforehand if that is more than the first, and how to make it shorter beyond the second."""
_CAREFUL = 0.9
"""Share of the time that is planned."""
_LEAST = 1e-4
_STEPS = 20
_Settings = TypeVar("_Settings", bound=RunSettings)


class TimeIsUp(KeyboardInterrupt):
    """The time of a measurement is over; it ends as if it was interrupted, and what it measured is kept."""


@contextmanager
def no_longer_than(seconds: float | None) -> Iterator[None]:
    """Raises TimeIsUp in what is carried out here, if it takes nearly so long (`ENDS`); None: never.

    Only a main thread can be interrupted. Elsewhere, as in the server, the plan alone keeps the time.
    """
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def over(number: int, frame: FrameType | None) -> None:
        raise TimeIsUp

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, ENDS * seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def fitted(measurement: Measurement[_Settings], settings: _Settings, waited_s: float = 0.0) -> _Settings:
    """The settings, with those that the measurement may shorten and nobody gave so low that it fits its time.

    `waited_s` of that the start of the program took.

    All are shortened by one factor, as little as it takes. Where even their least values take too long, they have
    these. Nothing is changed if no time is given, or if it is not known how long the measurement takes.
    """
    if settings.within_s is None or measurement.seconds is None:
        return settings
    target_s = _CAREFUL * to_measure_s(settings.within_s, waited_s)
    if _fits(measurement, settings, target_s):
        return settings
    low, high = _LEAST, 1.0
    best = _lowered(measurement, settings, low)
    for _ in range(_STEPS):
        middle = sqrt(low * high)
        tried = _lowered(measurement, settings, middle)
        if _fits(measurement, tried, target_s):
            low, best = middle, tried
        else:
            high = middle
    return best


def said_before(measurement: Measurement[_Settings], asked: _Settings, settings: _Settings) -> str:
    """How long these settings take, and how they differ from those that were asked for; empty if that is short."""
    seconds = None if measurement.seconds is None else measurement.seconds(settings)
    changes = [
        f"{name.rpartition('_')[0] or name} {time_text(value) if name.endswith('_s') else value}"
        for name in measurement.shortens
        if (value := getattr(settings, name)) != getattr(asked, name)
    ]
    if settings.within_s is not None:
        limit = time_text(settings.within_s)
        if seconds is None:
            limit = phrase("ends after {limit} at the latest", limit=limit)
        elif seconds <= settings.within_s:
            limit = phrase("at most {time} of {limit}", time=time_text(seconds), limit=limit)
        else:
            limit = phrase("would take up to {time}, but ends after {limit}", time=time_text(seconds), limit=limit)
        return join_texts("; ", [join_texts(": ", [measurement.name, limit]), *changes])
    if seconds is None or seconds <= SHORT_S:
        return ""
    said = join_texts(": ", [measurement.name, phrase("at most {time}", time=time_text(seconds))])
    return phrase("{said}; '--within' gives it less time", said=said) if seconds > LONG_S else said


def _fits(measurement: Measurement[_Settings], settings: _Settings, target_s: float) -> bool:
    assert measurement.seconds is not None
    seconds = measurement.seconds(settings)
    return seconds is not None and seconds <= target_s


def _lowered(measurement: Measurement[_Settings], settings: _Settings, factor: float) -> _Settings:
    """All settings that may be shortened by this factor, each as far as it is allowed."""
    found = settings
    for name in measurement.shortens:
        default: Any = getattr(settings, name)
        if name in settings.model_fields_set or default is None:
            continue
        value = round(default * factor) if isinstance(default, int) else default * factor
        found = _least_allowed(found, name, value, default)
    return found


def _least_allowed(settings: _Settings, name: str, value: Any, default: Any) -> _Settings:
    """With this value, or the nearest above it that the settings accept."""
    while value < default:
        try:
            made = type(settings).model_validate({**settings.model_dump(exclude_unset=True), name: value})
            return made
        except (ValueError, PlanError):
            value = value + 1 if isinstance(value, int) else value * 1.25
    return settings

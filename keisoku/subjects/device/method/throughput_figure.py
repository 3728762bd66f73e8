"""The throughput that a search found as a figure: measured, at least, at most, or not known."""

from __future__ import annotations

from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.subjects.device.method.search import SearchOutcome

NEARLY = 0.999
"""A load of so much of the line rate is the line rate: clocks differ by 100 ppm, and a ceiling allows for that."""


def throughput_figure(found: SearchOutcome, line_fps: float | None) -> Quantity | None:
    """In frames/s. None: nothing is known, because the tester failed at every load that was tried."""
    if found.record is None:
        if found.above_by != "loss":
            return None
        if found.given_up or found.unsteady:
            return Quantity(value=found.above_fps, unit="frames/s", bound="at most")
        return _between(0.0, found.above_fps)
    if line_fps is not None and found.above_by == "ceiling" and found.fps >= NEARLY * line_fps:
        return _between(found.fps, max(found.fps, line_fps))
    if found.above_by != "loss":
        return Quantity(value=found.fps, unit="frames/s", bound="at least")
    return _between(found.fps, max(found.fps, found.above_fps))


def _between(value_fps: float, above_fps: float) -> Quantity:
    interval = Interval(lower=value_fps, upper=above_fps)
    return Quantity(value=value_fps, unit="frames/s", interval=interval, covers="resolution")

"""The throughput that a search found as a figure: measured, at least, at most, or not known."""

from __future__ import annotations

from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.subjects.device.method.search import AboveBy, SearchOutcome

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
    return passed_figure(found.fps, found.above_fps, found.above_by, line_fps)


def passed_figure(fps: float, above_fps: float, above_by: AboveBy, line_fps: float | None) -> Quantity:
    """A load that passed, in frames/s, by what lies above it (`SearchOutcome`); 0: none passed."""
    if line_fps is not None and above_by == "ceiling" and fps >= NEARLY * line_fps:
        return _between(fps, max(fps, line_fps))
    if above_by != "loss":
        return Quantity(value=fps, unit="frames/s", bound="at least")
    return _between(fps, max(fps, above_fps))


def _between(value_fps: float, above_fps: float) -> Quantity:
    interval = Interval(lower=value_fps, upper=above_fps)
    return Quantity(value=value_fps, unit="frames/s", interval=interval, covers="resolution")

"""At which rate frames left a device in a trial, and whether a queue grew in it: what a device carries for any time."""

from __future__ import annotations

from dataclasses import dataclass

from keisoku.ground.statistics.line_fit import POINTS_MIN, fit_line
from keisoku.ground.statistics.uncertainty import student
from keisoku.subjects.device.analysis.drift import TOLERANCE_PPM
from keisoku.subjects.device.analysis.samples import samples_of
from keisoku.subjects.device.record.trial import NS_PER_S
from keisoku.subjects.device.record.trial_record import TrialRecord

_LEAST_SAMPLES = 6
_LEAST_FRAMES = 200
"""So many frames show a rate to better than 1 %."""


@dataclass(frozen=True)
class Outflow:
    """A queue that grew until the end of a trial: the rate at which frames left, and its standard error (k = 1)."""

    fps: float
    error_fps: float
    grown_ns: float


def outflow(record: TrialRecord) -> Outflow | None:
    """None if no queue grew in the later half of the trial by more than two clocks within their tolerance explain."""
    samples = samples_of(record, record.facts.tracked)
    if len(samples) < _LEAST_SAMPLES or len(record.facts.streams) != 1:
        return None
    later = samples[-max(POINTS_MIN + 1, len(samples) // 2) :]
    fit = fit_line([one.at_s for one in later], [one.mean_ns for one in later])
    slope, error = fit.slope / NS_PER_S, fit.slope_error / NS_PER_S * student(len(later) - 2) / 2
    if slope - 3 * error <= TOLERANCE_PPM * 1e-6 or samples[-1].mean_ns <= samples[0].mean_ns:
        return None
    # Over the time of arrivals latency grows by one less the ratio of departures to arrivals.
    grown_ns = samples[-1].max_ns - samples[0].min_ns
    return Outflow(record.offered_fps * (1 - slope), record.offered_fps * error, grown_ns)


def departed_fps(record: TrialRecord) -> float | None:
    """Frames/s from the first arrival to the last, which a buffer does not raise; None of too few frames, or of a trial
    of several streams."""
    tracked = record.facts.tracked
    lasts = [one.last_received_ns for one in record.facts.receivers if one.last_received_ns is not None]
    if len(record.facts.streams) != 1 or tracked.forwarded_frames < _LEAST_FRAMES or len(lasts) != 1:
        return None
    span_ns = lasts[0] - record.facts.sent.first_sent_ns - (tracked.latency.min_ns if tracked.latency else 0.0)
    return (tracked.forwarded_frames - 1) * NS_PER_S / span_ns if span_ns > 0 else None

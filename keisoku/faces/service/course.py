"""How a run goes, moment by moment, for a plot while it runs: load, loss and latency. It judges nothing: figures are
those of the result."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from keisoku.subjects.device.engine.engine import Progress
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

MOST = 600
"""Moments that are kept; of a longer run every second one is dropped again and again."""


@dataclass(frozen=True)
class Moment:
    """What was known at one time; None: nothing."""

    at_s: float
    """Since the run began."""
    forwarded_fps: float | None = None
    intended_fps: float | None = None
    loss_percent: float | None = None
    """Of a running trial what was offered before the moment before this one and has not arrived; of one that is over,
    its loss."""
    latency_ns: float | None = None
    """Mean of the last trial, or of the last part of one."""
    bits_per_second: float | None = None
    """Of streams: received in the last trial."""
    of: str = ""
    """What alone it is of, such as messages of one size."""


class Course:
    """The moments of one run."""

    def __init__(self) -> None:
        self._since_s = monotonic()
        self._moments: list[Moment] = []
        self._trial: Trial | None = None
        self._before: Progress | None = None

    @property
    def moments(self) -> list[Moment]:
        """A copy, in the order of time."""
        return list(self._moments)

    def began(self, trial: Trial) -> None:
        """A trial begins."""
        self._trial, self._before = trial, None

    def moved(self, progress: Progress) -> None:
        """A trial is under way."""
        before, self._before = self._before, progress
        if before is None or self._trial is None or (forwarded := progress.forwarded_fps(before)) is None:
            return
        offered = before.offered_frames
        missing = max(0, offered - progress.forwarded_frames)
        loss = 100 * missing / offered if offered else None
        self._add(Moment(self._now_s(), forwarded, self._trial.frames_per_second, loss))

    def ended(self, record: TrialRecord) -> None:
        """A trial is over."""
        latency = record.facts.tracked.latency
        load = record.load_fps if record.senders else None
        self._add(
            Moment(
                self._now_s(),
                None if load is None else load * (1 - record.loss_ratio),
                record.trial.frames_per_second,
                100 * record.loss_ratio,
                None if latency is None else latency.mean_ns,
            )
        )

    def saw(self, of: str, bits_per_second: float | None, loss_percent: float | None, latency_ns: float | None) -> None:
        """A measurement without trials of frames saw this since the last time."""
        self._add(
            Moment(
                self._now_s(),
                loss_percent=loss_percent,
                latency_ns=latency_ns,
                bits_per_second=bits_per_second,
                of=of,
            )
        )

    def _now_s(self) -> float:
        return monotonic() - self._since_s

    def _add(self, moment: Moment) -> None:
        if len(self._moments) >= MOST:
            del self._moments[1::2]
        self._moments.append(moment)

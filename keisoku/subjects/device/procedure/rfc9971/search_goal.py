"""Interface of a search controller: goals, questions, answers, bounds. Values only; no trials, no devices."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from keisoku.subjects.device.procedure.rfc9971.settings import Preset


@dataclass(frozen=True)
class Goal:
    """A search goal (RFC 9971 §4.6.7): when a load is a lower bound, when an upper one."""

    loss_ratio: float
    preset: Preset
    width: float
    """Largest distance of the bounds, relative to the upper one."""

    @property
    def one_bad_trial_decides(self) -> bool:
        """True if no share of the duration sum may exceed the loss ratio."""
        return self.preset.exceed_percent == 0


@dataclass(frozen=True)
class Question:
    """A trial that a controller wants to know the outcome of."""

    seconds: float
    fps: float
    for_rate: bool
    """True if its loss ratio is used to choose the next load: it must be that of a whole trial."""


@dataclass(frozen=True)
class TrialResult:
    """The outcome of the trial. Frames that were not sent do not count as lost."""

    seconds: float
    """Intended duration: that of the question or more."""
    spent_s: float
    """How long the load lasted: less if it was ended early."""
    frames: int
    lost_frames: int

    @property
    def loss_ratio(self) -> float:
        """Lost frames; a lower bound if the load was ended early."""
        return self.lost_frames / self.frames


@dataclass(frozen=True)
class Bounds:
    """What a search found for one goal: the relevant bounds, None where there is none, in frames/s."""

    lower_fps: float | None
    upper_fps: float | None
    conditional_fps: float
    """Conditional throughput: forwarding rate at the lower bound; zero without one."""


Search = Generator[Question, TrialResult, Bounds]

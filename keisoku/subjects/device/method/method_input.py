"""Input of every method: the plan, the engine's capabilities, the tester's bias, earlier results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from keisoku.ground.frame.modifying import BROADCAST_SHARE
from keisoku.ground.frame.rates import maximum_frames_per_second
from keisoku.ground.run.result import Result
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.plan.rate import BitRate, LinePercent, Relative, no_line_rate
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.trial import NS_PER_S, Trial

_MOST_INTERVALS = 3600
"""Of a trial's series: a day in seconds would take half a gigabyte to write down, and no plot shows so many."""


@dataclass
class Spent:
    """What the trials of a method have taken so far, as their records say it: the same when they are replayed."""

    seconds: float = 0.0


@dataclass(frozen=True)
class MethodInput:
    """Read by methods; never changed by them."""

    plan: Plan
    capabilities: Capabilities
    bias: Bias
    earlier: Mapping[str, Result] = field(default_factory=dict)
    sizes: int = 1
    """How many frame sizes share the method's time: more than the plan's, where only those that were finished are asked
    for again."""
    spent: Spent = field(default_factory=Spent)

    def share_s(self, place: int) -> float | None:
        """What the size at this place of the plan has of the time that is left, as much as each size after it; None if
        the method has all the time it needs."""
        left_s = None if self.plan.within_s is None else self.plan.within_s - self.spent.seconds
        return None if left_s is None else left_s / (self.sizes - place)

    def line_fps(self, frame_bytes: int) -> float | None:
        """Theoretical maximum of the link in frames/s; None if the link has no known speed.

        It counts test frames only: broadcast frames (1 %) are sent "in place of" test frames (RFC 2544 §11).
        """
        speed = self.capabilities.link_bits_per_second
        if speed is None:
            return None
        share = 1 - BROADCAST_SHARE if "broadcast" in self.plan.modifiers else 1.0
        return share * maximum_frames_per_second(speed, frame_bytes)

    def latency_trial(self, purpose: str, frame_bytes: int, fps: float, seconds: float, **more: int) -> Trial:
        """A trial for figures that depend on the speed of the tester's core."""
        trial = self.trial(purpose, frame_bytes, fps, seconds, **more)
        return trial.model_copy(update={"at_full_speed": True})

    def fps(self, load: float | Relative | None, frame_bytes: int) -> float | None:
        """A load of the plan in frames/s, None if it has none.

        Raises PlanError for a percentage of a line whose rate is not known.
        """
        if isinstance(load, BitRate):
            return load.bits_per_second / (8 * frame_bytes)
        if not isinstance(load, LinePercent):
            return load
        line = self.line_fps(frame_bytes)
        if line is None:
            raise no_line_rate("rate", load)
        return line * load.percent / 100

    def trial(
        self,
        purpose: str,
        frame_bytes: int,
        fps: float,
        seconds: float,
        stop_after_lost: int | None = None,
        **more: int,
    ) -> Trial:
        """A trial with the plan's phases; its series has an interval a second, but at least 20 and at most 3600.

        Raises PlanError for a load that the gaps of the plan's pacing do not make.
        """
        duration_ns = round(seconds * NS_PER_S)
        more.setdefault(
            "interval_ns", max(1, min(NS_PER_S, round(duration_ns / 20)), -(-duration_ns // _MOST_INTERVALS))
        )
        return Trial(
            purpose=purpose,
            frame_bytes=frame_bytes,
            frames_per_second=self.plan.paced(fps, purpose),
            duration_ns=duration_ns,
            phases=self.plan.phases.phases(),
            stop_after_lost=stop_after_lost,
            **more,
        )

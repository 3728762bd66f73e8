"""`Tester`: trials of many flows from the first port to any of the others."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

from keisoku.language import phrase
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.search import RETRIES
from keisoku.subjects.device.procedure.balance.settings import BalanceSettings
from keisoku.subjects.device.record.trial import Flow, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

_DEFAULT_FPS = 10_000.0
Steps = Generator[Trial, TrialRecord, TrialRecord]


@dataclass(frozen=True)
class Tester:
    """Proposes trials of frames of one size, and repeats those that it or its host disturbed."""

    inputs: MethodInput
    size: int
    members: Sequence[int]
    """Indices of the ports at any of which a frame may arrive."""

    @property
    def settings(self) -> BalanceSettings:
        """Those of the plan."""
        return self.inputs.plan.settings_of(BalanceSettings)

    @property
    def seed(self) -> str:
        """Of all values that are drawn."""
        return str(self.inputs.plan.seed)

    @property
    def load_fps(self) -> float:
        """Of the sending port."""
        line = self.inputs.line_fps(self.size) or _DEFAULT_FPS
        return self.inputs.fps(self.settings.rate_fps, self.size) or min(_DEFAULT_FPS, line)

    def flow(self, modify: Sequence[str], streams: int, share: float = 1.0) -> Flow:
        """So many streams to any of the members, of which each has one of the values of each modifier."""
        return Flow(
            transmit=0,
            receive=self.members[0],
            among=tuple(self.members[1:]),
            modify=tuple(modify),
            streams=streams,
            share=share,
            frame_bytes=(self.size,),
        )

    def trial(self, flows: Sequence[Flow], seconds: float) -> Trial:
        """A trial of these flows."""
        purpose = phrase("balance, {size} byte", size=self.size)
        trial = self.inputs.trial(purpose, self.size, self.load_fps, seconds)
        return trial.model_copy(update={"flows": tuple(flows)})

    def measure(self, flows: Sequence[Flow], frames: int) -> Steps:
        """The record of a trial that is as long as so many frames need."""
        return (yield from self.carried(self.trial(flows, frames / self.load_fps)))

    def carried(self, trial: Trial) -> Steps:
        """The record of a trial, again while the tester or its host disturbs it."""
        for _ in range(RETRIES + 1):
            record = yield trial
            if record.valid:
                break
        return record

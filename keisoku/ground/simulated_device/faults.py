"""What a simulated device does to frames besides forwarding them: it delays, loses, repeats, changes them or cuts them
off."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from keisoku.errors import PlanError
from keisoku.ground.simulated_device.section import FrameBytes, Port, Ratio, Section


class Jitter(Section):
    """Random additional latency; frames keep their order."""

    distribution: Literal["uniform", "normal"]
    """'uniform' adds 0 to `spread_ns`; 'normal' adds a deviate of mean 0."""
    spread_ns: Annotated[float, Field(gt=0, le=1e9)]
    """Full width of the uniform, standard deviation of the normal distribution."""


class Loss(Section):
    """Frames that the device loses at random."""

    ratio: Ratio = 0.0
    """Share of all frames."""
    above_frame_bytes: FrameBytes | None = None
    """Larger frames are lost at `above_ratio` as well."""
    above_ratio: Ratio | None = None
    """All of them if absent."""

    @model_validator(mode="after")
    def _check(self) -> Loss:
        if self.above_frame_bytes is None and self.above_ratio is not None:
            raise PlanError("loss.above_ratio", "has no size to apply to", "add loss.above_frame_bytes")
        return self


class Scatter(Section):
    """What the tester reads is off by a random amount, another one in each period: the scatter of published samples.

    Its cause is not modelled, so no frame waits for it.
    """

    spread_ns: Annotated[float, Field(gt=0, le=1e9)]
    """Standard deviation of a normal distribution of mean 0."""
    every_ns: int = Field(1_000_000_000, ge=1, le=10**15)
    """Length of a period (default: the second after which the published measurements (E1) took each sample)."""


class Stall(Section):
    """The output starts no frame for `duration_ns`: at `first_ns`, and every `period_ns` from then on."""

    first_ns: int | None = Field(None, ge=0, le=10**15)
    """Time of the first stall (default: after one period; 0: the trial begins with a backlog)."""
    within_ns: int | None = Field(None, ge=1, le=10**15)
    """In place of `first_ns`: the first stall is at a random moment of so long a time, another one in each trial, so
    that a shorter trial may have none."""
    period_ns: int | None = Field(None, ge=1, le=10**15)
    """Absent: once."""
    duration_ns: int = Field(ge=1, le=10**15)
    """Length of a stall."""

    @model_validator(mode="after")
    def _check(self) -> Stall:
        if self.first_ns is not None and self.within_ns is not None:
            raise PlanError("stall", "has both first_ns and within_ns", "leave one out")
        if self.period_ns is None and self.first_ns is None and self.within_ns is None:
            raise PlanError("stall", "has no time", "add stall.period_ns, stall.first_ns, or both")
        if self.period_ns is not None and self.duration_ns >= self.period_ns:
            raise PlanError(
                "stall.duration_ns",
                f"{self.duration_ns} is not below the period of {self.period_ns}",
                "make it shorter, so that the output can send between stalls",
            )
        return self


class Reset(Section):
    """A reset: for `duration_ns` nothing is forwarded, and the frames in the buffers are lost."""

    duration_ns: int = Field(ge=1, le=10**15)
    """Length of the reset."""
    at_ns: int | None = Field(None, ge=0, le=10**15)
    """The device resets by itself so long after the start of every trial (default: only on command)."""


class Interruption(Section):
    """An event cuts flows off for a while: every frame of theirs is lost. Flows are counted from 0, as the trial has
    them."""

    event: str
    """Name of the event, which a plan gives as `event`."""
    by_undo: bool = False
    """The undoing of the event cuts them off."""
    begin_ns: int = Field(0, ge=0, le=10**15)
    """How long after the event the first frame is lost."""
    duration_ns: int = Field(ge=1, le=10**15)
    """For how long frames of the first flow are lost."""
    step_ns: int = Field(0, ge=0, le=10**12)
    """By how much longer those of each further flow are: a device that repairs one route after the other."""
    first_flow: int = Field(0, ge=0)
    last_flow: int | None = Field(None, ge=0)
    """None: the last one of the trial."""
    to_port: Port | None = None
    """The port by which they leave afterwards, until another event chooses one; with `--pattern either` (default: the
    same as before)."""


class Faults(Section):
    """Faults that no device should have, to check that a tester detects them."""

    duplicate_ratio: Ratio = 0.0
    """Share of frames that are sent twice."""
    reorder_ratio: Ratio = 0.0
    """Share of frames that are held back until the next one has passed them."""
    reorder_above_fps: Annotated[float, Field(gt=0)] | None = None
    """Reordering only above this rate of a stream."""
    corrupt_ratio: Ratio = 0.0
    """Share of frames that arrive with other content."""


class Rewrite(Section):
    """Headers that the device rewrites, of chosen frames; seen by trials that watch changes."""

    changes: list[str] = Field(min_length=1)
    """What it changes, as `keisoku changes --expect` says it: 'IP.dscp=0'."""
    stream: int | None = Field(None, ge=1)
    """Of one stream of the trial (default: of all)."""
    frames: list[Annotated[int, Field(ge=0)]] | None = None
    """Of these frames only, by number in their stream, from 0."""
    every: int | None = Field(None, ge=1)
    """One in so many frames."""
    first: int = Field(0, ge=0)
    """Number of the first frame that is rewritten."""
    ratio: Ratio | None = None
    """A share of the frames, at random."""

    @model_validator(mode="after")
    def _check(self) -> Rewrite:
        from keisoku.ground.frame.expectation import expectations  # few devices rewrite anything

        expectations(self.changes)
        return self

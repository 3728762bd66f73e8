"""Queues of a simulated device's outputs by class of traffic: how they are served, limited and marked."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from keisoku.errors import PlanError
from keisoku.ground.simulated_device.section import Ratio, Section


class Bucket(Section):
    """A token bucket, full at first. It counts bytes of frames with FCS."""

    bits_per_second: float = Field(gt=0, le=1e12)
    """Rate at which tokens come."""
    burst_bytes: int = Field(ge=64, le=1 << 30)
    """Tokens that it holds."""


class Marking(Section):
    """Which frames of a queue are marked, and what a mark is."""

    by: Literal["curve", "pie", "codel"] = "curve"
    """By a curve of the queue that a frame meets (a step, RED, WRED), by PIE (RFC 8033) or CoDel (RFC 8289)."""
    action: Literal["mark", "drop", "remark"] = "mark"
    """'mark': CE, or a loss of a frame that is not capable of ECN (RFC 3168 §5); 'drop': a loss (WRED); 'remark':
    another DSCP or PCP."""
    least_bytes: int = Field(0, ge=0, le=1 << 30)
    """The curve: no frame is marked that meets a shorter queue."""
    most_bytes: int = Field(0, ge=0, le=1 << 30)
    """Every frame is marked that meets this queue or a longer one; as `least_bytes`: a step."""
    most_ratio: Ratio = 1.0
    """What the share of marked frames rises to just below `most_bytes`."""
    target_ns: int = Field(5_000_000, ge=1, le=10**12)
    """PIE and CoDel: the waiting time that they allow."""
    interval_ns: int = Field(100_000_000, ge=1, le=10**12)
    """PIE: time between two updates; CoDel: its interval."""

    @model_validator(mode="after")
    def _check(self) -> Marking:
        if self.by == "curve" and self.most_bytes < max(1, self.least_bytes):
            problem = f"{self.most_bytes} is below least_bytes, {self.least_bytes}"
            raise PlanError("queue.marking.most_bytes", problem, "raise it; equal values make a step")
        return self


class Queue(Section):
    """A queue of each output, for the frames of some classes."""

    codes: list[Annotated[int, Field(ge=0, le=63)]] = Field([])
    """Code points of its frames; frames of code points that no queue has are in the last queue."""
    priority: int = Field(0, ge=0, le=255)
    """A queue is served before all queues of lower priority (strict priority)."""
    weight: float = Field(1.0, gt=0, le=1e6)
    """Its share among the queues of its priority."""
    buffer_bytes: int | None = Field(None, ge=64, le=1 << 30)
    """None: it may fill the whole buffer of the output."""
    policer: Bucket | None = None
    """Frames for which it has no tokens are lost."""
    shaper: Bucket | None = None
    """Frames for which it has no tokens wait."""
    marking: Marking | None = None


class Scheduler(Section):
    """How an output chooses among its queues."""

    code: Literal["dscp", "pcp"] = "dscp"
    """What the device reads to know a frame's class."""
    kind: Literal["drr", "wfq"] = "drr"
    """Deficit round robin, or weighted fair queueing (self-clocked)."""
    quantum_bytes: int = Field(1518, ge=1, le=1 << 24)
    """DRR: what a queue of weight 1 may send in a round."""

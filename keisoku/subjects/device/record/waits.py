"""Where in this host's kernel the slowest frames of a trial spent their time. Holds facts only; never computes."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from keisoku.subjects.device.record.packed_rows import PackedRows

WaitKind = Literal["tester", "ring", "backlog", "gro", "stack", "program", "queue", "driver", "unseen"]


class WaitingFrames(PackedRows):
    """The slowest frames, a row for each part of each one's way: stream, sequence number, index of the place, when it
    came there, in ns since the first frame was due, and for how many ns. The parts of a frame are in order, and their
    sum is its latency."""

    columns = 5


class WaitPlace(BaseModel):
    """A part of the way of frames through this host's kernel, between two of its events."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: WaitKind
    """tester: in the tester's own socket. ring: from the driver or sender before until a CPU took it out of the ring of
    `interface`. backlog: in a CPU's queue of received packets. gro: from there to the protocols. stack: in the bridge
    or the protocols until `interface` was to send it. program: the same in a program that received and sent it.
    queue: in the queue (qdisc) of `interface`. driver: in its driver until another interface was to send it.
    unseen: elsewhere."""
    interface: str = ""
    namespace: str = ""
    """Empty: that of the tester's process."""
    came_from: str = ""
    """The interface before, where it is another one."""
    qdisc: str = ""
    """Of `queue`: the kind of the interface's root qdisc."""
    handler: str = ""
    """Of `stack`: the kernel's function that takes what the interface before receives, as that of a bridge; empty: the
    protocols do."""
    of_tester: bool = False
    """It is at a port of the tester."""
    sampled: int = 0
    """Frames of the sample that passed here."""
    median_ns: int | None = None
    """How long half of these at most were here; None: none was."""


class Waits(BaseModel):
    """The slowest frames of a trial, and the median of a sample of all for comparison."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    places: tuple[WaitPlace, ...]
    """In the order in which frames pass them."""
    frames: WaitingFrames
    slowest: int
    """How many frames these are."""
    not_followed: int
    """Of these, how many have no hops: XDP carried them, or others had their slots by then. They are `unseen`."""
    sampled: int
    """Frames of the sample."""
    median_ns: int | None = None
    """Their median latency."""
    apart_ns: int = 0
    """By so much a stamp of the tester at most contradicts the kernel's clock; 0: none does."""
    unread: int = 0
    """Packets that could not be looked at: nobody knows whether they were test frames."""
    absent: tuple[tuple[str, str], ...] = ()
    """Events of the kernel that were not watched, and why."""

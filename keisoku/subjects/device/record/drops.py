"""Where this host's kernel was seen to drop the lost frames of a trial. Holds facts only; never computes."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from keisoku.subjects.device.record.packed_rows import PackedRows


class DroppedFrames(PackedRows):
    """Lost frames that the kernel was seen to drop, a row each: stream, sequence number, index of the place, and when,
    in ns since the first frame was due."""

    columns = 4


class DropPlace(BaseModel):
    """A place in this host's kernel at which test frames were dropped, in the kernel's words."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: str
    """freed: a packet was freed as lost. program: an XDP program dropped it. redirect: XDP could not redirect it.
    devmap: the driver to which XDP redirected it had no room. cpumap: neither had the CPU."""
    reason: str
    """Name of the kernel's reason; of a program its answer, of `redirect` the error; empty: there is none."""
    function: str = ""
    """Of the kernel, in which the packet was freed."""
    interface: str = ""
    namespace: str = ""
    """Empty: that of the tester's process."""
    qdisc: str = ""
    """Kind of the interface's root qdisc."""
    rule: str = ""
    """Of nftables: family, table, chain and handle, as 'inet/filter/forward/8'; without handle the chain's policy."""
    program: str = ""
    """Name of the BPF program that dropped it, with file and line where they are known."""
    readers: tuple[str, ...] = ()
    """Where no protocol of the kernel took it: other programs that read all packets there, which may have lost it."""
    of_tester: bool = False
    """It is at a port of the tester."""
    frames: int = 0
    """Lost frames."""
    copies: int = 0
    """Test frames that were dropped here and yet not lost: copies of others that arrived, or were dropped again."""
    first_ns: int | None = None
    """When the first of the lost ones was dropped, since the first frame was due; None if none was."""
    last_ns: int | None = None
    streams: tuple[int, ...] = ()
    """Indices of their streams."""


class Drops(BaseModel):
    """Where the lost frames of a trial were dropped: lost = the sum over all places + not seen."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    places: tuple[DropPlace, ...]
    frames: DroppedFrames
    lost_frames: int
    not_seen: int
    """Lost frames that no part of this host's kernel was seen to drop."""
    unlisted: int = 0
    """Frames of places that are not in `frames`, for lack of room."""
    unread: int = 0
    """Dropped packets that could not be looked at: nobody knows whether they were test frames."""
    absent: tuple[tuple[str, str], ...] = ()
    """Parts of the kernel that were not watched, and why."""

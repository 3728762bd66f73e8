"""`replay`: the frames of a capture with their times, as the tables that an engine sends.

It sends nothing and changes no frame. The caller must know whether a device may receive these frames: their addresses
are those of the network where they were captured.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from keisoku._core import recorded_frames
from keisoku.errors import PlanError
from keisoku.ground.frame.rates import TAG_BYTES
from keisoku.ground.host.text_file import check_regular

_TAGGED = b"\x81\x00"
MOST_FRAMES = 65_536
MOST_BYTES = 16 << 20
"""What the frame tables of one port hold."""


@dataclass(frozen=True)
class Replay:
    """Frames to send in order of their stamps."""

    frames: bytes
    """All frames, one after the other, without FCS."""
    lengths: NDArray[np.uint16]
    """Length of each frame in bytes."""
    gaps_ns: NDArray[np.uint64]
    """Times from the start of the frame before to the start of this one; 0 for the first."""

    @property
    def duration_ns(self) -> int:
        """From the first frame to the last."""
        return int(self.gaps_ns.sum(dtype=np.uint64))

    @property
    def largest_bytes(self) -> int:
        """Length of the longest frame, without an outer VLAN tag, which no MTU counts."""
        starts = np.cumsum(self.lengths, dtype=np.int64) - self.lengths
        types = (self.frames[start + 12 : start + 14] for start in starts)
        return max(int(size) - TAG_BYTES * (type_ == _TAGGED) for size, type_ in zip(self.lengths, types, strict=True))

    def frame(self, index: int) -> bytes:
        """One frame. Raises IndexError if there is none."""
        length = int(self.lengths[index])
        start = int(self.lengths[:index].sum(dtype=np.int64))
        return self.frames[start : start + length]


def replay(
    path: Path, scale: float = 1.0, *, frames_per_second: float | None = None, port: str | None = None
) -> Replay:
    """Read a pcap or pcapng file to be sent `scale` times as fast (2.0: in half the time), or at a fixed rate.

    Rounding errors to ns do not accumulate: each frame is due within 0.5 ns of its scaled time. `port` is the
    interface in the file, needed where several have frames: its name, or its number, counted from 0 through all
    sections of the file, as `capinfos` does.

    Raises PlanError for an invalid scale or rate and for what is no regular file, EngineError for a file that is no
    capture, or has several ports, frames that were cut or are not Ethernet, or more than 65536 frames or 16 MiB.
    """
    if not (np.isfinite(scale) and scale > 0):
        raise PlanError("scale", f"{scale} is no factor of speed", "give 1 for the capture's own timing, 2 for twice")
    if frames_per_second is not None:
        if not (np.isfinite(frames_per_second) and frames_per_second > 0):
            raise PlanError("rate", f"{frames_per_second} frames/s is no rate", "give a rate above 0")
        if scale != 1.0:
            raise PlanError("scale", "is given together with a fixed rate", "give one of them")
    check_regular("file", path)
    frames, length_bytes, time_bytes = recorded_frames(str(path), port, MOST_FRAMES, MOST_BYTES)
    lengths = np.frombuffer(length_bytes, np.uint16)
    times = np.frombuffer(time_bytes, np.uint64)
    frames, lengths, times = _in_order(frames, lengths, times)
    since_first = times - times[0]
    if frames_per_second is not None:
        due = np.rint(np.arange(len(times)) * (1e9 / frames_per_second)).astype(np.uint64)
    elif scale == 1.0:
        due = since_first
    else:
        due = np.rint(since_first / np.longdouble(scale)).astype(np.uint64)
    return Replay(frames, lengths, np.diff(due, prepend=due[:1]))


def _in_order(
    frames: bytes, lengths: NDArray[np.uint16], times: NDArray[np.uint64]
) -> tuple[bytes, NDArray[np.uint16], NDArray[np.uint64]]:
    """Sorted by time: captures from several CPUs or sources are not always in order."""
    if np.all(times[1:] >= times[:-1]):
        return frames, lengths, times
    order = np.argsort(times, kind="stable")
    ends = np.cumsum(lengths, dtype=np.int64)
    starts = ends - lengths
    return b"".join(frames[starts[at] : ends[at]] for at in order), lengths[order], times[order]

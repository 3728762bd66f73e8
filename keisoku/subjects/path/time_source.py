"""Sources of time that a path is measured with: which stamp of a packet counts.

`user-gettimeofday` is the time of day in whole µs, read by the program, as Kitaguchi et al. (2002) had it.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from keisoku._core import ReceivedPacket, SentPacket
from keisoku.subjects.path.train.probe import Rows

Source = Literal["kernel", "user-tsc", "user-gettimeofday", "hardware"]
SOURCES: tuple[Source, ...] = ("user-gettimeofday", "user-tsc", "kernel", "hardware")
RESOLUTION_NS: dict[Source, float] = {"kernel": 1.0, "user-tsc": 1.0, "user-gettimeofday": 1000.0, "hardware": 1.0}
"""Resolution of its numbers; that of the clock itself may be coarser."""


def stamps_of(packet: SentPacket | ReceivedPacket, source: Source) -> int:
    """A packet's stamp in ns; 0 if it has none."""
    if source == "kernel":
        return packet.kernel_ns or 0
    if source == "hardware":
        return packet.hardware_ns or 0
    return packet.monotonic_ns if source == "user-tsc" else packet.realtime_ns // 1000 * 1000


def stamp_column(rows: Rows, source: Source) -> NDArray[np.int64]:
    """The stamps of rows in ns; 0 where there is none."""
    if source == "user-gettimeofday":
        return np.asarray(rows["realtime_ns"] // 1000 * 1000, np.int64)
    name = {"kernel": "kernel_ns", "hardware": "hardware_ns", "user-tsc": "monotonic_ns"}[source]
    return np.asarray(rows[name], np.int64)

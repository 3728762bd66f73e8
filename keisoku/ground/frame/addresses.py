"""MAC addresses in the frames of a stream, for simulated devices that read them."""

from __future__ import annotations

import numpy as np

from keisoku.ground.frame.variants import Frames

_SHIFTS = np.arange(40, -1, -8, dtype=np.uint64)


def macs(frames: Frames) -> tuple[list[int], list[int]]:
    """Sources and destinations of consecutive frames, as numbers of 48 bits; one of each if they never change."""
    starts = np.concatenate(([0], np.cumsum(frames.lengths, dtype=np.int64)))[:-1]
    octets = np.frombuffer(frames.bytes_, np.uint8)[starts[:, None] + np.arange(12)].astype(np.uint64)
    destinations, sources = (octets[:, at : at + 6] @ (np.uint64(1) << _SHIFTS) for at in (0, 6))
    found = [one[:1] if (one == one[0]).all() else one for one in (sources, destinations)]
    return found[0].tolist(), found[1].tolist()

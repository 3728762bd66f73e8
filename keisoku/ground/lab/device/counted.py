"""`Counted`: what a lab device that queues, polices or filters counted at one of its ports. Plain values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Counted:
    """Since the device was made, as the kernel counted it."""

    passed_frames: int
    dropped_frames: int
    marked_frames: int
    """Frames in which it set "congestion experienced" (RFC 3168); 0 for a device that marks none."""

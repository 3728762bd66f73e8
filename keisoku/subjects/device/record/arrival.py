"""A row for an arrival, as the core passes it on: its layout, and the bits of its flags. It needs no Arrow."""

from __future__ import annotations

import numpy as np

DUPLICATE, CORRUPT, REORDERED, LOST = 1, 2, 4, 8
"""Bits of `flags`: as `core/src/account/frame_log.rs` has them, and LOST."""

ENTRY = np.dtype(
    [
        ("sequence", "<u8"),
        ("transmit_ns", "<i8"),
        ("receive_ns", "<i8"),
        ("stream", "<u2"),
        ("port", "<u2"),
        ("flags", "<u4"),
    ]
)
"""A row for an arrival, as the core passes it on; times are ns since the first frame of the trial was due. The upper 24
bits of `flags` are the kind of its change."""
NO_TIME_NS = np.iinfo(np.int64).min
"""In a row of an arrival: this time is not known. The core, which has no such time, says 0 in a corrupt frame's row."""

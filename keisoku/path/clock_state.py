"""What the kernel says of its time of day: whether it is synchronised, and how far off it may be (adjtimex).

Reads only.
"""

from __future__ import annotations

import ctypes

from keisoku.path.stamp_packet import ErrorEstimate

_STA_UNSYNC = 0x0040
_TIME_ERROR = 5


class _Timex(ctypes.Structure):
    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("_rest", ctypes.c_byte * 256),
    )


def error_estimate() -> ErrorEstimate:
    """For a STAMP packet that leaves now; not synchronised if the kernel does not say so."""
    time = _Timex()
    state = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(time))
    synchronised = state >= 0 and state != _TIME_ERROR and not time.status & _STA_UNSYNC
    return ErrorEstimate.of(max(time.maxerror, 1) / 1e6, synchronised)

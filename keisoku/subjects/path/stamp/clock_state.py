"""State of this host's time of day for a STAMP packet: synchronised or not, and its error bound.

Reads only.
"""

from __future__ import annotations

from keisoku.subjects.clock.host_clocks import steering
from keisoku.subjects.path.stamp.packet import ErrorEstimate


def error_estimate() -> ErrorEstimate:
    """For a packet that leaves now; not synchronised if the kernel does not say so."""
    state = steering()
    return ErrorEstimate.covering(max(state.maximum_error_us, 1) / 1e6, state.synchronised)

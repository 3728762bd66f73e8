"""Whether the packets of a STAMP session left at the intended interval: intended is not always offered."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from keisoku.ground.run.result import Flag
from keisoku.language import phrase

TOLERANCE = 0.005
"""Share of the intended time by which the last packet may be late, as for devices."""
_LATE_NS = 10_000_000
"""And at least this."""


def not_offered(rows: pa.Table, interval_s: float) -> Flag | None:
    """Flag if the packets left more slowly than intended; None if not, or if fewer than two have a stamp."""
    left_ns = rows["t1_ns"].to_numpy()
    stamped = np.flatnonzero(left_ns > 0)
    if len(stamped) < 2:
        return None
    first, last = int(stamped[0]), int(stamped[-1])
    intended_ns = (last - first) * interval_s * 1e9
    took_ns = float(left_ns[last] - left_ns[first])
    if took_ns <= intended_ns + max(_LATE_NS, TOLERANCE * intended_ns):
        return None
    packets = last - first
    text = phrase(
        "the packets left at {rate:,.4g} instead of {wanted:,.4g} packets/s: this host was too slow for the interval",
        rate=packets / took_ns * 1e9,
        wanted=1 / interval_s,
    )
    return Flag(name="not-offered", text=text)

"""Round trips per minute as draft-ietf-ippm-responsiveness defines them, "For the TCP-Only Case". It does no I/O.

Foreign probes are transactions on TCP connections of their own; for probes on the connections that load the path the
draft allows the round trip that TCP's stack estimates, where requests cannot be multiplexed into them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from keisoku.ground.statistics.quantity import Quantity

TRIMMED = 0.95
"""The draft's TMP: the mean is of the shortest 95 %."""
MINUTE_NS = 60e9
UNIT = "round trips/min"


def trimmed_mean(times: Sequence[float] | np.ndarray) -> float | None:
    """Of the shortest 95 %, one at least; infinite if those include one that failed, None without any."""
    ordered = np.sort(np.asarray(times, float))
    return float(ordered[: max(1, math.floor(TRIMMED * len(ordered)))].mean()) if len(ordered) else None


def responsiveness(connect_ns: float | None, answer_ns: float | None, own_ns: float | None) -> Quantity | None:
    """From the trimmed means. Without a load there are no connections that load: `own_ns` is None.

    Transactions that failed are longer than any other, so the figure is then at most that of the others' share. None
    if there were no transactions.
    """
    if connect_ns is None or answer_ns is None:
        return None
    failed = math.isinf(connect_ns) or math.isinf(answer_ns)
    foreign = 0.0 if failed else MINUTE_NS / ((connect_ns + answer_ns) / 2)
    value = foreign if own_ns is None else (foreign + MINUTE_NS / own_ns) / 2
    return Quantity(value=value, unit=UNIT, bound="at most" if failed else "")

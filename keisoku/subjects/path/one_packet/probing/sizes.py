"""Sizes of the probes of a path, from its MTU."""

from __future__ import annotations

import numpy as np

from keisoku.subjects.path.one_packet.fit.slope import identifiable

QUOTE_BYTES = 548
"""What of a probe fits into a reply of 576 bytes beside its IP and ICMP headers (RFC 1812 §4.3.2.3)."""
SLOWER_ABOVE_BYTES = 512
"""Some routers take longer for what is longer (Kitaguchi et al. 2002). So no size lies between this and `QUOTE_BYTES`:
round trips below and above lie on lines that meet there, but for such a router, whose lines meet here."""
QUOTE_BYTES_IPV6 = 1232
"""The same of IPv6, whose replies are of 1280 bytes at most (RFC 4443 §2.4 c)."""
SMALLEST_BYTES = 64
"""An Ethernet frame is padded up to 46 bytes of IP: a smaller packet takes the same time."""
BELOW, ABOVE = 8, 24
"""How many sizes lie on either side of where replies stop growing with the probe."""
BETWEEN_SHARE = 1 / 4
"""Share of either side's sizes that lie between its ends; they show whether the slope is constant."""
BELOW_IPV6, ABOVE_IPV6 = 14, 18
"""There the range above is short: its slope needs no fewer sizes than the difference of both."""
ABOVE_BYTES, ABOVE_BYTES_IPV6 = 576, 1240
STEP_BYTES = 4


def probe_sizes(mtu_bytes: int, of_ipv6: bool = False) -> list[int]:
    """IP lengths in bytes, ascending: some up to 512, most from 576 to the path MTU.

    Most crowd at the two ends of either range, a step apart: the variance of a slope is least where half of the probes
    are as short and half as long as can be (D-optimal design for a line), a third of what an even spread leaves.
    Where the MTU leaves no room above they lie evenly; only below, if both ways could not be told apart all the same:
    the line of their sum would be bent by probes whose replies do not grow. Raises ValueError for an MTU under 68 bytes
    (RFC 791).
    """
    if mtu_bytes < 68:
        raise ValueError(f"an IPv4 path carries at least 68 bytes, not {mtu_bytes}")
    below, above = (BELOW_IPV6, ABOVE_IPV6) if of_ipv6 else (BELOW, ABOVE)
    quoted, longer = (QUOTE_BYTES_IPV6, ABOVE_BYTES_IPV6) if of_ipv6 else (SLOWER_ABOVE_BYTES, ABOVE_BYTES)
    if mtu_bytes < longer + 2 * STEP_BYTES * above:
        sizes = _spread(SMALLEST_BYTES, mtu_bytes, below + above)
        most = QUOTE_BYTES_IPV6 if of_ipv6 else QUOTE_BYTES
        lengths = np.array(sizes, dtype=np.float64)
        if identifiable(lengths, np.minimum(lengths, most)) == "both":
            return sizes
        return _spread(SMALLEST_BYTES, min(mtu_bytes, most), below + above)
    return [*_ends(SMALLEST_BYTES, quoted, below), *_ends(longer, mtu_bytes, above)]


def _ends(first: int, last: int, count: int) -> list[int]:
    """Ascending: crowds at both ends, and the share between them evenly."""
    between = round(count * BETWEEN_SHARE)
    short = (count - between) // 2
    long = count - between - short
    left = [first + STEP_BYTES * number for number in range(short)]
    right = [last - STEP_BYTES * number for number in reversed(range(long))]
    middle = _spread(left[-1], right[0], between + 2)[1:-1] if between else []
    return [*left, *middle, *right]


def _spread(first: int, last: int, count: int) -> list[int]:
    return sorted({round(first + (last - first) * number / (count - 1)) for number in range(count)})

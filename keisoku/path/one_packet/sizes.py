"""Sizes of the probes of a path, from its MTU."""

from __future__ import annotations

QUOTE_BYTES = 548
"""What of a probe fits into a reply of 576 bytes beside its IP and ICMP headers (RFC 1812 §4.3.2.3)."""
SMALLEST_BYTES = 64
"""An Ethernet frame is padded up to 46 bytes of IP: a smaller packet takes the same time."""
BELOW, ABOVE = 8, 24
"""How many sizes lie on either side of where replies stop growing with the probe."""
BETWEEN_SHARE = 1 / 4
"""Share of either side's sizes that lie between its ends; they show whether the slope is constant."""
ABOVE_BYTES = 576
STEP_BYTES = 4


def probe_sizes(mtu_bytes: int, below: int = BELOW, above: int = ABOVE) -> list[int]:
    """IP lengths in bytes, ascending: `below` sizes up to 548, `above` from 576 to the path MTU.

    Most crowd at the two ends of either range, a step apart: the variance of a slope is least where half of the probes
    are as short and half as long as can be (D-optimal design for a line), a third of what an even spread leaves.
    Where the MTU leaves no room above 576 all sizes lie below, evenly. Raises ValueError for an MTU under 68 bytes
    (RFC 791).
    """
    if mtu_bytes < 68:
        raise ValueError(f"an IPv4 path carries at least 68 bytes, not {mtu_bytes}")
    if mtu_bytes < ABOVE_BYTES + 2 * STEP_BYTES * above:
        return _spread(SMALLEST_BYTES, mtu_bytes, below + above)
    return [*_ends(SMALLEST_BYTES, QUOTE_BYTES, below), *_ends(ABOVE_BYTES, mtu_bytes, above)]


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

"""Which sizes of probe a path is measured with. Pure; knows nothing of a path but its MTU."""

from __future__ import annotations

QUOTE_BYTES = 548
"""What of a probe fits into a reply of 576 bytes beside its IP and ICMP headers (RFC 1812 §4.3.2.3)."""
SMALLEST_BYTES = 64
"""An Ethernet frame is padded up to 46 bytes of IP: what is smaller takes no less time."""
BELOW, ABOVE = 8, 24
"""How many sizes lie on either side of where replies stop growing with the probe."""
ABOVE_BYTES = 576
STEP_BYTES = 4


def probe_sizes(mtu_bytes: int, below: int = BELOW, above: int = ABOVE) -> list[int]:
    """IP lengths in bytes, ascending: `below` sizes up to 548, `above` from 576 to the path MTU.

    Where the MTU leaves no room above 576 all sizes lie below. Raises ValueError for an MTU under 68 bytes (RFC 791).
    """
    if mtu_bytes < 68:
        raise ValueError(f"an IPv4 path carries at least 68 bytes, not {mtu_bytes}")
    if mtu_bytes < ABOVE_BYTES + STEP_BYTES * above:
        return _spread(SMALLEST_BYTES, mtu_bytes, below + above)
    return [*_spread(SMALLEST_BYTES, QUOTE_BYTES, below), *_spread(ABOVE_BYTES, mtu_bytes, above)]


def _spread(first: int, last: int, count: int) -> list[int]:
    return sorted({round(first + (last - first) * number / (count - 1)) for number in range(count)})

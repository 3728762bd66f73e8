"""Message sizes that a sweep tries first: a logarithmic grid with neighbours of powers of two."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable

E5_BYTES = 77_824
"""The size at which the machine of Kuo (2003) was fastest; always in a sweep whose range holds it."""
LEAST, MOST = 1024, 1 << 20
HEADER_BYTES = 16
"""Of a datagram: token and number (core/src/stream/udp.rs)."""
_FINE = 1 << 14
"""From this size on throughput changes abruptly beside powers of two, by the kernel's buffers and offloads."""


def tcp_sizes(least: int = LEAST, most: int = MOST) -> list[int]:
    """Bytes, ascending: powers of two and 1.5 times them; from 16 KiB on 1/16 below and above too; and that of Kuo.

    Raises ValueError if the range is empty.
    """
    if not 1 <= least <= most:
        raise ValueError(f"there are no sizes from {least} to {most} byte")
    found = {least, most, E5_BYTES}
    for power in range(least.bit_length() - 1, most.bit_length()):
        size = 1 << power
        found |= {size, size * 3 // 2}
        if size >= _FINE:
            found |= {size - size // 16, size + size // 16}
    return sorted(size for size in found if least <= size <= most)


def udp_sizes(most: int) -> list[int]:
    """Payload bytes of a datagram, ascending, up to `most`, which is what the path's MTU leaves."""
    found = {most} | {size for power in range(6, 17) if (size := 1 << power) <= most}
    return sorted(size for size in found if size >= HEADER_BYTES)


def between(sizes: Iterable[int], best: int) -> list[int]:
    """Sizes halfway, on a logarithmic scale, from `best` to its neighbours; none where those are as near as 2 %."""
    ordered = sorted(set(sizes))
    place = ordered.index(best)
    around = ordered[max(place - 1, 0) : place + 2]
    halves = [round(math.sqrt(low * high)) for low, high in itertools.pairwise(around) if high > 1.02 * low]
    return [size for size in halves if size not in ordered]

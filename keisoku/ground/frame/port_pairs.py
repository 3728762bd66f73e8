"""The ports of connections: each pair of a source and a destination port once (RFC 9693). Builds no frame."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keisoku.errors import PlanError

Ports = NDArray[np.int64]


def port_pairs(
    count: int, sources: tuple[int, int], destinations: tuple[int, int], pseudorandom: bool, seed: int
) -> tuple[Ports, Ports]:
    """The source and the destination port of each of `count` connections.

    They are the first pairs of the two ranges, of which the source port changes first: so as few destination ports are
    used as possible. The pseudorandom order is a random permutation, the same for the same seed. Raises PlanError if
    there are not so many pairs.
    """
    many = sources[1] - sources[0] + 1
    pairs = many * (destinations[1] - destinations[0] + 1)
    if count > pairs:
        raise PlanError(
            "connections",
            f"{count} are more than the {pairs} pairs of ports",
            "widen source_ports or destination_ports",
        )
    number = np.random.Generator(np.random.PCG64(seed)).permutation(count) if pseudorandom else np.arange(count)
    return sources[0] + number % many, destinations[0] + number // many

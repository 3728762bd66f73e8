"""Traffic patterns: which ports send to which (RFC 2544 §14 and §16, RFC 2889 §5)."""

from __future__ import annotations

from typing import Literal

Pattern = Literal[
    "pair", "bidirectional", "pairs", "mesh", "many-to-one", "one-to-many", "one-and-many", "partial-mesh", "either"
]


def pairs(pattern: Pattern, ports: int) -> list[tuple[int, int]]:
    """(transmitting, receiving) port indices.

    `pair`: first to second. `bidirectional`: and back. `pairs`: first to second, third to fourth, …, each both ways
    (RFC 2544 §16). `mesh`: every port to every other, port n beginning with port n + 1 (RFC 2889 §5.1).
    `many-to-one`: all to the last; `one-to-many`: the last to all; `one-and-many`: both
    (RFC 2889 §5.2). `partial-mesh`: each port of the first half to all of the second (RFC 2889 §5.4).
    `either`: first to second, and what the device sends to another port counts there.
    """
    last = ports - 1
    match pattern:
        case "pair" | "either":
            return [(0, 1)]
        case "bidirectional":
            return [(0, 1), (1, 0)]
        case "pairs":
            return [way for one in range(0, ports - 1, 2) for way in ((one, one + 1), (one + 1, one))]
        case "mesh":
            return [(port, (port + step) % ports) for port in range(ports) for step in range(1, ports)]
        case "many-to-one":
            return [(port, last) for port in range(last)]
        case "one-to-many":
            return [(last, port) for port in range(last)]
        case "one-and-many":
            return [way for port in range(last) for way in ((port, last), (last, port))]
        case "partial-mesh":
            half = (ports + 1) // 2
            others = ports - half
            return [(port, half + (port + step) % others) for port in range(half) for step in range(others)]


def fits(pattern: Pattern, ports: int) -> bool:
    """Whether a pattern is possible with so many ports."""
    if pattern in ("pair", "bidirectional"):
        return ports == 2
    return ports >= 2 and (pattern != "pairs" or ports % 2 == 0)

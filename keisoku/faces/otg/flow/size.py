"""Frame sizes of an OTG flow, with FCS, as the sequence in which keisoku sends them."""

from __future__ import annotations

import random
from contextlib import suppress
from fractions import Fraction
from math import gcd, lcm

from keisoku.errors import PlanError
from keisoku.faces.otg.reading.node import Node
from keisoku.ground.frame.headers import least_frame_bytes
from keisoku.ground.frame.imix import mix
from keisoku.ground.frame.stack import parse

RANDOM_SIZES = 1024
"""A random mix is drawn once, evenly over its range, and repeats after so many frames."""
_MOST_BYTES = 65_535
_MOST_WEIGHT = 4096
_MIXES = {
    # As the descriptions of OTG's presets have them; 'imix' is its default.
    "imix": ((64, 7.0), (570, 4.0), (1518, 1.0)),
    "ipsec_imix": ((90, 58.67), (92, 2.0), (594, 23.66), (1418, 15.67)),
    "ipv6_imix": ((60, 58.67), (496, 2.0), (594, 23.66), (1518, 15.67)),
    "standard_imix": ((58, 58.67), (62, 2.0), (594, 23.66), (1518, 15.67)),
    "tcp_imix": ((90, 58.67), (92, 2.0), (594, 23.66), (1518, 15.67)),
}


def frame_bytes(node: Node, seed: int, headers: str) -> tuple[int, ...]:
    """Sizes of consecutive frames, to be repeated. Where a script gives none, OTG's 64 bytes, or as many as frames with
    these headers need, which the client is told. Raises PlanError, with the path, for an invalid mix."""
    if not node.present:
        return (_least(node, headers),)
    match node.choice():
        case "fixed":
            return (int(node.scalar("fixed")),)
        case "increment":
            ramp = node.child("increment")
            start, end, step = (int(ramp.scalar(name)) for name in ("start", "end", "step"))
            if step < 1 or end < start:
                ramp.refuse("has no size", "give a step of at least 1 and an end above the start")
            if end > _MOST_BYTES:
                ramp.refuse(f"a frame cannot have {end} bytes", f"use {_MOST_BYTES} at most", "end")
            return tuple(range(start, end + 1, step))
        case "random":
            draws = node.child("random")
            least, most = int(draws.scalar("min")), int(draws.scalar("max"))
            if most < least:
                draws.refuse("is below min", "put the smaller size first", "max")
            source = random.Random(f"{seed} size")
            return tuple(source.randint(least, most) for _ in range(RANDOM_SIZES))
    return _weighted(node.child("weight_pairs"))


def _least(node: Node, headers: str) -> int:
    default = int(node.scalar("fixed"))
    with suppress(PlanError):  # of headers that cannot be sent, which the check of the frames names
        least = least_frame_bytes(parse(headers))
        if least > default:
            node.warnings[node.path] = f"{node.path}: frames have {least} bytes, the least with their headers"
            return least
    return default


def _weighted(node: Node) -> tuple[int, ...]:
    if node.choice() == "predefined":
        pairs: list[tuple[int, float]] = list(_MIXES[str(node.scalar("predefined"))])
    else:
        entries = node.children("custom")
        pairs = [(int(each.scalar("size")), float(each.scalar("weight"))) for each in entries]
    shares: dict[int, Fraction] = {}
    for size, weight in pairs:
        if weight < 0:
            node.refuse("has a negative weight", "use weights of at least 0")
        shares[size] = shares.get(size, Fraction(0)) + Fraction(str(weight))
    shares = {size: share for size, share in shares.items() if share}
    if not shares:
        node.refuse("has no size with a weight", "give at least one")
    whole = lcm(*(share.denominator for share in shares.values()))
    counts = {size: int(share * whole) for size, share in shares.items()}
    common = gcd(*counts.values())
    if sum(counts.values()) // common > _MOST_WEIGHT:
        # Weights such as 58.67 and 23.66 repeat only after 10 000 frames: they are rounded to 2048ths.
        total = sum(counts.values())
        counts = {size: max(1, round(count * _MOST_WEIGHT / 2 / total)) for size, count in counts.items()}
    return mix(node.path, ",".join(f"{size}:{count}" for size, count in counts.items()))

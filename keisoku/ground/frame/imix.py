"""Mixes of frame sizes: '64:7,570:4,1518:1', 'imix', 'genome:aafgfg'. The result is a list of sizes in the order of
sending.

Sizes include the FCS, as everywhere for the user.
"""

from __future__ import annotations

import re
from math import gcd

from keisoku.errors import PlanError

PRESETS = {"imix": "64:7,570:4,1518:1"}
"""'imix' is what vendors of testers call simple IMIX."""
GENOME = "genome:"
"""Prefix of a sequence in the notation of RFC 6985."""
_LETTERS = dict(zip("abcdefghij", (64, 128, 256, 512, 1024, 1280, 1518, 2112, 9000, 16000), strict=True))
"""RFC 6985 §3. Its letter z, the MTU, has no fixed size."""
_EXAMPLE = "write '64:7,570:4,1518:1', 'imix' or 'genome:aafgfg'"
_MOST_SIZES = 4096


def is_mix(text: str) -> bool:
    """True if a text stands for a mix, and not for a plain list of sizes."""
    return text.strip() in PRESETS or text.strip().startswith(GENOME) or bool(re.search(r"\d:\d", text.split("-")[0]))


def mix(field: str, text: str, tag_bytes: int = 0) -> tuple[int, ...]:
    """Frame sizes in bytes, in the order in which they are sent, to be repeated; those of a preset with their tags.

    Weights are spread evenly: 64:2,1518:1 gives 64, 1518, 64. A genome keeps its order.
    Raises PlanError naming `field`.
    """
    written = PRESETS.get(text.strip(), text.strip()).replace(" ", "")
    if written.startswith(GENOME):
        return _genome(field, written.removeprefix(GENOME))
    longer = tag_bytes if text.strip() in PRESETS else 0
    weights: dict[int, int] = {}
    for part in written.split(","):
        match = re.fullmatch(r"(\d+):(\d+)", part)
        if match is None or int(match[1]) == 0 or int(match[2]) == 0:
            raise PlanError(field, f"'{part}' is no size with a weight", _EXAMPLE)
        size = int(match[1]) + longer
        weights[size] = weights.get(size, 0) + int(match[2])
    common = gcd(*weights.values())
    weights = {size: weight // common for size, weight in weights.items()}
    _check_length(field, sum(weights.values()))
    return _spread(weights)


def _spread(weights: dict[int, int]) -> tuple[int, ...]:
    """Smooth weighted round robin: at any point each size is within one frame of its share."""
    total = sum(weights.values())
    credit = dict.fromkeys(weights, 0)
    order = []
    for _ in range(total):
        for size, weight in weights.items():
            credit[size] += weight
        chosen = max(credit, key=lambda size: credit[size])
        credit[chosen] -= total
        order.append(chosen)
    return tuple(order)


def _genome(field: str, text: str) -> tuple[int, ...]:
    """'aafgfg', or with user-defined sizes as capital letters: 'aAfB,A=594,B=1400' (RFC 6985 §4)."""
    sequence, *own = text.split(",")
    letters = dict(_LETTERS)
    for part in own:
        match = re.fullmatch(r"([A-Z])=(\d+)", part)
        if match is None:
            raise PlanError(field, f"'{part}' defines no letter", "write for example 'genome:aAaA,A=594'")
        letters[match[1]] = int(match[2])
    for letter in sequence:
        if letter not in letters:
            remedy = "define a letter for the size: 'genome:aA,A=9000'" if letter == "z" else _EXAMPLE
            raise PlanError(field, f"the letter '{letter}' has no size", remedy)
    if not sequence:
        raise PlanError(field, "the genome is empty", _EXAMPLE)
    _check_length(field, len(sequence))
    return tuple(letters[letter] for letter in sequence)


def _check_length(field: str, sizes: int) -> None:
    if sizes > _MOST_SIZES:
        raise PlanError(field, f"the mix repeats only after {sizes} frames", f"use at most {_MOST_SIZES}")

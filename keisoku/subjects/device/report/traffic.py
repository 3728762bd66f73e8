"""What a run sent, in words: a mix, headers, load. Empty where it is what every run sends. It computes no figure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from keisoku.ground.report import digits
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase, plural

_IMIX = [7, 4, 1]
"""Frames of each size, from small to large (`ground/frame/imix.py`); the smallest grows with the headers."""
_PLAIN = {"Ether", "Dot1Q", "IP", "UDP"}


def traffic(plan: Mapping[str, Any]) -> str:
    """'IMIX (7 × 68, 4 × 598, 1 × 1518 byte; 366 byte on average), VLAN 5, at 50 %', of the values of a plan."""
    pacing = plan.get("pacing") or {}
    kind = str(pacing.get("kind", "constant")) if isinstance(pacing, Mapping) else str(pacing)
    streams = len(plan.get("stream") or ()) or int(plan.get("streams") or 1)
    own = [plan.get(name) or {} for name in plan.get("methods", ())]
    loads = list(dict.fromkeys(each["rate_fps"] for each in own if each.get("rate_fps")))
    parts = [
        _mix(plan["mix"]) if plan.get("mix") else "",
        _headers(str(plan.get("headers") or "ipv4")),
        *(phrase("{field} varied", field=str(each).split("=")[0]) for each in plan.get("modify") or ()),
        plural("{count} stream", "{count} streams", count=streams) if streams > 1 else "",
        str(plan.get("pattern") or ""),
        "" if kind == "constant" else phrase("paced by {kind}", kind=kind),
        *(phrase("at {load}", load=_load(load)) for load in loads),
    ]
    return join_texts(", ", [part for part in parts if part])


def _mix(sizes: Sequence[int]) -> str:
    counted = sorted(Counter(sizes).items())
    of_each = ", ".join(f"{count} × {size}" for size, count in counted)
    name = "IMIX" if [count for _, count in counted] == _IMIX else phrase("mix")
    mean = digits.significant(sum(sizes) / len(sizes), 4)
    return phrase("{name} ({sizes} byte; {mean} byte on average)", name=name, sizes=of_each, mean=mean)


def _headers(headers: str) -> str:
    """'VLAN 5', 'ipv6', or the stack itself where that does not say all."""
    layers = re.findall(r"(\w+)\(", headers)
    tags = re.findall(r"Dot1Q\([^)]*vlan=(\d+)", headers)
    if not layers:
        return "" if headers == "ipv4" else headers
    tagged = ", ".join(f"VLAN {tag}" for tag in tags)
    plain = set(layers) <= _PLAIN and len(tags) == layers.count("Dot1Q") and headers.count("=") == len(tags)
    return tagged if plain else headers


def _load(load: float | str) -> str:
    if isinstance(load, str):
        return load.replace("%", " %")
    return digits.value_text(Quantity(value=load, unit="frames/s"))

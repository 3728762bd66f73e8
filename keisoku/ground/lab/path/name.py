"""Reads a path as a user writes it: 'path?hops=100M,50M/10M,100M+100M,10M~15000&icmp=unlimited'. Makes none."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar, get_args

from keisoku.errors import PlanError
from keisoku.ground.lab.path.cross_traffic import CrossDirection, CrossKind, CrossTraffic
from keisoku.ground.lab.path.hop import MOST, Aqm, Discipline, Hop
from keisoku.ground.lab.path.lab import PathLab
from keisoku.ground.lab.path.node import Icmp, TargetReply
from keisoku.units import TIME_UNITS_NS, quantity

FAMILY = "path"
BIT_RATES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
SIZES = {"": 1.0, "B": 1.0, "k": 1e3, "kB": 1e3, "KiB": 1024.0, "M": 1e6, "MB": 1e6}
_HOP = re.compile(r"(?P<forward>[^/+~]+)(?:/(?P<reverse>[^/+~]+))?(?P<stages>(?:\+[^/+~]+)*)(?:~(?P<bucket>[^/+~]+))?")
_Word = TypeVar("_Word", bound=str)
_EVERY = ("hops", "delay", "queue", "mtu", "overhead", "jitter", "loss", "bucket", "aqm")
_WHOLE = ("icmp", "silent", "target", "cross", "seed")


def is_path(name: str) -> bool:
    """Whether the text is the name of a path, with or without `lab:` before it."""
    return name.removeprefix("lab:").partition("?")[0] == FAMILY


def find_path(name: str, field: str = "device") -> PathLab:
    """The path called 'path?parameter=value&…', not yet made.

    Raises PlanError, naming the parameter, or `field` for one that does not exist.
    """
    given = _pairs(name.partition("?")[2], field)
    hops = _hops(given)
    return PathLab(
        hops,
        icmp=_choice("icmp", given.get("icmp", "default"), get_args(Icmp)),
        silent=[_whole("silent", part) for part in _list(given.get("silent", ""))],
        target=_choice("target", given.get("target", "answers"), get_args(TargetReply)),
        cross_traffic=[_cross(part) for part in _list(given.get("cross", ""))],
        seed=_whole("seed", given.get("seed", "1")),
    )


def _pairs(text: str, field: str) -> dict[str, str]:
    given: dict[str, str] = {}
    for part in text.split("&"):
        key, equals, value = part.partition("=")
        if key not in (*_EVERY, *_WHOLE) or not equals or key in given:
            remedy = f"write path?hops=100M,10M with any of {', '.join((*_EVERY, *_WHOLE)[1:])}, each once"
            raise PlanError(field, f"a path cannot have '{part}'" if part else "a path needs hops", remedy)
        given[key] = value
    if "hops" not in given:
        raise PlanError(field, "a path needs hops", "write for example path?hops=100M,50M,10M,100M")
    return given


def _hops(given: dict[str, str]) -> list[Hop]:
    hops = [_hop(part) for part in _list(given["hops"])]
    for field, name, units in (
        ("delay", "propagation_ns", TIME_UNITS_NS),
        ("jitter", "jitter_ns", TIME_UNITS_NS),
        ("queue", "queue_bytes", SIZES),
        ("mtu", "mtu", SIZES),
        ("overhead", "overhead_bytes", SIZES),
    ):
        values = [_count(field, part, units) for part in _list(given.get(field, ""))]
        hops = _spread(field, hops, [{name: value} for value in values])
    losses = [quantity("loss", part, {"": 1.0, "%": 0.01}) for part in _list(given.get("loss", ""))]
    hops = _spread("loss", hops, [{"loss": loss} for loss in losses])
    hops = _spread("aqm", hops, [{"aqm": _choice("aqm", part, get_args(Aqm))} for part in _list(given.get("aqm", ""))])
    kind = _choice("bucket", given.get("bucket", "tbf"), get_args(Discipline))
    return [replace(hop, discipline=kind) if hop.bucket_bytes else hop for hop in hops]


def _spread(field: str, hops: list[Hop], changes: Sequence[Mapping[str, float | str]]) -> list[Hop]:
    """A single value is for all hops except those with a token bucket, which do not have it; otherwise one for each
    hop."""
    if not changes:
        return hops
    if len(changes) == 1:
        everywhere = field in ("mtu", "queue")
        return [replace(hop, **changes[0]) if everywhere or not hop.bucket_bytes else hop for hop in hops]  # type: ignore[arg-type]
    if len(changes) != len(hops):
        raise PlanError(field, f"there are {len(changes)} values for {len(hops)} hops", "give one, or one for each hop")
    return [replace(hop, **change) for hop, change in zip(hops, changes, strict=True)]  # type: ignore[arg-type]


def _hop(text: str) -> Hop:
    match = _HOP.fullmatch(text)
    if match is None:
        remedy = "write RATE, RATE/REVERSE, RATE+STAGE or RATE~BURST, such as 100M/10M"
        raise PlanError("hops", f"'{text}' is no hop", remedy)
    reverse, bucket = match["reverse"], match["bucket"]
    return Hop(
        _rate(match["forward"]),
        _rate(reverse) if reverse else None,
        stages=tuple(_rate(part) for part in match["stages"].split("+")[1:]),
        bucket_bytes=_count("hops", bucket, SIZES) if bucket else None,
    )


def _cross(text: str) -> CrossTraffic:
    parts = text.split(":")
    if not 3 <= len(parts) <= 5:
        raise PlanError("cross", f"'{text}' is no cross traffic", "write HOP:KIND:SHARE, such as 2:poisson:0.5:reverse")
    way = _choice("cross", parts[3] if len(parts) > 3 else "forward", get_args(CrossDirection))
    sizes = tuple(_whole("cross", part) for part in parts[4].split("-")) if len(parts) > 4 else (1000,)
    kind = _choice("cross", parts[1], get_args(CrossKind))
    share = quantity("cross", parts[2], {"": 1.0, "%": 0.01})
    return CrossTraffic(_whole("cross", parts[0]), kind, share, way, sizes)


def _rate(text: str) -> int:
    return _count("hops", text, BIT_RATES)


def _count(field: str, text: str, units: dict[str, float]) -> int:
    value = quantity(field, text, units)
    if not abs(value) <= MOST:
        raise PlanError(field, f"'{text}' is too large", f"stay below {MOST:.0e}")
    return round(value)


def _whole(field: str, text: str) -> int:
    if not text.isdecimal():
        raise PlanError(field, f"'{text}' is no whole number", "give one such as 2")
    return int(text)


def _choice(field: str, text: str, known: tuple[_Word, ...]) -> _Word:
    for word in known:
        if word == text:
            return word
    raise PlanError(field, f"there is no '{text}'", f"choose one of {', '.join(known)}")


def _list(text: str) -> list[str]:
    return text.split(",") if text else []

"""Reads a system as a user writes it: 'system?servers=1&rates=1G,1G,none&file=1430'. Makes none."""

from __future__ import annotations

from typing import Any

from keisoku.errors import PlanError
from keisoku.ground.lab.path.name import SIZES
from keisoku.ground.lab.system.lab import SystemLab
from keisoku.ground.lab.system.shape import ServedFile, SystemShape
from keisoku.units import BIT_RATE_UNITS, quantity

FAMILY = "system"
KEYS = (
    "servers",
    "clients",
    "rates",
    "uplink",
    "server-rate",
    "file",
    "queue",
    "workers",
    "connections",
    "backlog",
    "congestion",
    "gzip",
)
_NONE = ("none", "-")


def is_system(name: str) -> bool:
    """Whether the text is the name of a system, with or without `lab:` before it."""
    return name.removeprefix("lab:").partition("?")[0] == FAMILY


def pairs(name: str, known: tuple[str, ...], field: str = "system") -> dict[str, str]:
    """The parameters after the question mark. Raises PlanError for a key that is not in `known`, or is given twice."""
    given: dict[str, str] = {}
    text = name.partition("?")[2]
    for part in text.split("&") if text else []:
        key, equals, value = part.partition("=")
        if key not in known or not equals or key in given:
            raise PlanError(field, f"a system cannot have '{part}'", f"give any of {', '.join(known)}, each once")
        given[key] = value
    return given


def shape_of(given: dict[str, str]) -> SystemShape:
    """The shape from the parameters; keys that are not in `KEYS` are ignored. Raises PlanError."""
    rates = [rate_bps("rates", part) for part in given.get("rates", "none").split(",")]
    clients = _count("clients", given["clients"]) if "clients" in given else len(rates)
    if len(rates) not in (1, clients):
        raise PlanError("rates", f"there are {len(rates)} rates for {clients} clients", "give one, or one for each")
    values: dict[str, Any] = {"rates_bps": tuple(rates * clients if len(rates) == 1 else rates)}
    for key, name in (
        ("servers", "servers"),
        ("workers", "workers"),
        ("connections", "worker_connections"),
        ("backlog", "backlog"),
    ):
        if key in given:
            values[name] = _count(key, given[key])
    if "uplink" in given:
        values["uplink_bps"] = rate_bps("uplink", given["uplink"])
    if "server-rate" in given:
        values["server_bps"] = rate_bps("server-rate", given["server-rate"])
    if "file" in given:
        values["files"] = tuple(_file(part) for part in given["file"].split(","))
    if "queue" in given:
        values["queue_bytes"] = round(quantity("queue", given["queue"], SIZES))
    if "gzip" in given:
        values["compression"] = _count("gzip", given["gzip"])
    if "congestion" in given:
        values["congestion"] = given["congestion"]
    return SystemShape(**values)


def find_system(name: str, field: str = "system") -> SystemLab:
    """The system called 'system?key=value&…', not yet made. Raises PlanError, naming the key."""
    return SystemLab(shape_of(pairs(name, KEYS, field)))


def rate_bps(field: str, text: str) -> int | None:
    """A rate, or None for 'none' and '-'."""
    return None if text in _NONE else round(quantity(field, text, BIT_RATE_UNITS))


def _file(text: str) -> ServedFile:
    size, colon, weight = text.partition(":")
    return ServedFile(
        round(quantity("file", size, SIZES)), quantity("file", weight, {"": 1.0, "%": 0.01}) if colon else 1.0
    )


def _count(field: str, text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= 1_000_000:
        raise PlanError(field, f"'{text}' is not a number", "give one such as 2")
    return int(text)

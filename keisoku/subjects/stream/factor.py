"""Factors of a comparison: what each level changes of a trial, or of the interfaces at both ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from keisoku.errors import PlanError
from keisoku.subjects.stream.trial import MOST_SEGMENTS, StreamTrial
from keisoku.units import bit_rate

_SWITCH = {"on": True, "off": False}
_OF_TRIAL: dict[str, tuple[str, Callable[[str], Any]]] = {
    "congestion": ("congestion", str),
    "buffer": ("buffer_bytes", int),
    "nodelay": ("no_delay", _SWITCH.__getitem__),
    "mss": ("segment_bytes", int),
    "streams": ("streams", int),
    "direction": ("direction", str),
    "offload": ("segments", {"on": MOST_SEGMENTS, "off": 1}.__getitem__),
    "rate": ("bps", lambda text: bit_rate("factor rate", text)),
}
OF_INTERFACE = ("mtu", "tso", "gso", "gro")
"""Set on the interfaces at both ends and set back afterwards."""
HOST = "host"
"""Levels are addresses of the same server: cards, drivers or cables to compare."""
ONLY = {
    "congestion": "tcp",
    "nodelay": "tcp",
    "mss": "tcp",
    "offload": "udp",
}
NAMES = (*_OF_TRIAL, *OF_INTERFACE, HOST)


def check_factors(factors: Mapping[str, Sequence[str]], protocol: str) -> None:
    """Raises PlanError for an unknown factor or level."""
    for name, levels in factors.items():
        if name not in NAMES:
            raise PlanError("factor", f"there is no factor '{name}'", f"use {', '.join(NAMES)}")
        if not levels or not all(levels) or len(set(levels)) < len(levels):
            raise PlanError("factor", f"{name} names no level, or one twice", "write congestion=cubic,bbr")
        if ONLY.get(name, protocol) != protocol:
            raise PlanError("factor", f"{protocol} has no {name}", "leave it out")
        for level in levels:
            _check(name, level)


def apply(trial: StreamTrial, setup: Mapping[str, str]) -> StreamTrial:
    """The trial with the set-up's levels; those of hosts and interfaces change nothing of it."""
    values: dict[str, Any] = {
        _OF_TRIAL[name][0]: _OF_TRIAL[name][1](level) for name, level in setup.items() if name in _OF_TRIAL
    }
    return StreamTrial.model_validate(trial.model_dump() | values)


def of_interface(setup: Mapping[str, str]) -> dict[str, int | bool]:
    """What the interfaces are set to."""
    return {
        name: int(level) if name == "mtu" else _SWITCH[level] for name, level in setup.items() if name in OF_INTERFACE
    }


def named(setup: Mapping[str, str]) -> str:
    """For tables: 'mtu 9000, congestion bbr'."""
    return ", ".join(f"{name} {level}" for name, level in setup.items())


def _check(name: str, level: str) -> None:
    try:
        if name in OF_INTERFACE:
            values = of_interface({name: level})
            if not 68 <= values.get("mtu", 1500) <= 65_535:
                raise ValueError(level)
        elif name != HOST:
            apply(StreamTrial(protocol="tcp", message_bytes=1), {name: level})
    except (ValidationError, ValueError, KeyError) as error:
        raise PlanError("factor", f"{name} cannot be '{level}'", "docs/stream.md lists the levels of each") from error

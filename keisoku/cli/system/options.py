"""The options that commands on whole systems share, each defined once, and the settings that they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
from pydantic import ValidationError

from keisoku.cli.options import seconds
from keisoku.errors import PlanError
from keisoku.system.objective import Goal
from keisoku.system.settings import RunSettings
from keisoku.system.system import System
from keisoku.units import bit_rate

F = Callable[..., Any]
_Settings = TypeVar("_Settings", bound=RunSettings)
_FLOOR = 100
"""Part of line rate that is the lowest limit, if nothing is said."""

_OPTIONS = (
    click.option("--system", "name", required=True, metavar="SYSTEM", help="such as sim:e4 or sim:FILE.toml"),
    click.option(
        "--port", "ports", multiple=True, metavar="CLIENT", help="limit the port to it (default: the fastest; repeat)"
    ),
    click.option(
        "--objective",
        "goal",
        default="sum_logs",
        show_default=True,
        metavar="NAME",
        help=f"to be best: {', '.join(goal.value for goal in Goal)}",
    ),
    click.option("--weight", "weights", multiple=True, metavar="CLIENT=NUMBER", help="in the objective (default: 1)"),
    click.option("--p99", metavar="TIME", help="that no client's 99th percentile should exceed"),
    click.option("--keep", "floors", multiple=True, metavar="CLIENT=RATE", help="that it should get at least"),
    click.option("--floor", metavar="RATE", help=f"lowest limit that is tried (default: line rate / {_FLOOR})"),
    click.option("--interval", default="1s", show_default=True, metavar="TIME", help="that one look at it takes"),
    click.option("--settle", default="1s", show_default=True, metavar="TIME", help="left out after each change"),
    click.option("--seed", type=int, default=1, show_default=True, help="for every random choice"),
    click.option("--out", type=click.Path(path_type=Path), help="run directory (default: runs/DATE-KIND)"),
    click.option("--json", "as_json", is_flag=True, help="print the result as JSON on standard output"),
)
_NAMES = {
    "goal": "--objective",
    "ports": "--port",
    "weights": "--weight",
    "floors": "--keep",
    "floor_bps": "--floor",
    "p99_s": "--p99",
    "interval_s": "--interval",
    "settle_s": "--settle",
    "for_s": "--for",
}


def system_options(command: F) -> F:
    """Adds the options of every command that observes a system and sets limits in it."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def settings_of(kind: type[_Settings], system: System, given: Mapping[str, Any], **own: Any) -> _Settings:
    """Settings from the shared options and a command's own ones. Raises PlanError for what cannot be."""
    ports = given["ports"] or (max(system.ports, key=lambda name: system.ports[name]),)
    for name in ports:
        if name not in system.ports:
            raise PlanError("--port", f"no port leads to '{name}'", f"use {', '.join(system.ports)}")
    line_bps = min(system.ports[name] for name in ports)
    floors = {name: bit_rate("--keep", rate) for name, rate in _pairs("--keep", given["floors"], system).items()}
    weights = {name: _number("--weight", text) for name, text in _pairs("--weight", given["weights"], system).items()}
    floor = given["floor"]
    values = {
        "system": given["name"],
        "ports": tuple(dict.fromkeys(ports)),
        "line_bps": line_bps,
        "floor_bps": line_bps / _FLOOR if floor is None else bit_rate("--floor", floor),
        "goal": given["goal"],
        "weights": weights,
        "p99_s": seconds("--p99", given["p99"]),
        "floors": floors,
        "interval_s": seconds("--interval", given["interval"]),
        "settle_s": 0.0 if given["settle"].strip() in ("0", "0s", "0 s") else seconds("--settle", given["settle"]),
        "seed": given["seed"],
        **own,
    }
    try:
        settings = kind.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        field = str(first["loc"][0])
        name = _NAMES.get(field, f"--{field}")
        raise PlanError(name, f"{first['input']!r} cannot be", str(first["msg"])) from error
    # What settings of their own refuse is refused before anything is set.
    settings.objective, settings.candidates  # noqa: B018
    return settings


def _pairs(option: str, texts: tuple[str, ...], system: System) -> dict[str, str]:
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name not in system.ports:
            example = next(iter(system.ports))
            raise PlanError(option, f"'{text}' names no client", f"write for example {example}=2")
        pairs[name] = value
    return pairs


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise PlanError(option, f"'{text}' is not a number", "write for example fast=2") from error

"""The options that measuring commands share, each defined once, and the plan they make.

Only what the user typed enters the plan; everything else keeps the plan's own defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from keisoku.plan.plan import Plan, parse
from keisoku.plan.units import duration_ns, frame_sizes, rate

F = Callable[..., Any]

_DUT = (
    click.option("--dut", metavar="URI", help="lab:bridge, lab:router, sim:gs908e, sim:FILE.toml"),
    click.option("--tx", metavar="PORT", help="transmitting port: xdp:eth1, packet:eth1; with --dut its number"),
    click.option("--rx", metavar="PORT", help="receiving port, likewise"),
    click.option("--engine", metavar="NAME", help="how a lab's ports are driven: xdp (default) or packet"),
    click.option("--gateway", metavar="IP", help="address of a routing DUT on the transmitting side"),
    click.option("--headers", metavar="KIND", help="ethernet, ipv4 (default) or ipv6"),
    click.option("--force", is_flag=True, default=None, help="use a port even if it carries the default route"),
)
_TRIAL = (
    click.option("--size", metavar="BYTES", help="frame sizes with FCS: 64,1518 or 64-1518:64 (default: RFC 2544's)"),
    click.option("--duration", metavar="TIME", help="length of a trial (default: the RFC's)"),
    click.option(
        "--waits",
        metavar="TIME",
        help="all waits of RFC 2544 §23: after learning, for the last frame, between trials",
    ),
    click.option("--seed", type=int, help="for every random choice of a simulated device"),
    click.option("--calibration", metavar="FILE", help="auto (default), none, or a calibration file"),
)
_OUTPUT = (
    click.option(
        "--require",
        multiple=True,
        metavar="CRITERION",
        help="such as 'throughput[64] >= 0.5 Mpps'; exit code 1 if missed",
    ),
    click.option("--out", type=click.Path(path_type=Path), help="run directory (default: runs/DATE-DUT-METHOD)"),
    click.option("--json", "as_json", is_flag=True, help="print the result as JSON on standard output"),
)


def measuring(command: F) -> F:
    """Adds the options of every measuring command."""
    for option in reversed(_DUT + _TRIAL + output_options()):
        command = option(command)
    return command


def output_options() -> tuple[Callable[[F], F], ...]:
    """Where results go and what they must fulfil."""
    return _OUTPUT


def plan_of(method: str, given: dict[str, Any], settings: dict[str, Any]) -> Plan:
    """The plan for one method from the shared options and the method's own settings (None: not given)."""
    source: dict[str, Any] = {
        name: given[name]
        for name in ("dut", "tx", "rx", "engine", "gateway", "headers", "force", "seed", "calibration")
        if given[name] is not None
    }
    if given["size"] is not None:
        source["frame_bytes"] = frame_sizes("--size", given["size"])
    if given["waits"] is not None:
        wait_s = 0.0 if given["waits"].strip() in ("0", "0s", "0 s") else seconds("--waits", given["waits"])
        source["phases"] = {"learning_wait_s": wait_s, "drain_s": wait_s, "rest_s": wait_s}
    source |= {"methods": [method], "require": list(given["require"]), method: _given(settings)}
    return parse(source)


def seconds(field: str, text: str | None) -> float | None:
    """A time option in seconds, or None if it was not given."""
    return None if text is None else duration_ns(field, text) / 1e9


def fps(field: str, text: str | None) -> float | None:
    """A rate option in frames/s, or None if it was not given."""
    return None if text is None else rate(field, text)


def _given(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}

"""The options that measuring commands share, each defined once, and the plan they make.

Only what the user typed enters the plan; everything else keeps the plan's own defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from keisoku.device.plan.plan import Plan, parse
from keisoku.units import duration_ns, length_m, rate

F = Callable[..., Any]

_SAME = (
    "dut",
    "tx",
    "rx",
    "engine",
    "gateway",
    "address",
    "force",
    "seed",
    "calibration",
    "pattern",
    "headers",
    "pacing",
    "streams",
    "modifiers",
    "filters",
    "networks",
    "frames",
    "frames_every",
    "stamps",
    "capture",
)
"""Options that the plan has under the same name and form."""

_DUT = (
    click.option("--dut", metavar="URI", help="lab:bridge, lab:router, sim:gs908e, sim:FILE.toml"),
    click.option(
        "--tx",
        metavar="PORT",
        help="transmitting port: xdp:eth1, packet:eth1, fpga:/dev/ttyUSB0#0, fpga:sim#0; with --dut its number",
    ),
    click.option("--rx", metavar="PORT", help="receiving port, likewise"),
    click.option("--engine", metavar="NAME", help="how a lab's ports are driven: xdp (default) or packet"),
    click.option("--gateway", metavar="IP,…", help="a routing DUT's address at the first port, at the second, …"),
    click.option("--address", metavar="IP,…", help="the tester's own at each port, answered by itself"),
    click.option("--ports", metavar="PORTS", help="all ports of a pattern: 1,2,3,4 or xdp:eth1,xdp:eth2,…"),
    click.option("--pattern", metavar="NAME", help="pair (default), bidirectional, pairs, mesh, partial-mesh, …"),
    click.option(
        "--headers",
        metavar="STACK",
        help="ethernet, ipv4 (default), ipv6, mpls, or like Ether()/Dot1Q(vlan=5)/IP()/UDP()",
    ),
    click.option(
        "--modify",
        multiple=True,
        metavar="FIELD=VALUES",
        help="vary a field: 'UDP.sport=random(1024-65535)', 'IP.dst=increment(198.19.0.1, count=256)', rfc4814",
    ),
    click.option("--pacing", metavar="KIND", help="constant (default), bursts:64, bursts:64@1us, poisson, gaps:FILE"),
    click.option("--streams", type=int, help="streams on each way, with a source port each (default: 1)"),
    click.option("--modifiers", metavar="NAME,…", help="frames beside the test frames: broadcast, management, routing"),
    click.option("--filters", type=int, metavar="NUMBER", help="filters that the device has (RFC 2544: 1 and 25)"),
    click.option("--networks", type=int, metavar="NUMBER", help="destination networks at random (RFC 2544: 256)"),
    click.option("--force", is_flag=True, default=None, help="use a port even if it carries the default route"),
)
_TRIAL = (
    click.option(
        "--size",
        metavar="BYTES",
        help="sizes with FCS: 64,1518, 64-1518:64, rfc8219, or a mix: imix, 64:7,1518:1 (default: RFC 2544's)",
    ),
    click.option("--duration", metavar="TIME", help="length of a trial (default: the RFC's)"),
    click.option(
        "--waits",
        metavar="TIME",
        help="all waits of RFC 2544 §23: after learning, for the last frame, between trials",
    ),
    click.option("--seed", type=int, help="for every random choice of a simulated device"),
    click.option("--frames", is_flag=True, default=None, help="keep a row for each frame, for 'keisoku query'"),
    click.option("--frames-every", type=int, metavar="NUMBER", help="fpga: a row for one in so many (default: each)"),
    click.option("--calibration", metavar="FILE", help="auto (default), none, or a calibration file"),
    click.option(
        "--cable-tolerance",
        metavar="LENGTH",
        help="by how much all cables may be longer or shorter than the calibration's (default: not at all)",
    ),
    click.option("--stamps", metavar="KIND", help="of what is received: best (default), software, hardware"),
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


_CAPTURE = (
    click.option(
        "--capture",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="capture all frames at the tester's ports into a new pcapng file, for 'keisoku find'",
    ),
    click.option("--snap", type=int, metavar="BYTES", help="keep so much of each captured frame (default: all)"),
)


def measuring(command: F) -> F:
    """Adds the options of every measuring command."""
    for option in reversed(_DUT + _TRIAL + _CAPTURE + output_options()):
        command = option(command)
    return command


def capture_options() -> tuple[Callable[[F], F], ...]:
    """Where a capture goes and what it keeps."""
    return _CAPTURE


def output_options() -> tuple[Callable[[F], F], ...]:
    """Where results go and what they must fulfil."""
    return _OUTPUT


def plan_of(method: str, given: dict[str, Any], settings: dict[str, Any], search_s: float | None = None) -> Plan:
    """The plan for one method from the shared options and the method's own settings (None: not given).

    `search_s` is how long the trials are by which a throughput is looked for.
    """
    source: dict[str, Any] = {
        name: given[name] for name in (*_SAME, "size", "ports", "modify", "snap") if given[name] not in (None, ())
    }
    if "snap" in source:
        source["snap_bytes"] = source.pop("snap")
    if "size" in source:
        source["frame_bytes"] = source.pop("size")
    if "ports" in source:
        source["ports"] = [port.strip() for port in source["ports"].split(",")]
    if given["waits"] is not None:
        wait_s = 0.0 if given["waits"].strip() in ("0", "0s", "0 s") else seconds("--waits", given["waits"])
        source["phases"] = {"learning_wait_s": wait_s, "drain_s": wait_s, "rest_s": wait_s}
    if given["cable_tolerance"] is not None:
        source["cable_tolerance_m"] = length_m("--cable-tolerance", given["cable_tolerance"])
    source |= {"methods": [method], "require": list(given["require"]), method: _given(settings)}
    if search_s is not None:
        source["throughput"] = {"trial_s": search_s}
    return parse(source)


def seconds(field: str, text: str | None) -> float | None:
    """A time option in seconds, or None if it was not given."""
    return None if text is None else duration_ns(field, text) / 1e9


def fps(field: str, text: str | None) -> float | None:
    """A rate option in frames/s, or None if it was not given."""
    return None if text is None else rate(field, text)


def _given(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}

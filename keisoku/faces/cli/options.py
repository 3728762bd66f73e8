"""The options that measuring commands share, each defined once, and the plan they make.

Only typed options enter the plan; everything else keeps the plan's own defaults.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import click

from keisoku.faces.cli.amount import AMOUNT
from keisoku.subjects.device.plan.pace import Profile
from keisoku.subjects.device.plan.plan import Plan, parse
from keisoku.subjects.device.plan.procedure import Procedure
from keisoku.units import duration_ns, length_m, rate

F = Callable[..., Any]

_SAME = (
    "dut",
    "tx",
    "rx",
    "receiver",
    "clock",
    "engine",
    "gateway",
    "address",
    "force",
    "seed",
    "repeat",
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
    "profile",
)
"""Options with the same name and form in the plan."""

_DUT = (
    click.option("--dut", metavar="URI", help="device under test: lab:bridge, lab:router, sim:gs908e, sim:FILE.toml"),
    click.option(
        "--tx",
        metavar="PORT",
        help="transmitting port: eth1, xdp:eth1, afxdp:eth1, packet:eth1, fpga:/dev/ttyUSB0#0, fpga:sim#0; with --dut "
        "a port number",
    ),
    click.option("--rx", metavar="PORT", help="receiving port, in the same form"),
    click.option("--receiver", metavar="HOST", help="host at which rx is, where 'keisoku port serve' lends it"),
    click.option(
        "--clock", metavar="ptp:HOST", help="with --receiver: PTP master that both hosts hear, for one-way latencies"
    ),
    click.option("--engine", metavar="NAME", help="engine of a lab's ports: xdp (default), afxdp or packet"),
    click.option("--gateway", metavar="IP,…", help="IP addresses of a routing DUT at the first port, the second, …"),
    click.option(
        "--address", metavar="IP,…", help="the tester's own IP address at each port, for which it answers ARP itself"
    ),
    click.option("--ports", metavar="PORTS", help="all ports of a traffic pattern: 1,2,3,4 or xdp:eth1,xdp:eth2,…"),
    click.option(
        "--pattern", metavar="NAME", help="traffic pattern: pair (default), bidirectional, pairs, mesh, partial-mesh, …"
    ),
    click.option(
        "--headers",
        metavar="STACK",
        help="headers: ethernet, ipv4 (default), ipv6, mpls, or a stack such as Ether()/Dot1Q(vlan=5)/IP()/UDP()",
    ),
    click.option(
        "--modify",
        multiple=True,
        metavar="FIELD=VALUES",
        help="vary a field: 'UDP.sport=random(1024-65535)', 'IP.dst=increment(198.19.0.1, count=256)', rfc4814",
    ),
    click.option(
        "--pacing",
        metavar="KIND",
        help="times between frames: constant (default), bursts:64, bursts:64@1us, poisson, gaps:FILE",
    ),
    click.option(
        "--streams", type=int, help="number of streams from port to port, with different source ports (default: 1)"
    ),
    click.option(
        "--modifiers", metavar="NAME,…", help="additional frames beside the test frames: broadcast, management, routing"
    ),
    click.option("--filters", type=int, metavar="NUMBER", help="number of filters in the device (RFC 2544: 1 and 25)"),
    click.option(
        "--networks", type=int, metavar="NUMBER", help="number of random destination networks (RFC 2544: 256)"
    ),
    click.option(
        "--force",
        is_flag=True,
        default=None,
        help="use a port even if it carries the default route, and send loads that look like an attack",
    ),
)
_TRIAL = (
    click.option(
        "--size",
        metavar="BYTES",
        help="frame sizes with FCS: 64,1518, 64-1518:64, rfc8219, or a mix: imix, 64:7,1518:1 (default: RFC 2544's)",
    ),
    click.option(
        "--profile",
        type=click.Choice(get_args(Profile)),
        help="lengths, waits and repetitions that are not given: those of the standards (rfc), of a few minutes (short)"
        " or of about a minute (quick: the default on a terminal, except for a simulated device)",
    ),
    click.option(
        "--within", metavar="TIME", help="time in which to finish, such as 5min: what is not given is planned to fit"
    ),
    click.option(
        "--waits",
        metavar="TIME",
        help="length of each wait of RFC 2544 §23: after learning frames, for the last frames, between trials",
    ),
    click.option(
        "--repeat",
        type=int,
        metavar="NUMBER",
        help="repeat the whole run so many times: figures are medians, with intervals that contain how runs differ",
    ),
    click.option("--seed", type=int, help="seed of all random choices of a simulated device"),
    click.option("--frames", is_flag=True, default=None, help="keep a row for each frame, for 'keisoku query'"),
    click.option(
        "--frames-every",
        type=int,
        metavar="NUMBER",
        help="FPGA only: keep a row for one in so many frames (default: 1)",
    ),
    click.option(
        "--calibration", metavar="FILE", help="calibration to subtract: auto (default), none, or a calibration file"
    ),
    click.option(
        "--cable-tolerance",
        metavar="LENGTH",
        help="how much longer or shorter the cables may be than at calibration (default: 0)",
    ),
    click.option("--stamps", metavar="KIND", help="source of receive timestamps: best (default), software, hardware"),
)
_OUTPUT = (
    click.option(
        "--require",
        multiple=True,
        metavar="CRITERION",
        help="criterion for the result, such as 'throughput[64] >= 0.5 Mpps'; exit code 1 if missed",
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
    click.option("--snap", type=int, metavar="BYTES", help="bytes to keep of each captured frame (default: all)"),
)


_DURATION = click.option("--duration", metavar="TIME", help="length of each trial (default: that of the profile)")
_NO_DURATION = click.option("--duration", hidden=True)
_SEARCH = click.option(
    "--search",
    metavar="TIME",
    help="length of each trial that searches for the throughput (default: that of the profile)",
)


def measuring(command: F, procedure: Procedure) -> F:
    """Adds the options of every measuring command."""
    lengths: list[Callable[[Any], Any]] = [_DURATION if procedure.trials_have_one_length else _NO_DURATION]
    if procedure.searches and not procedure.trials_have_one_length:
        lengths.append(_SEARCH)
    every: tuple[Callable[[Any], Any], ...] = (*_DUT, *lengths, *_TRIAL, *_CAPTURE, *output_options())
    for option in reversed(every):
        command = option(command)
    return command


def capture_options() -> tuple[Callable[[F], F], ...]:
    """Options for the file of a capture, and the bytes it keeps."""
    return _CAPTURE


def output_options() -> tuple[Callable[[F], F], ...]:
    """Options for the directory of results, and for criteria."""
    return (*_OUTPUT, *AMOUNT)


def plan_of(method: str, given: dict[str, Any], settings: dict[str, Any], search_s: float | None = None) -> Plan:
    """The plan for one method from the shared options and the method's own settings (None: not given).

    `search_s` is the length of the trials that search for the throughput.
    """
    source: dict[str, Any] = {
        name: given[name] for name in (*_SAME, "size", "ports", "modify", "snap") if given[name] not in (None, ())
    }
    if given["within"] is not None:
        source["within_s"] = seconds("--within", given["within"])
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

"""`keisoku replay`: sends a capture from a port, and reports the accuracy of its timing."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from keisoku.errors import PlanError
from keisoku.faces.cli.exit_code import FAILED, MEASURED
from keisoku.subjects.device.capture.replay import Replay, replay
from keisoku.subjects.device.engine.playback import Played, play
from keisoku.subjects.device.engine.port_capture import PortCapture
from keisoku.subjects.device.replay_ports import open_ports
from keisoku.units import rate as frame_rate
from keisoku.units import time_text

if TYPE_CHECKING:
    from keisoku.subjects.device.record.interference import PortEngine

_FCS_BYTES = 4
_TOLD_FROM_S = 5.0
"""Of replays that take longer, and of their longest gap, it is said how long they take before they begin."""


@click.command("replay")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--tx",
    metavar="PORT",
    help="sending port: xdp:eth1, afxdp:eth1, packet:eth1; with --dut a port number (default: 1)",
)
@click.option(
    "--rx",
    metavar="PORT",
    help="port that counts received frames, in the same form (default: the sending port; with --dut port 2)",
)
@click.option("--dut", metavar="URI", help="device under test: lab:bridge, lab:router, …")
@click.option("--engine", type=click.Choice(["xdp", "afxdp", "packet"]), help="engine of a lab's ports (default: xdp)")
@click.option(
    "--interface",
    metavar="NAME",
    help="interface in FILE whose frames are sent: its name, or its number from 0 (needed if several have frames)",
)
@click.option(
    "--scale",
    type=float,
    default=1.0,
    metavar="FACTOR",
    help="speed factor: with 2 the file takes half the time (default: 1)",
)
@click.option("--rate", metavar="RATE", help="fixed rate in place of the file's timing, such as 100k")
@click.option("--times", type=int, default=1, metavar="N", help="how many times the whole file is sent (default: 1)")
@click.option("--force", is_flag=True, help="use a port even if it carries the default route")
@click.option("--json", "as_json", is_flag=True, help="print counts of sent and received frames as JSON")
@click.option(
    "--capture",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="capture all frames at the tester's ports into a new pcapng file, for 'keisoku find'",
)
@click.option("--snap", type=int, metavar="BYTES", help="bytes to keep of each captured frame (default: all)")
def command(
    file: Path,
    tx: str | None,
    rx: str | None,
    dut: str | None,
    engine: PortEngine | None,
    interface: str | None,
    scale: float,
    rate: str | None,
    times: int,
    force: bool,
    as_json: bool,
    capture: Path | None,
    snap: int | None,
) -> None:
    """Sends the frames of FILE (pcapng or pcap) unchanged and with their own timing.

    The addresses in the frames are those of the network where they were captured.

    \b
    keisoku replay office.pcap --tx xdp:eth1 --rx xdp:eth2 --scale 2
    keisoku replay run.pcapng --interface t1 --dut lab:bridge --rate 100k --times 10
    """
    fixed = None if rate is None else frame_rate("--rate", rate)
    recording = replay(file, scale, frames_per_second=fixed, port=interface)
    if capture is None and snap:
        raise PlanError("--snap", "there is no capture", "name a file with --capture, or leave it out")
    sizes = [recording.largest_bytes + _FCS_BYTES]
    between_ns = None if fixed is None else round(1e9 / fixed)
    _announce(recording, times)
    with ExitStack() as stack:
        transmit, receive = stack.enter_context(open_ports(dut, tx, rx, engine, sizes, force))
        taken = None
        if capture is not None:
            taken = stack.enter_context(closing(PortCapture(capture, snap or 0, _tell)))
        played = play(recording, transmit, receive, times=times, between_ns=between_ns, capture=taken)
    if as_json:
        click.echo(json.dumps(_plain(played), indent=1))
    else:
        _print(played)
    if played.interrupted:
        raise KeyboardInterrupt
    sys.exit(MEASURED if played.complete else FAILED)


def _announce(recording: Replay, times: int) -> None:
    lasts_s, gap_s = times * recording.duration_ns / 1e9, int(recording.gaps_ns.max()) / 1e9
    if lasts_s > _TOLD_FROM_S:
        longest = f", with a gap of {time_text(gap_s)} without a frame" if gap_s > _TOLD_FROM_S else ""
        _tell(f"replay: {times * len(recording.lengths):,} frames in {time_text(lasts_s)}{longest}; Ctrl-C ends it")


def _print(played: Played) -> None:
    sent, receiver = played.transmitter.sent, played.receiver
    ports = {number: counters.port for number, counters in played.counters.items()}
    rate = "" if played.frames_per_second is None else f", {played.frames_per_second:,.0f} frames/s"
    short = "" if played.complete else "  INCOMPLETE"
    if sent.refused_frames:
        short = f", of which the driver refused {sent.refused_frames:,}{short}"
    click.echo(f"sent      {sent.offered_frames:,} of {played.intended_frames:,} frames by {ports[0]}{rate}{short}")
    click.echo(
        f"timing    at most {_time(sent.lag_max_ns)} late; the schedule was postponed by {_time(sent.postponed_ns)}"
    )
    arrived = f"{receiver.foreign_frames:,} frames at {ports[receiver.port]}, from any sender"
    dropped = receiver.tester_dropped_frames
    click.echo(f"arrived   {arrived}" + (f"; the tester itself dropped {dropped:,} more" if dropped else ""))
    for counters in played.counters.values():
        moved = {
            name: count
            for name, count in counters.model_dump(exclude={"port", "engine", "driver", "taken_frames"}).items()
            if count
        }
        click.echo(f"kernel    {counters.port}: " + (", ".join(f"{n} {c:,}" for n, c in moved.items()) or "no change"))


def _tell(line: str) -> None:
    click.echo(line, err=True)


def _time(ns: int) -> str:
    return f"{ns / 1e6:,.3f} ms"


def _plain(played: Played) -> dict[str, object]:
    return {
        "intended_frames": played.intended_frames,
        "due_ns": played.due_ns,
        "frames_per_second": played.frames_per_second,
        "transmitter": played.transmitter.model_dump(mode="json"),
        "receiver": played.receiver.model_dump(mode="json"),
        "counters": [counters.model_dump(mode="json") for counters in played.counters.values()],
    }

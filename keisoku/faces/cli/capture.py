"""`keisoku capture`: captures frames that enter and leave interfaces in a pcapng file."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from keisoku.subjects.device.capture.capture import Capture
from keisoku.subjects.device.capture.port import CapturePort
from keisoku.units import duration_ns


@click.command("capture")
@click.argument("ports", nargs=-1, required=True, metavar="PORT...")
@click.option("--out", required=True, type=click.Path(path_type=Path, dir_okay=False), help="pcapng file to write")
@click.option("--duration", metavar="TIME", help="length of the capture, such as 10s (default: until Ctrl-C)")
@click.option("--count", type=int, metavar="FRAMES", help="end the capture after so many frames")
@click.option("--snap", type=int, default=0, metavar="BYTES", help="bytes to keep of each frame (default: all)")
def command(ports: tuple[str, ...], out: Path, duration: str | None, count: int | None, snap: int) -> None:
    """Captures frames in both directions at each PORT (eth1, or d1@NAMESPACE), with nanosecond timestamps.

    \b
    keisoku capture d1@keisoku-PID-dut d2@keisoku-PID-dut --out dut.pcapng --duration 10s
    keisoku find dut.pcapng --sequence 12-20
    """
    duration_s = None if duration is None else duration_ns("--duration", duration) / 1e9
    chosen = [CapturePort.parse(port) for port in ports]
    with Capture(chosen, out, snap_bytes=snap, count=count) as capture, suppress(KeyboardInterrupt):
        capture.wait(duration_s)
    for port, counts in zip(capture.ports, capture.counts, strict=True):
        click.echo(f"{port}: {counts.written} frames captured, {counts.dropped} dropped by the capture")
    click.echo(out)

"""`keisoku fpga`: builds, loads and verifies the FPGA instrument, and serves its Verilated model. Measures no DUT."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from keisoku.errors import PlanError
from keisoku.faces.cli.fpga import clock as fpga_clock
from keisoku.faces.cli.fpga import eye as fpga_eye
from keisoku.subjects.device.engine.fpga.port import FpgaAddress
from keisoku.subjects.device.plan.uri import without_scheme


@click.group("fpga")
def command() -> None:
    """The FPGA instrument: make a bitstream, load it, verify it with a cable, or run its RTL without a board.

    \b
    keisoku fpga build --board colorlight_5a_75b
    keisoku fpga flash --board colorlight_5a_75b --cable ft232
    keisoku fpga verify fpga:/dev/ttyUSB0      # one cable between both ports
    keisoku fpga verify fpga:sim
    keisoku fpga eye fpga:/dev/ttyUSB0         # the same cable: sets the delays of the pins
    keisoku fpga clock fpga:/dev/ttyUSB0       # its counter against a PPS or 10 MHz
    """


command.add_command(fpga_eye.command)
command.add_command(fpga_clock.command)
_BOARD = click.option(
    "--board", default="colorlight_5a_75b", show_default=True, help="name of the board, a folder in fpga/board"
)
_REVISION = click.option("--revision", help="revision of the board (default: its first)")


@command.command("build")
@_BOARD
@_REVISION
@click.option(
    "--seed",
    type=int,
    multiple=True,
    default=(1,),
    help="seed of the placement; a bitstream is made for each (default: 1)",
)
def build_command(board: str, revision: str | None, seed: tuple[int, ...]) -> None:
    """Makes bitstreams from the RTL; exit code 1 if a clock is too slow or the design too large."""
    from keisoku.ground.fpga.board import board as find_board
    from keisoku.ground.fpga.build import build, described

    made = build(find_board(board, revision), seed)
    for one in made:
        click.echo(described(one))
    faults = [f"seed {one.seed}: {fault}" for one in made for fault in one.faults()]
    for fault in faults:
        click.echo(f"keisoku: {fault}", err=True)
    sys.exit(1 if faults else 0)


@command.command("flash")
@_BOARD
@_REVISION
@click.option(
    "--bitstream",
    type=click.Path(path_type=Path),
    help="bitstream to load (default: that of 'keisoku fpga build', seed 1)",
)
@click.option("--cable", help="cable type of openFPGALoader, such as ft232 or ch347_jtag")
@click.option("--permanent", is_flag=True, help="load into the flash memory, so that it is also used after power-up")
def flash_command(board: str, revision: str | None, bitstream: Path | None, cable: str | None, permanent: bool) -> None:
    """Loads a bitstream by JTAG."""
    from keisoku.ground.fpga.board import FPGA
    from keisoku.ground.fpga.board import board as find_board
    from keisoku.ground.fpga.flash import flash

    target = find_board(board, revision)
    made = FPGA / "build" / target.full_name / "seed-1" / "top.bit"
    flash(target, bitstream or made, cable, permanent)


@command.command("verify")
@click.argument("instrument", metavar="INSTRUMENT")
@click.option("--duration", metavar="TIME", help="length of each trial (default: 1s, for the model 1ms)")
@click.option("--size", "sizes", metavar="BYTES", default="64,1518", show_default=True, help="frame sizes with FCS")
def verify_command(instrument: str, duration: str | None, sizes: str) -> None:
    """Verifies INSTRUMENT (fpga:/dev/ttyUSB0, fpga:HOST:PORT, fpga:sim) with one cable between its two ports.

    Both ports send at line rate: every frame must arrive, and all latencies must be within two steps of the clock. If
    not, the exit code is 1.
    """
    from keisoku.subjects.device.engine.fpga.verify import verify
    from keisoku.units import duration_ns, frame_sizes

    address = FpgaAddress.parse(f"{instrument}#0", "instrument")
    default_ns = 1_000_000 if address.simulated else 1_000_000_000
    span_ns = default_ns if duration is None else round(duration_ns("--duration", duration))
    failed = 0
    for check in verify(address.target, address.simulated, frame_sizes("--size", sizes), span_ns):
        click.echo(f"{'good' if check.good else 'BAD '}  {check.name}: {check.found}")
        failed += not check.good
    sys.exit(1 if failed else 0)


@command.command("sim")
@click.option("--dut", metavar="NAME", help="simulated device between the ports: gs908e, FILE.toml (default: a cable)")
@click.option("--listen", metavar="HOST:PORT", help="serve on TCP (default: 127.0.0.1:0, a free port)")
@click.option("--pty", is_flag=True, help="serve on a pseudo-terminal, which looks like a serial port")
@click.option("--seed", type=int, default=1, show_default=True, help="seed of the device's random choices")
@click.option(
    "--reference", "reference_ppm", type=float, help="connect PPS and 10 MHz that are so many ppm faster than its clock"
)
def sim_command(dut: str | None, listen: str | None, pty: bool, seed: int, reference_ppm: float | None) -> None:
    """Serves the Verilated model of the instrument until interrupted; for other programs it is like a board.

    \b
    keisoku fpga sim --listen 127.0.0.1:5000 --dut gs908e
    keisoku calibrate --tx fpga:127.0.0.1:5000#0 --rx fpga:127.0.0.1:5000#1 …
    """
    from keisoku.ground.fpga.cable import bare_cable, model_of
    from keisoku.ground.fpga.sim_server import SimServer
    from keisoku.ground.simulated_device.device import find_device

    if pty and listen is not None:
        raise PlanError("--pty", "is given beside --listen", "give either")
    host, _, number = (listen or "127.0.0.1:0").rpartition(":")
    if not pty and not (host and number.isdecimal()):
        raise PlanError("--listen", f"{listen!r} is no address", "write 127.0.0.1:5000")
    device = bare_cable(0.0) if dut is None else find_device(without_scheme(dut))
    with model_of(device, seed, reference_ppm) as model, SimServer(model) as server:
        place = server.open_terminal() if pty else ":".join(map(str, server.listen(host, int(number))))
        click.echo(f"fpga:{place}#0 and #1: {device.title}; interrupt to end")
        server.wait()

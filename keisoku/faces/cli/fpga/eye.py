"""`keisoku fpga eye`: sets the delays of an instrument's pins with a loop cable and shows the eyes. Measures no DUT."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from keisoku.subjects.device.engine.fpga.port import FpgaAddress

_MODEL_FRAMES, _BOARD_FRAMES = 20, 1000
_MODEL_STEP, _BOARD_STEP = 4, 2


@click.command("eye")
@click.argument("instrument", metavar="INSTRUMENT")
@click.option(
    "--frames", type=click.IntRange(10), help="number of frames at each setting (default: 1000, for the model 20)"
)
@click.option("--step", type=click.IntRange(1, 16), help="step between settings in taps (default: 2, for the model 4)")
@click.option("--json", "as_json", is_flag=True, help="print all settings and counts as JSON on standard output")
def command(instrument: str, frames: int | None, step: int | None, as_json: bool) -> None:
    """Sweeps the delays of INSTRUMENT's RGMII pins, with one cable between its ports, and sets them to the middles.

    Each setting is tried with frames of 512 byte, and damaged or lost frames are counted. The widest range without such
    frames is the eye. The instrument keeps the chosen delays until its bitstream is loaded again; if no eye is found,
    the delays are not changed.
    """
    from keisoku.ground.fpga.cable import bare_cable
    from keisoku.ground.fpga.eye import TAP_PS, Direction, Eye, align
    from keisoku.ground.fpga.instrument import Instrument
    from keisoku.ground.fpga.pin_loop import FRAME_BYTES, PinLoop

    address = FpgaAddress.parse(f"{instrument}#0", "instrument")
    tried = frames or (_MODEL_FRAMES if address.simulated else _BOARD_FRAMES)
    taps = step or (_MODEL_STEP if address.simulated else _BOARD_STEP)
    opened = Instrument.simulated_with(bare_cable(0.0), 1) if address.simulated else Instrument.connect(address.target)
    try:
        loop = PinLoop(opened)
        with loop.taken_back():
            found = align(loop, tried, taps)
        delays = [opened.delays(port) for port in (0, 1)]
    finally:
        opened.close()
    if as_json:
        click.echo(json.dumps({"frames": tried, "eyes": [asdict(one) for one in found]}, indent=1))
        return
    click.echo(f"{tried} frames of {FRAME_BYTES} byte at each setting; {_LEGEND}")

    def shown(name: str, eye: Eye) -> None:
        click.echo(f"  {name:<16}{eye.settings[0]:>5} {drawn(eye.damaged, tried)} {eye.settings[-1]}")
        open_taps = f"open from {eye.first} to {eye.last} taps ({eye.width_ps} ps, ± 30 % as a tap is)"
        click.echo(f"  {'':<16}{open_taps}, set to {eye.chosen} ({eye.chosen * TAP_PS} ps)")

    def direction(one: Direction) -> None:
        click.echo(f"port {one.sender} to port {one.receiver}")
        shown("transmit skew", one.transmit)
        shown("receive delay", one.receive)

    for one in found:
        direction(one)
    for port, set_ in enumerate(delays):
        click.echo(f"port {port} is set to rx {set_.receive}, tx {set_.transmit}, tx_clock {set_.transmit_clock}")


_LEGEND = "· none damaged, 1 to 9 ninths of them, █ all"


def drawn(damaged: tuple[int, ...], frames: int) -> str:
    """A character for each setting: '·' if no frame of `frames` was damaged, '█' if all were, else ninths of them."""
    return "".join("·" if not count else "█" if count >= frames else str(-(-9 * count // frames)) for count in damaged)

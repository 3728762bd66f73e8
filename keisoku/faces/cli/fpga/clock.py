"""`keisoku fpga clock`: compares an instrument's counter with a reference, by timestamped marks in its registers."""

from __future__ import annotations

import json

import click

from keisoku.errors import PlanError
from keisoku.faces.cli.columns import columns
from keisoku.subjects.device.engine.fpga.port import FpgaAddress

_MODEL_SPAN_NS, _PPS_SPAN_NS, _TEN_MHZ_SPAN_NS = 2_000_000, 100_000_000_000, 10_000_000_000
_MARKS = 100


@click.command("clock")
@click.argument("instrument", metavar="INSTRUMENT")
@click.option(
    "--reference", type=click.Choice(["pps", "10mhz"]), help="reference input (default: pps; for the model 10mhz)"
)
@click.option("--period", metavar="TIME", help="period of the PPS pulses (default: 1s)")
@click.option(
    "--duration",
    metavar="TIME",
    help="length of the measurement (default: 100s for PPS, 10s for 10 MHz, 2ms for the model)",
)
@click.option(
    "--reference-uncertainty", "own_ppm", type=float, help="standard uncertainty (k = 1) of the reference itself in ppm"
)
@click.option(
    "--offset", "offset_ppm", type=float, help="for fpga:sim: how much faster its reference is than the counter"
)
@click.option("--json", "as_json", is_flag=True, help="print the result as JSON on standard output")
def command(
    instrument: str,
    reference: str | None,
    period: str | None,
    duration: str | None,
    own_ppm: float | None,
    offset_ppm: float | None,
    as_json: bool,
) -> None:
    """Measures the frequency of INSTRUMENT's counter against the PPS or the 10 MHz at its reference input.

    All latencies and rates are based on this counter. Its frequency is the slope of the times of marks.
    """
    from keisoku.ground.fpga.cable import bare_cable
    from keisoku.ground.fpga.instrument import Instrument
    from keisoku.ground.fpga.reference import PERIODS_NS, TICK_NS, ReferenceSignal, marks
    from keisoku.ground.fpga.reference_clock import MARKS_MIN, reference_clock
    from keisoku.ground.report import digits
    from keisoku.units import duration_ns

    address = FpgaAddress.parse(f"{instrument}#0", "instrument")
    simulated = address.simulated
    kind: ReferenceSignal = "pps" if reference == "pps" or (reference is None and not simulated) else "10mhz"
    if period is not None and kind == "10mhz":
        raise PlanError("--period", "is only for PPS", "give --reference pps")
    if offset_ppm is not None and not simulated:
        raise PlanError("--offset", "can only be set for the model", "leave it out, or use fpga:sim")
    if kind == "pps" and period is None and simulated:
        raise PlanError(
            "--period", "is too long: the model needs a minute for a second", "give for example --period 50us"
        )
    period_ns = PERIODS_NS[kind] if period is None else float(duration_ns("--period", period))
    default_ns = _MODEL_SPAN_NS if simulated else _PPS_SPAN_NS if kind == "pps" else _TEN_MHZ_SPAN_NS
    span_ns = default_ns if duration is None else duration_ns("--duration", duration)
    edges = max(1, round(span_ns / _MARKS / period_ns))
    count = round(span_ns / (edges * period_ns)) + 1
    if count < MARKS_MIN:
        raise PlanError("--duration", f"{count} marks are too few", f"use at least {MARKS_MIN - 1} periods")
    if simulated:
        opened = Instrument.simulated_with(bare_cable(0.0), 1, offset_ppm or 0.0, period_ns if kind == "pps" else 1e9)
    else:
        opened = Instrument.connect(address.target)
    try:
        series = list(marks(opened, kind, period_ns, edges, count))
    finally:
        opened.close()
    numbers, times_ns = [one.number for one in series], [one.time_ns for one in series]
    found = reference_clock(numbers, times_ns, edges * period_ns, TICK_NS, own_ppm or 0.0)
    if as_json:
        values = {**vars(found), "frequency": found.frequency.model_dump(mode="json"), "reference": kind}
        click.echo(json.dumps(values, indent=1))
        return
    own = "with" if own_ppm else "without"
    click.echo(f"{kind} at {opened.name}: {found.marks} marks over {found.span_s:g} s")
    click.echo(f"counter against the reference: {digits.text(found.frequency)} (k = 2, {own} the reference's own)")
    click.echo(f"largest distance of a mark from the line: {found.largest_residual_ns:.1f} ns")
    rows = [(one.source, one.kind, f"{one.uncertainty:.2g}") for one in found.frequency.budget]
    click.echo(columns(("uncertainty of", "type", "ppm, k = 1"), rows))

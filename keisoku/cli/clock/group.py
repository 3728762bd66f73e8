"""`keisoku clock`: what reading time costs here, and how right this machine's clock is (E2)."""

from __future__ import annotations

from pathlib import Path
from time import CLOCK_MONOTONIC_RAW

import click

from keisoku import _core
from keisoku.cli.clock.analyse import analyse
from keisoku.cli.clock.stability import stability
from keisoku.cli.observation import new_directory, publish
from keisoku.cli.options import seconds
from keisoku.clock import interval_clock, oscillator
from keisoku.clock.calibration import analysis as calibration
from keisoku.clock.calibration import table as readings_table
from keisoku.clock.calibration.plot import residual_plot
from keisoku.clock.cost import analysis as costs
from keisoku.clock.cost.plot import cost_plot
from keisoku.clock.host_clocks import host_clocks
from keisoku.clock.reference.kinds import flags
from keisoku.clock.reference.local import brackets
from keisoku.clock.reference.opening import choose, counter, open_reference
from keisoku.errors import PlanError


@click.group("clock")
def command() -> None:
    """Measures this machine's time sources: cost, resolution, rate and stability."""


def _output(function: click.decorators.FC) -> click.decorators.FC:
    function = click.option("--json", "as_json", is_flag=True, help="print the result as JSON on standard output")(
        function
    )
    return click.option("--out", type=click.Path(path_type=Path), help="run directory (default: runs/DATE-KIND)")(
        function
    )


@command.command("cost")
@click.option("--reads", type=int, default=100_000, show_default=True, help="single reads of each source")
@click.option("--stall-scan", default="1s", show_default=True, metavar="TIME", help="how long to look for stalls")
@click.option("--rounds", type=int, default=20_000, show_default=True, help="rounds of ping-pong between two cores")
@_output
def cost(reads: int, stall_scan: str, rounds: int, out: Path | None, as_json: bool) -> None:
    """Cost, resolution and monotonicity of every time source, bounds between cores, and stalls."""
    stall_s = seconds("--stall-scan", stall_scan) or 0.0
    if not 100 <= reads <= 10_000_000:
        raise PlanError("--reads", f"{reads} reads of each source", "choose from 100 to 10 million")
    if not 1 <= rounds <= 10_000_000:
        raise PlanError("--rounds", f"{rounds} rounds", "choose from 1 to 10 million")
    if stall_s > 3600:
        raise PlanError("--stall-scan", f"{stall_scan} is too long", "choose an hour at most")
    settings = {"reads": reads, "rounds": rounds, "stall_scan_s": stall_s}
    directory = new_directory(out, costs.KIND, settings, {})
    text = _core.clock_read_costs(reads, rounds, stall_s)
    directory.write_text("record.json", text + "\n")
    record = costs.CostRecord.model_validate_json(text)
    publish(costs.observation(record), directory, [cost_plot(record)], as_json)


@command.command("calibrate")
@click.option(
    "--reference",
    default="auto",
    show_default=True,
    metavar="KIND",
    help="phc:N, pps:N, ptp:HOST, ntp:HOST, http:URL, realtime, monotonic, raw",
)
@click.option("--duration", default="1s", show_default=True, metavar="TIME", help="how long to compare")
@click.option("--tries", type=int, default=16, show_default=True, help="reads of which the narrowest is kept")
@click.option(
    "--pause",
    default="2s",
    show_default=True,
    metavar="TIME",
    help="between two requests to a PTP master or an NTP server",
)
@_output
def calibrate(reference: str, duration: str, tries: int, pause: str, out: Path | None, as_json: bool) -> None:
    """The counter's frequency against a real reference, kept for the error budgets of later runs.

    \b
    keisoku clock calibrate                            # hardware clock or pulse, if there is one
    keisoku clock calibrate --reference ptp:HOST --duration 10min --pause 125ms
    keisoku clock calibrate --reference ptp:HOST,domain=44
    keisoku clock calibrate --reference ntp:HOST --duration 10min
    keisoku clock calibrate --reference raw            # circular where the kernel's clock is the counter: said so
    """
    duration_s, pause_s = seconds("--duration", duration) or 0.0, seconds("--pause", pause) or 0.0
    if not 1 <= tries <= 10_000:
        raise PlanError("--tries", f"{tries} reads for each reading", "choose from 1 to 10000")
    if not pause_s > 0:
        raise PlanError("--pause", "no pause at all would be a flood", "wait at least a few ms, for others' servers 2s")
    host = host_clocks()
    chosen = choose(reference, host)
    name, kept_time = counter(host)
    opened = open_reference(chosen, host, pause_s, tries)
    try:
        if duration_s < max(opened.at_least_s, 0.01):
            remedy = f"compare for at least {max(opened.at_least_s, 0.01):g} s"
            raise PlanError("--duration", f"{duration} is too short for {chosen.name}", remedy)
        said = list(flags(chosen, host, kept_time))
        directory = new_directory(
            out,
            calibration.KIND,
            {"reference": chosen.name, "duration_s": duration_s, "tries": tries, "pause_s": pause_s},
            {
                "counter": name,
                "reference": opened.described,
                "reference_is_real": opened.is_real,
                "reference_facts": opened.facts,
                "said": [flag.model_dump(mode="json") for flag in said],
            },
        )
        measured = calibration.measure(opened, duration_s, host_clocks, lambda: brackets(CLOCK_MONOTONIC_RAW, 8, 0.0))
    finally:
        opened.close()
    readings_table.keep(directory, measured)
    found = calibration.observation(measured, name, opened.described, said, real=opened.is_real)
    frequency = calibration.best_frequency(measured)
    if opened.is_real and not oscillator.is_worth_keeping(frequency):
        click.echo("calibration not kept: no better than the oscillator's own ± 100 ppm; compare for longer", err=True)
    elif opened.is_real and not any(flag.name in calibration.SPOILING for flag in found.flags):
        made = oscillator.made(frequency, chosen.name, interval_clock.oscillator_valid_for(name))
        click.echo(f"calibration kept: {oscillator.keep(interval_clock.oscillator_folder(), made)}", err=True)
    fit = calibration.residuals(measured)
    publish(found, directory, [residual_plot(fit)] if fit is not None else [], as_json)


command.add_command(stability)
command.add_command(analyse)

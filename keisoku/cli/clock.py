"""`keisoku clock`: what reading time costs here, and how right this machine's clock is (E2)."""

from __future__ import annotations

from pathlib import Path

import click

from keisoku import _core
from keisoku.cli.observation import new_directory, publish
from keisoku.cli.options import seconds
from keisoku.clock import cost as costs
from keisoku.errors import PlanError
from keisoku.report.cost_plot import cost_plot


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

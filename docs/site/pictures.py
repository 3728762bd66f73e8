"""Pictures of results for the site: plots of simulated runs, which are measured while the site is built.

None is kept in git, and each stands above the command that makes it.
"""

from __future__ import annotations

import html
import shlex
import tempfile
from contextlib import chdir
from functools import cache
from pathlib import Path

from click.testing import CliRunner

import keisoku as ks
from keisoku.faces.cli.main import keisoku as group
from keisoku.ground.report.svg import WIDTH, svg
from keisoku.running.measurement.carry_out import findings_of
from keisoku.running.measurement.table import of_run

SLOW = "--dut sim:examples/devices/slow-router.toml"
COMMANDS = {
    "throughput": (f"throughput {SLOW} --profile quick", 0),
    "latency": (f"latency {SLOW} --rate 50% --size 64,512,1518 --profile quick", 1),
    "loss": (f"loss {SLOW} --size 64,512,1518 --profile quick", 0),
    "mlr": (f"mlr {SLOW} --size 64,512,1518 --profile quick", 0),
    "sweep": ("sweep --dut sim:gs908e", 0),
    "microburst": ("microburst --dut sim:gs908e --ports 1,2,3 --size 64,1518 --outputs last --profile quick", 0),
    "buffer-over-time": ("buffer-over-time --dut sim:catalyst3750g --size 1998", 0),
    "port-map": ("port-map --dut sim:lsw4-gt-8ep --ports 1,2,3,5,6,7 --profile quick", 0),
}
"""By the name of a measurement: what is typed to get its picture, and which of the report's plots that is."""


@cache
def picture(measurement: str, width_px: int = WIDTH) -> str:
    """HTML of a plot of a measurement, and of the command that makes it; empty for one without a picture.

    Raises RuntimeError if the command fails.
    """
    if measurement not in COMMANDS:
        return ""
    command, number = COMMANDS[measurement]
    with tempfile.TemporaryDirectory() as folder, chdir(Path(__file__).parents[2]):
        done = CliRunner().invoke(group, [*shlex.split(command), "--out", f"{folder}/run"])
        if done.exit_code:
            raise RuntimeError(f"keisoku {command}: {done.output}") from done.exception
        directory = ks.load(f"{folder}/run").outcome.directory
        part = of_run(directory).part_of([(directory, findings_of(directory))])
        plot = [plot for section in part.sections for plot in section.plots][number]
        drawn = svg(plot, width_px).replace("\n", " ")
    said = f"{html.escape(plot.caption)}<br><code>keisoku {html.escape(command)}</code>"
    return f"<figure>\n{drawn}\n<figcaption>{said}</figcaption>\n</figure>"

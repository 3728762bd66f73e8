"""`keisoku calibrate`: the tester on a bare cable."""

from __future__ import annotations

import sys
from typing import Any

import click

from keisoku.cli.measure import measure
from keisoku.cli.options import measuring, plan_of, seconds


@click.command("calibrate")
@click.option("--trials", type=int, help="repetitions of each size and load (default 5)")
@measuring
def command(trials: int | None, **given: Any) -> None:
    """What the tester itself adds: measured on a bare cable, kept, subtracted from later results.

    Without a device it calibrates the lab's ports. For real ports connect them by a cable:

    \b
    keisoku calibrate
    keisoku calibrate --tx xdp:eth1 --rx xdp:eth2
    """
    if given["dut"] is None and given["tx"] is None:
        given["dut"] = "lab:cable"
    settings = {
        "trial_s": seconds("--duration", given["duration"]),
        "trials": trials,
    }
    code, _ = measure(plan_of("calibrate", given, settings), given["out"], given["as_json"])
    sys.exit(code)

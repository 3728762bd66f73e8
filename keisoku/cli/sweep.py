"""`keisoku sweep`: E1's size sweep."""

from __future__ import annotations

import sys
from typing import Any

import click

from keisoku.cli.measure import measure
from keisoku.cli.options import fps, measuring, plan_of, seconds

DEFAULT_SIZES = "64-16384:510"
"""The sizes that E1 covers; a device in the lab or on a NIC is bounded by the MTU."""


@click.command("sweep")
@click.option("--samples", type=int, help="latency samples a size (default 10)")
@click.option("--rate", metavar="RATE", help="load for every size (default: the smallest gap)")
@measuring
def command(samples: int | None, rate: str | None, **given: Any) -> None:
    """Latency against frame size at the smallest gap: line, standard errors, largest frame.

    \b
    keisoku sweep --dut sim:gs908e
    """
    if given["size"] is None:
        given["size"] = DEFAULT_SIZES if (given["dut"] or "").startswith("sim:") else "64-1518:128"
    settings = {
        "sample_s": seconds("--duration", given["duration"]),
        "samples": samples,
        "rate_fps": fps("--rate", rate),
    }
    code, _ = measure(plan_of("sweep", given, settings), given["out"], given["as_json"])
    sys.exit(code)

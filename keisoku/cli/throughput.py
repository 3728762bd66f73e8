"""`keisoku throughput`: RFC 2544 §26.1."""

from __future__ import annotations

import sys
from typing import Any

import click

from keisoku.cli.measure import measure
from keisoku.cli.options import fps, measuring, plan_of, seconds


@click.command("throughput")
@click.option("--search", metavar="TIME", help="length of the trials while searching (default: as --duration)")
@click.option("--resolution", type=float, metavar="PERCENT", help="end of the search (default 0.1)")
@click.option("--maximum", metavar="RATE", help="search below this rate only")
@measuring
def command(search: str | None, resolution: float | None, maximum: str | None, **given: Any) -> None:
    """The highest load at which the device forwards every frame (RFC 2544 §26.1).

    \b
    keisoku throughput --dut lab:bridge --size 64,1518 --duration 2s --waits 0.1s
    keisoku throughput --tx xdp:eth1 --rx xdp:eth2
    """
    settings = {
        "trial_s": seconds("--duration", given["duration"]),
        "search_s": seconds("--search", search),
        "resolution_percent": resolution,
        "maximum_fps": fps("--maximum", maximum),
    }
    code, _ = measure(plan_of("throughput", given, settings), given["out"], given["as_json"])
    sys.exit(code)

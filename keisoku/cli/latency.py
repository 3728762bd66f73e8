"""`keisoku latency`: RFC 2544 §26.2, and every frame."""

from __future__ import annotations

import sys
from typing import Any

import click

from keisoku.cli.measure import measure
from keisoku.cli.options import fps, measuring, plan_of, seconds


@click.command("latency")
@click.option("--rate", metavar="RATE", help="load to measure at (default: the throughput, found first)")
@click.option("--trials", type=int, help="repetitions (default 20)")
@measuring
def command(rate: str | None, trials: int | None, **given: Any) -> None:
    """Latency of every frame, and of one tagged frame a trial (RFC 2544 §26.2).

    \b
    keisoku latency --dut lab:router --size 64 --rate 50kpps --trials 3 --duration 2s --waits 0.1s
    """
    settings = {
        "trial_s": (duration := seconds("--duration", given["duration"])),
        "tag_after_s": None if duration is None else min(60.0, duration / 2),
        "rate_fps": fps("--rate", rate),
        "trials": trials,
    }
    code, _ = measure(plan_of("latency", given, settings), given["out"], given["as_json"])
    sys.exit(code)

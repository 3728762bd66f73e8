"""`keisoku loss`: RFC 2544 §26.3."""

from __future__ import annotations

import sys
from typing import Any

import click

from keisoku.cli.measure import measure
from keisoku.cli.options import fps, measuring, plan_of, seconds


@click.command("loss")
@click.option("--step", type=float, metavar="PERCENT", help="step between loads (default and at most 10)")
@click.option("--maximum", metavar="RATE", help="what 100 % means (default: the maximum of the link)")
@measuring
def command(step: float | None, maximum: str | None, **given: Any) -> None:
    """Frame loss at 100 %, 90 %, … of the maximum load (RFC 2544 §26.3)."""
    settings = {
        "trial_s": seconds("--duration", given["duration"]),
        "step_percent": step,
        "maximum_fps": fps("--maximum", maximum),
    }
    code, _ = measure(plan_of("loss", given, settings), given["out"], given["as_json"])
    sys.exit(code)

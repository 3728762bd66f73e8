"""`keisoku clock`: the group of commands about this machine's time sources. It holds no command itself."""

from __future__ import annotations

import click

from keisoku.faces.cli.lazy_group import LazyGroup


@click.group(
    "clock",
    cls=LazyGroup,
    measurements="clock",
    sentences={
        "cost": "Measures cost, resolution and monotonicity of every time source of this machine.",
        "calibrate": "Measures the frequency of this machine's counter, and keeps it for the error budgets of later"
        " runs.",
        "stability": "Logs a clock against a reference, and computes ADEV, MDEV, TDEV, HDEV, MTIE and drift from the"
        " log.",
        "phase": "Computes the stability of a clock from FILE, a log of its phase by another program.",
    },
    places={},
)
def command() -> None:
    """Measures this machine's time sources: cost, resolution, rate and stability."""

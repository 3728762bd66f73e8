"""`keisoku clock`: what reading time costs here, and how right this machine's clock is (E2)."""

from __future__ import annotations

import click


@click.group("clock")
def command() -> None:
    """Measures this machine's time sources: cost, resolution, rate and stability."""

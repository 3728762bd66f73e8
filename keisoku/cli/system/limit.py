"""`keisoku app limit`: the limit of a port that is best for a whole system, or the curve over all limits."""

from __future__ import annotations

from typing import Any

import click

from keisoku.cli.observation import new_directory
from keisoku.cli.system.analyse import ANALYSES
from keisoku.cli.system.options import settings_of, system_options
from keisoku.system.interval_log import IntervalLog
from keisoku.system.opening import open_system
from keisoku.system.search.run import KIND, carry_out
from keisoku.system.settings import LimitSettings


@click.command("limit")
@system_options
@click.option("--budget", type=int, default=24, show_default=True, help="evaluations to search with, at most")
@click.option("--blocks", type=int, default=5, show_default=True, help="of four evaluations each, to confirm")
@click.option("--sweep", type=int, default=0, metavar="LIMITS", help="evaluate so many limits instead, and none")
@click.option("--repetitions", type=int, default=3, show_default=True, help="of each limit of a sweep")
def command(budget: int, blocks: int, sweep: int, repetitions: int, **given: Any) -> None:
    """Finds the limit of a port that is best for the whole system, by changing and observing only the network.

    \b
    keisoku app limit --system sim:e4 --objective sum_requests
    keisoku app limit --system sim:e4 --objective sum_requests --sweep 33 --floor 100M

    A limit is advised only if it surely gains something over none. No limit is left when the command ends.
    """
    with open_system(given["name"], given["seed"]) as system:
        own = {"budget": budget, "blocks": blocks, "sweep": sweep, "repetitions": repetitions}
        settings = settings_of(LimitSettings, system, given, **own)
        directory = new_directory(given["out"], KIND, settings.model_dump(mode="json"), system.facts())
        with IntervalLog(directory) as log:
            try:
                carry_out(system, settings, log, lambda text: click.echo(text, err=True))
            except KeyboardInterrupt:
                if not log.intervals:
                    raise
                click.echo("interrupted: what was measured until now follows", err=True)
    ANALYSES.run(directory, given["as_json"])

"""`keisoku app govern`: finds the best limit of a port, holds it, and looks again when the load has changed."""

from __future__ import annotations

from typing import Any

import click

from keisoku.cli.observation import new_directory
from keisoku.cli.options import seconds
from keisoku.cli.system.analyse import ANALYSES
from keisoku.cli.system.options import settings_of, system_options
from keisoku.system.govern.run import KIND, carry_out
from keisoku.system.interval_log import IntervalLog
from keisoku.system.opening import open_system
from keisoku.system.settings import GovernSettings


@click.command("govern")
@system_options
@click.option("--for", "for_", metavar="TIME", help="how long to govern (default: until it is interrupted)")
def command(for_: str | None, **given: Any) -> None:
    """Keeps a whole system at its best by the limit of a port, changing and observing only the network.

    \b
    keisoku app govern --system sim:e4-steps --objective sum_requests --for 30min

    It says what it does and why on standard error. No limit is left when the command ends.
    """
    with open_system(given["name"], given["seed"]) as system:
        settings = settings_of(GovernSettings, system, given, for_s=seconds("--for", for_))
        directory = new_directory(given["out"], KIND, settings.model_dump(mode="json"), system.facts())
        with IntervalLog(directory) as log:
            try:
                carry_out(system, settings, log, lambda text: click.echo(text, err=True))
            except KeyboardInterrupt:
                if not log.intervals:
                    raise
                click.echo("interrupted: what was done until now follows", err=True)
    ANALYSES.run(directory, given["as_json"])

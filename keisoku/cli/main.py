"""The entry point: the group of subcommands, and the one place that turns errors into exit codes."""

from __future__ import annotations

import sys

import click

from keisoku import __version__
from keisoku.cli import (
    app,
    cable_series,
    capture,
    clean,
    clock,
    compare,
    devices,
    find,
    fpga,
    interruption,
    lab,
    path,
    ports,
    procedures,
    query,
    replay,
    report,
    run,
    study,
)
from keisoku.cli.measure import FAILED
from keisoku.errors import KeisokuError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def keisoku() -> None:
    """Measures what a network device does to every frame, and states how sure it is.

    Exit codes: 0 measured and every criterion met, 1 a criterion missed, 2 could not measure.
    """


for command in procedures.commands():
    keisoku.add_command(command)
for module in (
    run,
    report,
    compare,
    study,
    cable_series,
    clock,
    query,
    capture,
    find,
    replay,
    fpga,
    lab,
    path,
    app,
    devices,
    ports,
    clean,
):
    keisoku.add_command(module.command)


def main() -> None:
    """Runs the command; every error a user can cause or meet is one sentence and exit code 2."""
    interruption.install()  # a terminated run cleans up like an interrupted one
    try:
        keisoku(standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(FAILED)
    except click.ClickException as error:
        click.echo(f"keisoku: {error.format_message()}; see 'keisoku --help'", err=True)
        sys.exit(FAILED)
    except KeisokuError as error:
        click.echo(f"keisoku: {error}", err=True)
        sys.exit(FAILED)
    except (KeyboardInterrupt, click.Abort):
        click.echo("keisoku: interrupted", err=True)
        sys.exit(FAILED)

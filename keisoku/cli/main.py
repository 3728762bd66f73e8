"""The entry point: the group of subcommands, and the only place that turns errors into exit codes."""

from __future__ import annotations

import sys

import click

from keisoku import __version__
from keisoku.cli import interruption
from keisoku.cli.exit_code import FAILED
from keisoku.cli.lazy_group import LazyGroup
from keisoku.cli.renamed import GO_ON, RENAMED
from keisoku.errors import KeisokuError

GROUPS = {
    "Start here": ("throughput", "latency", "loss", "run", "ports", "devices", "lab", "clean"),
    "RFC 2544 and its successors": (
        "trial",
        "back-to-back",
        "recovery",
        "reset",
        "delay",
        "delay-variation",
        "reordering",
        "mlr",
        "critical-load",
        "sweep",
        "buffer-over-time",
        "clock-mismatch",
        "calibrate",
        "cable-series",
    ),
    "Switches": (
        "forwarding",
        "congestion",
        "forward-pressure",
        "address-caching",
        "address-learning",
        "errored-frames",
        "broadcast",
        "line-rate",
        "buffering",
        "microburst",
        "head-of-line",
        "incast",
        "port-map",
    ),
    "Paths and streams": ("path", "stream"),
    "Whole systems": ("app",),
    "Clocks": ("clock",),
    "Results": ("report", "compare", "ab", "query", "analyse", "study"),
    "Captures": ("capture", "find", "replay"),
    "FPGA instrument": ("fpga",),
    "Services": ("serve",),
}
"""Every command, in the order of the help."""

_MODULES = (
    "ab",
    "analyse",
    "app",
    "cable-series",
    "capture",
    "clean",
    "clock",
    "compare",
    "devices",
    "find",
    "fpga",
    "lab",
    "path",
    "ports",
    "query",
    "replay",
    "report",
    "run",
    "serve",
    "stream",
    "study",
)
"""Commands with a module each; all others are procedures."""
_HOMES = {
    "app": "system.group",
    "clock": "clock.group",
    "fpga": "fpga.group",
    "lab": "lab.group",
    "path": "path.group",
    "stream": "stream.group",
}
"""Modules that are not named after their command."""


_SENTENCE = 300
"""Characters of the longest first sentence: none is cut."""


class Commands(LazyGroup):
    """All commands: those with a module of their own, and one for each procedure."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, sorted."""
        from keisoku.cli import procedures

        return sorted([*super().list_commands(ctx), *procedures.names()])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Grouped, each with the first sentence of its help."""
        for title, names in GROUPS.items():
            found = [(name, command) for name in names if (command := self.get_command(ctx, name)) is not None]
            with formatter.section(title):
                formatter.write_dl([(name, command.get_short_help_str(limit=_SENTENCE)) for name, command in found])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name; None if there is none."""
        if found := super().get_command(ctx, cmd_name):
            return found
        from keisoku.cli import procedures

        return procedures.command(cmd_name)


@click.group(
    cls=Commands,
    modules={name: f"keisoku.cli.{_HOMES.get(name, name.replace('-', '_'))}" for name in _MODULES},
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__)
def keisoku() -> None:
    """Measures what a network device does to every frame, with the uncertainty of each result.

    Exit codes: 0 measured and every criterion met, 1 a criterion missed or undecided, 2 could not measure.
    """


def main() -> None:
    """Runs the command; an error is one sentence and exit code 2."""
    interruption.install()  # a terminated run cleans up like an interrupted one
    try:
        _main()
    except (KeyboardInterrupt, click.Abort):
        interruption.leave_at_once()
        click.echo("keisoku: interrupted", err=True)
        sys.exit(FAILED)


def _main() -> None:
    try:
        keisoku(standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(FAILED)
    except click.NoSuchOption as error:
        new = RENAMED.get(error.option_name)
        if error.ctx is None or not (new == GO_ON or any(new in each.opts for each in error.ctx.command.params)):
            new = None  # this command never had the old one
        said = f"{error.option_name} is called {new} now" if new else error.format_message().rstrip(".")
        click.echo(f"keisoku: {said}; see 'keisoku --help'", err=True)
        sys.exit(FAILED)
    except click.ClickException as error:
        click.echo(f"keisoku: {error.format_message().rstrip('.')}; see 'keisoku --help'", err=True)
        sys.exit(FAILED)
    except KeisokuError as error:
        click.echo(f"keisoku: {error}", err=True)
        sys.exit(FAILED)

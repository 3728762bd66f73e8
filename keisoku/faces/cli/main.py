"""The group of subcommands, and the only place that turns errors into exit codes."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from keisoku.errors import KeisokuError
from keisoku.faces.cli import encoding, interruption
from keisoku.faces.cli.exit_code import FAILED
from keisoku.faces.cli.folding import fold
from keisoku.faces.cli.lazy_group import LazyGroup, Place
from keisoku.subjects.device.table import GROUPS as PROCEDURES_IN
from keisoku.subjects.device.table import PROCEDURES, suites


def _of(group: str) -> tuple[str, ...]:
    """Commands of the procedures that stand there."""
    return tuple(name.replace("_", "-") for name in PROCEDURES_IN[group])


GROUPS = {
    "Start here": ("doctor", *_of("Start here"), "run", "campaign", "ports", "devices", "lab", "clean"),
    "RFC 2544 and its successors": (*_of("RFC 2544 and its successors"), "cable-series"),
    "Whole documents": tuple(suites()),
    "Switches": _of("Switches"),
    "NATs and firewalls": _of("NATs and firewalls"),
    "Paths and streams": ("line", "path", "stream", "outage"),
    "Whole systems": ("system",),
    "Clocks": ("clock",),
    "Results": ("runs", "report", "compare", "ab", "bisect", "trend", "export", "query", "why", "analyse", "study"),
    "Captures": ("capture", "find", "replay"),
    "FPGA instrument": ("fpga",),
    "Services": ("serve", "port", "vlab", "completion"),
}
"""Every command, in the order of the help."""

EXTRAS = {
    **dict.fromkeys(("google", "grpc", "prometheus_client", "snappi", "starlette", "uvicorn"), "serve"),
    "distributed": "cluster",
    "duckdb": "query",
    "pyarrow": "rows",
    "pygnmi": "gnmi",
    "scipy": "fit",
}
"""Packages that only some commands need, with the extra of pyproject.toml that installs them."""
DEBIAN = Path("/usr/lib/keisoku")
"""Where `packaging/deb.sh` puts them."""

_PLACES = {
    "ab": Place(
        "keisoku.faces.cli.ab",
        "Compares two sides of a measurement by pairs of complete runs, and says whether B is worse than A.",
    ),
    "analyse": Place(
        "keisoku.faces.cli.analyse",
        "Makes the result and the report of RUN again from its raw rows, finished or not.",
    ),
    "cable-series": Place(
        "keisoku.faces.cli.cable_series",
        "Fits a line through RUNS, which are one run of 'keisoku calibrate --length LENGTH' for each cable.",
    ),
    "bisect": Place(
        "keisoku.faces.cli.bisect",
        "Finds the commit between GOOD and BAD that changed a figure, and says how sure that is.",
    ),
    "campaign": Place(
        "keisoku.faces.cli.campaign",
        "Measures devices by plans and settings, as often as the plan says, in random order.",
    ),
    "capture": Place(
        "keisoku.faces.cli.capture",
        "Captures frames in both directions at each PORT (eth1, or d1@NAMESPACE), with nanosecond timestamps.",
    ),
    "clean": Place(
        "keisoku.faces.cli.clean",
        "Removes network namespaces, links and programs that killed runs left, and restores interfaces that they had"
        " changed.",
    ),
    "clock": Place(
        "keisoku.faces.cli.clock.group",
        "Measures this machine's time sources: cost, resolution, rate and stability.",
    ),
    "compare": Place(
        "keisoku.faces.cli.compare",
        "Compares RUNS of the same measurement; or one run with an earlier one.",
    ),
    "completion": Place(
        "keisoku.faces.cli.completion",
        "Prints the script with which SHELL completes commands, options, devices, ports and studies of keisoku.",
    ),
    "devices": Place(
        "keisoku.faces.cli.devices",
        "Lists the simulated devices; use one as --dut sim:NAME.",
    ),
    "doctor": Place(
        "keisoku.faces.cli.doctor",
        "Says what this machine can measure, what would distort a measurement, and how to fix that.",
    ),
    "export": Place(
        "keisoku.faces.cli.export",
        "Writes RUN as a test report, a summary, annotations, metrics or histograms, for other programs.",
    ),
    "find": Place(
        "keisoku.faces.cli.find",
        "Shows where and when frames of a stream were seen in a capture FILE (pcapng or pcap).",
    ),
    "fpga": Place(
        "keisoku.faces.cli.fpga.group",
        "The FPGA instrument: make a bitstream, load it, verify it with a cable, or run its RTL without a board.",
    ),
    "lab": Place(
        "keisoku.faces.cli.lab.group",
        "Builds DEVICE, prints its ports, and keeps it until Ctrl-C; everything is removed then.",
    ),
    "line": Place(
        "keisoku.faces.cli.line.group",
        "Measures what the line to a host does to people: rates, loss, queues, NAT and latency under load.",
    ),
    "outage": Place(
        "keisoku.faces.cli.outage.group",
        "Measures for how long traffic is gone: each interruption of each flow, in each direction, with both its ends.",
    ),
    "path": Place(
        "keisoku.faces.cli.path.group",
        "Measures bandwidth and delay of an IP path and of its hops.",
    ),
    "port": Place(
        "keisoku.faces.cli.port.group",
        "Lets a tester on another host use this host's ports.",
    ),
    "ports": Place(
        "keisoku.faces.cli.ports",
        "Lists interfaces: use one as --tx xdp:NAME or --rx packet:NAME.",
    ),
    "query": Place(
        "keisoku.faces.cli.query",
        "Answers an SQL query about RUN: its table `figures`, and its raw rows.",
    ),
    "replay": Place(
        "keisoku.faces.cli.replay",
        "Sends the frames of FILE (pcapng or pcap) unchanged and with their own timing.",
    ),
    "report": Place(
        "keisoku.faces.cli.report",
        "Makes one HTML report of all RUNS, and the result and CSV files of each run.",
    ),
    "run": Place(
        "keisoku.faces.cli.run",
        "Carries out the plan PLAN.toml, or finishes an interrupted run.",
    ),
    "runs": Place(
        "keisoku.faces.cli.runs.group",
        "Lists, shows, compares, imports and removes the kept runs of a laboratory.",
    ),
    "serve": Place(
        "keisoku.faces.cli.serve",
        "Serve the Open Traffic Generator API, for snappi, gosnappi and otgen.",
    ),
    "stream": Place(
        "keisoku.faces.cli.stream.group",
        "Measures streams, IP capacity, transactions and file transfers between two ends, and says what limits them.",
    ),
    "study": Place(
        "keisoku.faces.cli.study",
        "Repeats a published experiment and prints its figures beside the published ones.",
    ),
    "system": Place(
        "keisoku.faces.cli.system.group",
        "Measures whole systems of servers and clients, and finds the best rate limit in the network for them.",
    ),
    "trend": Place(
        "keisoku.faces.cli.trend",
        "Shows how figures changed over RUNS of the same measurement of the same device, in the order of their start.",
    ),
    "vlab": Place(
        "keisoku.faces.cli.vlab.group",
        "Prepares laboratories in virtual time: real Linux kernels, whose clock moves on only when everything waits.",
    ),
    "why": Place(
        "keisoku.faces.cli.why",
        "Says where each lost frame of RUN was lost, and why, and where its slowest frames waited.",
    ),
}
"""Commands with a module each; all others are procedures. A test compares the sentences with the commands' own."""


_ALONE = "keisoku.alone"
"""In the context of a command without arguments: its help is one screen."""


class Commands(LazyGroup):
    """All commands: those with a module of their own, one for each procedure, and one for all of a document."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, sorted."""
        return sorted([*super().list_commands(ctx), *_procedures()])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Grouped, each with the first sentence of its help; of `keisoku` alone only the first group."""
        known = set(self.list_commands(ctx))
        groups = list(GROUPS.items())
        for title, names in groups[:1] if ctx.meta.get(_ALONE) else groups:
            found = {name: self.sentence(ctx, name) for name in names if name in known}
            self.write_commands(formatter, title, found)
        if ctx.meta.get(_ALONE):
            formatter.write(f"\nAll {len(known)} commands: keisoku --help\n")

    def sentence(self, ctx: click.Context, name: str) -> str:
        """Of a procedure as it was generated, without loading it; of a new one from its entry."""
        if name not in _procedures():
            return super().sentence(ctx, name)
        from keisoku.faces.cli.completing import first_sentences

        return first_sentences().get(name) or super().sentence(ctx, name)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name; None if there is none."""
        if cmd_name not in _procedures():
            return super().get_command(ctx, cmd_name)
        from keisoku.faces.cli import measuring

        return measuring.command(_procedures()[cmd_name])


def _procedures() -> dict[str, str]:
    """All procedures, and all of a document together, by the names of their commands."""
    return {name.replace("_", "-"): name for name in (*PROCEDURES, *suites())}


@click.group(
    cls=Commands,
    places=_PLACES,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=lambda *given: _version(*given),
    help="Show the version, the engines of this installation, the kernel and the libraries, and exit.",
)
def keisoku() -> None:
    """Measures what a network device does to every frame, with the uncertainty of each result.

    Exit codes: 0 measured and every criterion met, 1 a criterion missed or undecided, 2 could not measure.
    """


def _version(ctx: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from keisoku.faces.cli.version import version_text

        click.echo(version_text())
        ctx.exit()


def main() -> None:
    """Runs the command; an error is one sentence and exit code 2."""
    encoding.write_all()
    interruption.install()  # a terminated run cleans up like an interrupted one
    try:
        _main()
    except (KeyboardInterrupt, click.Abort):
        interruption.leave_at_once()
        _say("interrupted")
        sys.exit(FAILED)


def _main() -> None:
    try:
        keisoku(prog_name="keisoku", standalone_mode=False, obj=True)
    except click.exceptions.NoArgsIsHelpError as error:
        if error.ctx:
            error.ctx.meta[_ALONE] = True
            click.echo(error.ctx.get_help(), err=True)
        sys.exit(FAILED)
    except click.ClickException as error:
        # Click lists choices in lines of their own.
        _say(f"{' '.join(error.format_message().split()).rstrip('.')}; see '{_named(error)} --help'")
        sys.exit(FAILED)
    except KeisokuError as error:
        _say(str(error))
        sys.exit(FAILED)
    except ModuleNotFoundError as error:
        extra = EXTRAS.get((error.name or "").partition(".")[0])
        if extra is None:
            raise
        _say(f"this needs the package {error.name}; {_installing(extra)}")
        sys.exit(FAILED)


def _installing(extra: str) -> str:
    """How to install what an extra has, in words: Debian's package has its Python packages in a folder of its own."""
    if Path(__file__).is_relative_to(DEBIAN) and extra in ("fit", "query", "serve"):
        return "install the Debian package keisoku-extra, which 'make deb' makes beside that of keisoku"
    return f"pip install 'keisoku[{extra}]'"


def _named(error: click.ClickException) -> str:
    """The command that was used wrongly, as its user writes it."""
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    return ctx.command_path if ctx else "keisoku"


def _say(said: str) -> None:
    click.echo(fold(f"keisoku: {said}", sys.stderr), err=True)

"""`keisoku clock stability`: logs a clock against a reference for days, and tells its stability from the log."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import CLOCK_BOOTTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from keisoku.cli.observation import new_directory, publish
from keisoku.cli.options import seconds
from keisoku.clock.host_clocks import HostClocks, host_clocks
from keisoku.clock.reading import Reading, narrowest
from keisoku.clock.reference.kinds import KERNEL, Chosen, flags
from keisoku.clock.reference.local import CLOCKS, bracket
from keisoku.clock.reference.opening import choose, counter, open_reference
from keisoku.clock.stability.analysis import KIND
from keisoku.clock.stability.log import Logger, place
from keisoku.clock.stability.run import observed
from keisoku.errors import KeisokuError, PlanError
from keisoku.run.directory import RunDirectory
from keisoku.run.result import Flag

COUNTER = "counter"
MEASURED = {
    "realtime": CLOCK_REALTIME,
    "monotonic": CLOCK_MONOTONIC,
    "raw": CLOCK_MONOTONIC_RAW,
    "boottime": CLOCK_BOOTTIME,
}
"""Clocks that can be measured besides the counter."""
_EVERY_MIN_S = 0.001
_READINGS_MAX = 20_000_000
"""For which the analysis takes minutes and some GB."""
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@click.command("stability")
@click.option("--duration", default="1h", show_default=True, metavar="TIME", help="how long to log, in all: 10min, 3d")
@click.option("--every", default="1s", show_default=True, metavar="TIME", help="between two readings")
@click.option(
    "--clock",
    "measured",
    default=COUNTER,
    show_default=True,
    metavar="NAME",
    help="the clock to measure: \
counter, realtime, monotonic, raw, boottime",
)
@click.option(
    "--reference",
    default="auto",
    show_default=True,
    metavar="KIND",
    help="phc:N, pps:N, ptp:HOST, ntp:HOST, http:URL, realtime, monotonic, raw",
)
@click.option("--resume", is_flag=True, help="continue the log in --out; its settings but the duration are kept")
@click.option("--out", type=click.Path(path_type=Path), help="run directory (default: runs/DATE-KIND)")
@click.option("--json", "as_json", is_flag=True, help="print the result as JSON on standard output")
def stability(
    duration: str, every: str, measured: str, reference: str, resume: bool, out: Path | None, as_json: bool
) -> None:
    """ADEV, MDEV, TDEV, HDEV, MTIE and drift of a clock against a reference, from a log that survives kill -9.

    \b
    keisoku clock stability --duration 3d --every 1s --out log
    keisoku clock stability --duration 3d --out log --resume    # after an interruption
    keisoku clock analyse log                                   # what there is so far
    """
    duration_s, every_s = seconds("--duration", duration) or 0.0, seconds("--every", every) or 0.0
    host = host_clocks()
    if resume:
        directory = _resumed(out)
        measured, reference = str(directory.plan["clock"]), str(directory.plan["reference"])
        every_s = float(directory.plan["every_s"])
    _check(measured, every_s, duration_s)
    name, kept_time = counter(host)
    chosen = choose(reference, host)
    with _reading(chosen, host, every_s) as (described, read):
        if not resume:
            said = list(flags(chosen, host, kept_time)) if measured == COUNTER else _steered(measured, chosen, host)
            settings = {"clock": measured, "reference": chosen.name, "every_s": every_s}
            context = {
                "clock": name if measured == COUNTER else f"CLOCK_{measured.upper()}",
                "reference": described,
                "said": [flag.model_dump(mode="json") for flag in said],
            }
            directory = new_directory(out, KIND, settings, context)
        clock = None if measured == COUNTER else (lambda: bracket(MEASURED[measured]))
        _log(Logger(directory, read, clock, host_clocks, _boot()), every_s, duration_s)
    observation, plots = observed(directory)
    publish(observation, directory, plots, as_json)


def _check(measured: str, every_s: float, duration_s: float) -> None:
    if measured != COUNTER and measured not in MEASURED:
        raise PlanError("--clock", f"there is no clock {measured!r}", f"use {COUNTER}, {', '.join(MEASURED)}")
    if every_s < _EVERY_MIN_S:
        raise PlanError("--every", f"{every_s:g} s is too often", f"read every {_EVERY_MIN_S:g} s at most")
    if duration_s > _READINGS_MAX * every_s:
        remedy = f"read every {duration_s / _READINGS_MAX:.2g} s at most, or for a shorter time"
        raise PlanError("--every", f"{duration_s / every_s:.3g} readings are more than can be analysed at once", remedy)
    if duration_s < 8 * every_s:
        raise PlanError("--duration", f"{duration_s:g} s hold fewer than 8 readings", "log for longer")


def _resumed(out: Path | None) -> RunDirectory:
    if out is None:
        raise PlanError("--resume", "it is not said which log to continue", "give its directory with --out")
    directory = RunDirectory.open(out, KIND)
    if "every_s" not in directory.plan:
        raise PlanError("--resume", f"{out} was made from a file of phase", "give the directory of a log")
    return directory


@contextmanager
def _reading(chosen: Chosen, host: HostClocks, every_s: float) -> Iterator[tuple[str, Callable[[], Reading]]]:
    """What the reference is, and how it is read once."""
    reference = open_reference(chosen, host, every_s)
    try:
        if chosen.kind in KERNEL:
            clock = CLOCKS[chosen.kind]
            yield reference.described, lambda: bracket(clock)
        else:
            if every_s < reference.at_least_s / 2 or every_s < reference.pause_s:
                least = max(reference.at_least_s / 2, reference.pause_s)
                raise PlanError("--every", f"{chosen.name} cannot be read so often", f"read every {least:g} s at most")
            yield reference.described, lambda: narrowest(reference.read())
    finally:
        reference.close()


def _steered(measured: str, chosen: Chosen, host: HostClocks) -> list[Flag]:
    """What must be said of one of the kernel's clocks against another, whatever the kernel keeps time by."""
    if chosen.kind not in KERNEL:
        return []
    if measured == chosen.kind:
        raise PlanError("--reference", f"{measured} against itself shows nothing", "choose another reference")
    text = (
        f"both clocks are made by the kernel from one clock source ({host.clock_source}): their difference is how "
        "the kernel steers them, not how stable the source is"
    )
    return [Flag(name="one-source", text=text)]


def _log(logger: Logger, every_s: float, duration_s: float) -> None:
    start = place(logger.directory, every_s)
    with Progress(
        TextColumn("logging"),
        BarColumn(),
        TextColumn("{task.fields[logged]}"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
    ) as progress:
        task = progress.add_task("log", total=duration_s, logged="")
        try:
            for logged_s in logger.run(every_s, duration_s, start):
                progress.update(task, completed=logged_s, logged=f"{logged_s:.6g} s")
        except KeyboardInterrupt:
            logger.keep()
            path = logger.directory.path
            raise KeisokuError(
                f"interrupted: the log is kept; continue with 'keisoku clock stability --out {path} --resume', or see"
                f" what there is with 'keisoku clock analyse {path}'"
            ) from None
    if logger.failures:
        click.echo(f"the reference did not answer {logger.failures} times; those readings are missing", err=True)


def _boot() -> str:
    try:
        return _BOOT.read_text(encoding="utf-8").strip()
    except OSError:
        return "unknown"

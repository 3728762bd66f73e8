"""`keisoku ab`: two sides of any measuring command, in pairs of runs. It measures and judges nothing itself."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from keisoku.errors import PlanError
from keisoku.faces.cli.measuring import MeasuringCommand, settings_of, values_of
from keisoku.faces.cli.outcome import output_options, show
from keisoku.faces.cli.watching import watching
from keisoku.ground.entry import Measurement, Work
from keisoku.ground.run.settings import RunSettings, parsed
from keisoku.running.measurement.carry_out import carry_out
from keisoku.running.measurement.paired_settings import PairedSettings
from keisoku.running.measurement.plan_file import read
from keisoku.running.measurement.table import find

_SETTINGS = [setting for setting in settings_of(PairedSettings) if setting.name != "repeat"]
_KNOWN_AS = {name: setting.known_as for setting in _SETTINGS for name in (setting.name, setting.stem)}


def _with_settings(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(output_options()):
        command = option(command)
    for setting in reversed(_SETTINGS):
        command = setting.decorated(command)
    return command


@click.command("ab", context_settings={"ignore_unknown_options": True})
@click.argument("words", metavar="COMMAND…", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--a", "a", metavar="OPTIONS", help="options of side A alone, in quotes; after 'run' its plan file")
@click.option("--b", "b", metavar="OPTIONS", help="options of side B alone, in quotes; after 'run' its plan file")
@_with_settings
@click.pass_context
def command(
    context: click.Context,
    /,
    words: Sequence[str],
    a: str | None,
    b: str | None,
    out: Path | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Compares two sides of a measurement by pairs of complete runs, and says whether B is worse than A.

    COMMAND is any command that measures, with the options of both sides. The sides are run in turn, in a random order,
    until the answer is certain or the time is used up. The exit code is 0 if B is not worse than A by more than the
    margin, 1 if it is, and 2 if this could not be decided.

    \b
    keisoku ab throughput --size 64 --duration 1s --waits 0.1s --a '--dut lab:bridge' --b '--dut lab:router'
    keisoku ab latency --tx xdp:eth1 --rx xdp:eth2 --rate 50kpps --figure p99 --margin 5% --within 5min \\
        --before-a 'ethtool -C eth1 rx-usecs 0' --before-b 'ethtool -C eth1 rx-usecs 50'
    keisoku ab run --a old.toml --b new.toml
    keisoku ab throughput --dut lab:bridge --against runs/release --pairs 10
    """
    values = values_of(_SETTINGS, given)
    if given["against"] is not None and a is not None:
        raise PlanError("--a", "side A is the run of --against", "leave out --a")
    sides = {} if given["against"] is not None else {"a": _asked(context, words, a, "--a")}
    sides["b"] = _asked(context, words, b, "--b")
    if "a" in sides and sides["a"][0] is not sides["b"][0]:
        problem = f"it is a plan of {sides['b'][0].name}, and that of A one of {sides['a'][0].name}"
        raise PlanError("--b", problem, "give plans of the same measurement")
    values |= {side: entry.in_pairs(settings).plain() for side, (entry, settings) in sides.items()}
    values |= {"of": sides["b"][0].name, "seed": getattr(sides["b"][1], "seed", 1)}
    try:
        asked = parsed(PairedSettings, values, lambda field: _KNOWN_AS.get(field, field))
        with watching() as display:
            outcome = carry_out(Work(find("ab"), asked, out, observer=display))
    except PlanError as error:
        raise PlanError(_KNOWN_AS.get(error.field, error.field), error.problem, error.remedy) from error
    sys.exit(show(outcome, as_json))


def _asked(
    context: click.Context, words: Sequence[str], own: str | None, option: str
) -> tuple[Measurement[Any], RunSettings]:
    """What the command measures with the options of both sides and of one. Raises PlanError if it measures nothing."""
    try:
        left = [*words, *shlex.split(own or "")]
    except ValueError as error:
        raise PlanError(option, f"'{own}' cannot be read: {str(error).lower()}", "close the quotes") from error
    if left[0] == "run":
        if len(left) != 2:
            raise PlanError(option, f"a plan file is wanted, not '{' '.join(left[1:])}'", f"write {option} PLAN.toml")
        return read(Path(left[1]))
    found: click.Command | None = context.find_root().command
    named = []
    while isinstance(found, click.Group) and left:
        named.append(left.pop(0))
        found = found.get_command(context, named[-1])
    if not isinstance(found, MeasuringCommand):
        raise PlanError(
            "ab", f"'{' '.join(named)}' is no command that measures", "write it first: keisoku ab throughput …"
        )
    # Many short runs in turn tell more in the same time than a few long ones.
    return found.asked(True, **found.make_context(" ".join(named), left, parent=context).params)

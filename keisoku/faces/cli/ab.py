"""`keisoku ab`: two sides of any measuring command, in pairs of runs. It measures and judges nothing itself."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from keisoku.errors import PlanError
from keisoku.faces.cli.measured_command import measured_by, settings_of_whole, with_settings
from keisoku.faces.cli.outcome import measured
from keisoku.ground.entry import Work
from keisoku.ground.observer import Observer
from keisoku.ground.run.settings import parsed
from keisoku.language import phrase
from keisoku.running.measurement.paired_settings import PairedSettings
from keisoku.running.measurement.table import find
from keisoku.running.measurement.typed_setting import known_as, values_of

_SETTINGS = settings_of_whole(PairedSettings)
_KNOWN_AS = known_as(_SETTINGS)


@click.command("ab", context_settings={"ignore_unknown_options": True})
@click.argument("words", metavar="COMMAND…", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--a", "a", metavar="OPTIONS", help="options of side A alone, in quotes; after 'run' its plan file")
@click.option("--b", "b", metavar="OPTIONS", help="options of side B alone, in quotes; after 'run' its plan file")
@with_settings(_SETTINGS)
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

    COMMAND is any command that measures, with the options of both sides. Without one it is what decides soonest: 'cost'
    for a device that works on this host, else 'throughput'. The sides are run in turn, in a random order, until the
    answer is certain or the time is used up. The exit code is 0 if B is not worse than A by more than the margin, 1 if
    it is, and 2 if this could not be decided.

    \b
    keisoku ab --tx veth0 --rx veth1 --margin 5% --before-a './load.sh old.o' --before-b './load.sh new.o'
    keisoku ab throughput --size 64 --duration 1s --waits 0.1s --a '--dut lab:bridge' --b '--dut lab:router'
    keisoku ab latency --tx xdp:eth1 --rx xdp:eth2 --rate 50kpps --figure p99 --margin 5% --within 5min \\
        --before-a 'ethtool -C eth1 rx-usecs 0' --before-b 'ethtool -C eth1 rx-usecs 50'
    keisoku ab run --a old.toml --b new.toml
    keisoku ab throughput --dut lab:bridge --against runs/release --pairs 10
    """
    values = values_of(_SETTINGS, given)
    if given["against"] is not None and a is not None:
        raise PlanError("--a", "side A is the run of --against", "leave out --a")
    words, chosen = _with_command(context, words, b)
    sides = {} if given["against"] is not None else {"a": measured_by(context, words, a, "--a", "keisoku ab")}
    sides["b"] = measured_by(context, words, b, "--b", "keisoku ab")
    if "a" in sides and sides["a"][0] is not sides["b"][0]:
        problem = f"it is a plan of {sides['b'][0].name}, and that of A one of {sides['a'][0].name}"
        raise PlanError("--b", problem, "give plans of the same measurement")
    values |= {side: entry.in_pairs(settings).plain() for side, (entry, settings) in sides.items()}
    values |= {"of": sides["b"][0].name, "seed": getattr(sides["b"][1], "seed", 1)}
    try:
        asked = parsed(PairedSettings, values, lambda field: _KNOWN_AS.get(field, field))

        def work(display: Observer) -> Work[PairedSettings]:
            if chosen:
                display.tell(chosen)
            return Work(find("ab"), asked, out, observer=display)

        code = measured(work, as_json)
    except PlanError as error:
        raise PlanError(_KNOWN_AS.get(error.field, error.field), error.problem, error.remedy) from error
    sys.exit(code)


def _with_command(context: click.Context, words: Sequence[str], b: str | None) -> tuple[Sequence[str], str]:
    """The words with the command that decides soonest for the device of side B where they name none, and what is said
    of that choice."""
    if not words[0].startswith("-"):
        return words, ""
    with suppress(click.UsageError):  # options of another command
        entry, settings = measured_by(context, ("cost", *words), b, "--b", "keisoku ab")
        if entry.possible(settings):
            return ("cost", *words), phrase(
                "no command is given: the CPU time of a frame (cost) is compared, which decides soonest for a device on"
                " this host"
            )
    return ("throughput", *words), phrase(
        "no command is given: throughput is compared, because the CPU time of a frame in this device cannot be measured"
        " here"
    )

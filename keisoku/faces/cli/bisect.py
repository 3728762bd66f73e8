"""`keisoku bisect`: the commit that changed a figure. It measures and judges nothing itself."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from keisoku.errors import PlanError
from keisoku.faces.cli.measured_command import measured_by, settings_of_whole, with_settings
from keisoku.faces.cli.outcome import measured
from keisoku.ground.entry import Work
from keisoku.ground.run.settings import parsed
from keisoku.running.measurement.bisection_settings import BisectionSettings
from keisoku.running.measurement.table import find
from keisoku.running.measurement.typed_setting import known_as, values_of

_SETTINGS = settings_of_whole(BisectionSettings)
_KNOWN_AS = known_as(_SETTINGS)
_MEASURED = "cost"
"""What is measured where no command stands there."""


@click.command("bisect", context_settings={"ignore_unknown_options": True})
@with_settings(_SETTINGS)
@click.argument("words", metavar="COMMAND…", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(context: click.Context, /, words: Sequence[str], out: Path | None, as_json: bool, **given: Any) -> None:
    """Finds the commit between GOOD and BAD that changed a figure, and says how sure that is.

    COMMAND is any command that measures, with its options; without one it is 'cost'. Commits of the repository in which
    it is started are built, loaded and measured in turn with GOOD or BAD. It ends when the commit is certain, or that
    GOOD and BAD do not differ by more than the margin, or that there is more than one change. The exit code is 0 then,
    and 2 if it is undecided.

    \b
    keisoku bisect v1.4 HEAD --tx veth0 --rx veth1 --build 'make O=$KEISOKU_BUILD' --load './load.sh $KEISOKU_BUILD'
    keisoku bisect v1.4 HEAD latency --tx xdp:eth1 --rx xdp:eth2 --rate 50kpps --figure p50 --error 1% \\
        --build 'make && cp forward.o $KEISOKU_BUILD' --load './load.sh $KEISOKU_BUILD/forward.o'
    """
    values = values_of(_SETTINGS, given)
    if not words or words[0].startswith("-"):
        words = (_MEASURED, *words)
    entry, settings = measured_by(context, words, None, "COMMAND", "keisoku bisect GOOD BAD")
    values |= {"of": entry.name, "plan": entry.in_pairs(settings).plain(), "seed": getattr(settings, "seed", 1)}
    try:
        asked = parsed(BisectionSettings, values, lambda field: _KNOWN_AS.get(field, field))
        code = measured(lambda display: Work(find("bisect"), asked, out, observer=display), as_json)
    except PlanError as error:
        raise PlanError(_KNOWN_AS.get(error.field, error.field), error.problem, error.remedy) from error
    sys.exit(code)

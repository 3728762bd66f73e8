"""`--lang`: the language of the report and of what the terminal says."""

from __future__ import annotations

import click

from keisoku.errors import PlanError
from keisoku.faces.cli.encoding import can_write
from keisoku.language import ENGLISH, LANGUAGES, speaking

_LETTERS = {"ja": "計測、"}
"""Some of each language beside English."""


def _choose(context: click.Context, option: click.Parameter, value: str | None) -> None:
    if value is not None:
        if not can_write(_LETTERS.get(value, "")):
            problem = f"this terminal has no letters of '{value}', because its encoding is not UTF-8"
            raise PlanError("--lang", problem, "set LANG=C.UTF-8, or leave --lang and KEISOKU_LANG out")
        context.with_resource(speaking(value))


LANG = click.option(
    "--lang",
    type=click.Choice(LANGUAGES),
    envvar="KEISOKU_LANG",
    expose_value=False,
    callback=_choose,
    help=f"language of the report and of the terminal's answer (default: {ENGLISH}, or that of KEISOKU_LANG)",
)
"""It holds until the command ends. Files for programs (JSON, CSV, what `keisoku export` writes) are always English."""

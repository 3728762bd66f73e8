"""`--lang`: the language of the report and of what the terminal says."""

from __future__ import annotations

import click

from keisoku.language import ENGLISH, LANGUAGES, speaking


def _choose(context: click.Context, option: click.Parameter, value: str | None) -> None:
    if value is not None:
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

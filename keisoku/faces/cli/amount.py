"""How much a command says: `--verbose` and `--plain`, which every measuring command has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import click

from keisoku.faces.cli.lang import LANG

_KEY = "keisoku.amount"


class Amount(NamedTuple):
    """What the user asked to see."""

    verbose: bool = False
    """Every trial while measuring, and every deviation and remark at the end."""
    plain: bool = False
    """Lines in place of a live table, also on a terminal."""


def amount() -> Amount:
    """Of the command that runs now; the least outside of one."""
    context = click.get_current_context(silent=True)
    found = Amount() if context is None else context.meta.get(_KEY, Amount())
    assert isinstance(found, Amount)
    return found


def _keep(context: click.Context, option: click.Parameter, value: bool) -> None:
    assert option.name is not None
    if value:
        context.meta[_KEY] = context.meta.get(_KEY, Amount())._replace(**{option.name: True})


VERBOSE = click.option(
    "-v",
    "--verbose",
    is_flag=True,
    expose_value=False,
    callback=_keep,
    help="show every trial, and at the end every deviation and remark",
)
PLAIN = click.option(
    "--plain", is_flag=True, expose_value=False, callback=_keep, help="print lines in place of a live table"
)
AMOUNT: tuple[Callable[..., Any], ...] = (VERBOSE, PLAIN, LANG)
"""The options, and the language; what they say is kept in the context of the command, so that no command hands it on.
"""

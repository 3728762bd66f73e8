"""`--margin`: how much worse a figure may become before that is a regression."""

from __future__ import annotations

import re
from collections.abc import Sequence

import click

from keisoku.errors import PlanError
from keisoku.ground.run.criterion import units_of_figures
from keisoku.ground.statistics.difference import Margin
from keisoku.units import quantity, unit_of

_MARGIN = re.compile(r"(?:([\w.]+)=)?([^=]+)")

margin_option = click.option(
    "--margin",
    "margins",
    metavar="[FIGURE=]MARGIN",
    multiple=True,
    help="how much worse a figure may become: 5%, p99=10%, mean=200ns (default: 0%)",
)


def margins_of(texts: Sequence[str]) -> dict[str, Margin]:
    """Margins by figure, '' for all others, in the units in which they are written. Raises PlanError for one that is
    not possible."""
    found: dict[str, Margin] = {}
    figure_units = dict.fromkeys(units_of_figures(), 1.0)
    for text in texts:
        match = _MARGIN.fullmatch(text.replace(" ", ""))
        if match is None:
            raise PlanError("--margin", f"'{text}' is not a margin", "write 5%, p99=10% or mean=200ns")
        name, amount = match[1] or "", match[2]
        if amount.endswith("%"):
            value = Margin(share=quantity("--margin", amount, {"%": 0.01}))
        elif name:
            value = Margin(amount=quantity("--margin", amount, figure_units), unit=unit_of(amount))
        elif not unit_of(amount):
            raise PlanError("--margin", f"'{text}' is no share of a figure", "write 5%, p99=10% or mean=200ns")
        else:
            raise PlanError(
                "--margin", f"'{text}' has a unit that some figures do not have", "name the figure: mean=200ns"
            )
        if value.share < 0 or value.amount < 0:
            raise PlanError("--margin", f"'{text}' is negative", "give zero or more")
        if name in found:
            raise PlanError("--margin", f"there are two margins for {name or 'all figures'}", "give one")
        found[name] = value
    return found

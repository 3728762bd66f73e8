"""All cases, in the order of the table."""

from __future__ import annotations

from drivers.case import Case
from drivers.cases import links, loads, settings, stamps, truths

CASES: tuple[Case, ...] = tuple(
    value
    for module in (loads, settings, links, stamps, truths)
    for value in vars(module).values()
    if isinstance(value, Case)
)

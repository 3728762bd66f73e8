"""All cases, in the order of the table."""

from __future__ import annotations

from drivers.case import Case
from drivers.cases import links, loads, losses, settings, stamps, truths

_MODULES = (loads, settings, links, losses, stamps, truths)
CASES = tuple(value for module in _MODULES for value in vars(module).values() if isinstance(value, Case))

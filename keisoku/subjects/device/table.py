"""The table of procedures: every name, and the module whose `PROCEDURE` it is, loaded when it is first used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from keisoku.subjects.device.entry import Procedure

GROUPS: dict[str, dict[str, str]] = {}
"""By the title of their group in the list of all commands, in the order of a report; the lines are in the package's
`__init__.py`, so that what procedures are made of imports none of them."""


class _Procedures(Mapping[str, "Procedure"]):
    """The entries by name; what only asks for names loads none."""

    def __getitem__(self, name: str) -> Procedure:
        return _loaded(name)

    def __iter__(self) -> Iterator[str]:
        return (name for names in GROUPS.values() for name in names)

    def __len__(self) -> int:
        return sum(map(len, GROUPS.values()))

    def __contains__(self, name: object) -> bool:
        return any(name in names for names in GROUPS.values())


PROCEDURES = _Procedures()


def figures_of(names: Iterable[str]) -> dict[str, str]:
    """The figure of each of these procedures that is meant where none is named."""
    return {name: PROCEDURES[name].figure for name in names}


def columns_of(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """The unit of each figure of each of these procedures."""
    return {name: PROCEDURES[name].unit_of for name in names}


def suites() -> dict[str, tuple[str, ...]]:
    """Documents with several procedures by their names ('rfc2544'), each with them in the order of the table."""
    found: dict[str, tuple[str, ...]] = {}
    for names in GROUPS.values():
        for name, module in names.items():
            document = module.rpartition(".")[0].rpartition(".")[2]
            found[document] = (*found.get(document, ()), name)
    return {document: names for document, names in found.items() if len(names) > 1 and document.startswith("rfc")}


@cache
def _loaded(name: str) -> Procedure:
    modules = {known: module for names in GROUPS.values() for known, module in names.items()}
    found: Procedure = import_module(modules[name]).PROCEDURE
    return found

"""One evaluation that a search asks for: a limit to set, and why it is asked for. Holds no result."""

from __future__ import annotations

from dataclasses import dataclass

from keisoku.language import phrase
from keisoku.subjects.system.search.candidate import Limit

PURPOSES = {
    "begin": phrase("begin"),
    "search": phrase("search"),
    "confirm": phrase("confirm"),
    "compare": phrase("compare"),
    "sweep": phrase("sweep"),
}
"""What an evaluation is for, in words for a reader."""


@dataclass(frozen=True)
class Evaluation:
    """A limit under which the system is to be observed for a block."""

    limit: Limit
    purpose: str
    """One of `PURPOSES`."""
    settles: int = 1
    """Times the settling time that are left out after a change of the limit."""

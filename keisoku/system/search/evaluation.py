"""One evaluation that a search asks for: a limit to set, and why it is asked for. Holds no result."""

from __future__ import annotations

from dataclasses import dataclass

from keisoku.system.search.candidate import Limit


@dataclass(frozen=True)
class Evaluation:
    """A limit under which the system is to be observed for a block."""

    limit: Limit
    purpose: str
    """`begin`, `search`, `confirm`, `compare` or `sweep`."""
    settles: int = 1
    """Times the settling time that are left out after a change of the limit."""

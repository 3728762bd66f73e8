"""A verdict on a criterion, in words."""

from __future__ import annotations

from keisoku.report import digits
from keisoku.run.criterion import Verdict


def verdict_text(verdict: Verdict) -> str:
    """The figure by which a criterion was judged, or 'nothing', and why it decides nothing."""
    measured = digits.text(verdict.measured) if verdict.measured else "nothing"
    return f"{measured}; {verdict.undecided}" if verdict.undecided else measured

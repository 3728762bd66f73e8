"""A verdict on a criterion, in words."""

from __future__ import annotations

from keisoku.ground.report import digits
from keisoku.ground.run.criterion import Verdict
from keisoku.language import join_texts, phrase

JUDGED = {"met": phrase("met"), "missed": phrase("missed"), "undecided": phrase("undecided")}
"""Verdicts in a word."""
JUDGED_LOUDLY = {"met": JUDGED["met"], "missed": phrase("MISSED"), "undecided": phrase("UNDECIDED")}
"""The same, with those in capitals that a reader must not miss."""


def verdict_text(verdict: Verdict) -> str:
    """The figure by which a criterion was judged, or 'nothing', and why it decides nothing."""
    measured = digits.text(verdict.measured) if verdict.measured else phrase("nothing")
    return join_texts("; ", [measured, verdict.undecided]) if verdict.undecided else measured

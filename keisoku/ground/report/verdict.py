"""A verdict on a criterion, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keisoku.ground.report import digits
from keisoku.ground.run.criterion import Verdict
from keisoku.language import join_texts, phrase, plural

JUDGED = {"met": phrase("met"), "missed": phrase("missed"), "undecided": phrase("undecided")}
"""Verdicts in a word."""
JUDGED_LOUDLY = {"met": JUDGED["met"], "missed": phrase("MISSED"), "undecided": phrase("UNDECIDED")}
"""The same, with those in capitals that a reader must not miss."""


def verdict_text(verdict: Verdict) -> str:
    """The figure by which a criterion was judged, or 'nothing', and why it decides nothing."""
    measured = digits.text(verdict.measured) if verdict.measured else phrase("nothing")
    return join_texts("; ", [measured, verdict.undecided]) if verdict.undecided else measured


@dataclass(frozen=True)
class Judgement:
    """What all criteria of a page say together."""

    word: str
    """'PASS', 'FAIL' or 'No criterion'."""
    text: str
    kind: str
    """'good', 'bad', or empty where nothing is judged: how the page shows it."""


def judgement(verdicts: Sequence[Verdict]) -> Judgement:
    """PASS where every criterion is met; one that is undecided counts as missed."""
    failed = [verdict for verdict in verdicts if not verdict.met]
    if not verdicts:
        return Judgement(phrase("No criterion"), phrase("was given: nothing here passes or fails."), "")
    if not failed:
        text = plural("{count} criterion is met.", "All {count} criteria are met.", count=len(verdicts))
        return Judgement(phrase("PASS"), text, "good")
    first = failed[0]
    said = phrase(
        "{criterion} is {verdict} (measured: {figure})",
        criterion=first.text,
        verdict=JUDGED[first.word],
        figure=verdict_text(first),
    )
    if len(verdicts) == 1:
        return Judgement(phrase("FAIL"), phrase("{said}.", said=said), "bad")
    text = phrase(
        "{failed} of {count} criteria are not met; {said}.", failed=len(failed), count=len(verdicts), said=said
    )
    return Judgement(phrase("FAIL"), text, "bad")

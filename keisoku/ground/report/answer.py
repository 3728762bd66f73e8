"""The first screen of one run: what was measured and how well it is known, how many trials were valid, and how far the
procedure is the standard's. It repeats what the tables below it say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from keisoku.ground.report import digits
from keisoku.ground.report.headline import headline
from keisoku.ground.report.sentence import some
from keisoku.ground.report.table import FIGURE, Certainty, Head, Table, head
from keisoku.ground.run.result import Result, Row, place
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase, plural

MEASURED, ONE_RUN, AT_LEAST, AT_MOST, UNKNOWN, INVALID, NOT_MEASURED = (
    phrase("measured"),
    phrase("single run"),
    phrase("lower bound"),
    phrase("upper bound"),
    phrase("uncertainty unknown"),
    phrase("invalid"),
    phrase("not measured"),
)
MEANING = {
    MEASURED: phrase("with an uncertainty or as an exact count"),
    ONE_RUN: phrase("how much the figure varies between runs is not known"),
    AT_LEAST: phrase("only a lower bound is known"),
    AT_MOST: phrase("only an upper bound is known"),
    UNKNOWN: phrase("the tester was not calibrated, or measured only once"),
    INVALID: phrase("the tester itself fell short in this trial"),
    NOT_MEASURED: phrase("there is no figure"),
}
"""What the words mean of a figure, in the order from sure to unsure."""
MOST_ROWS = 12
"""Rows of the first screen; the tables below it have all."""


@dataclass(frozen=True)
class Validity:
    """Trials of a run, or rows where it has no trials."""

    valid: int
    invalid: int
    cause: str = ""
    """The most frequent reason for which some are invalid."""
    rows: bool = False
    """They are rows."""

    @property
    def share(self) -> float:
        """Of the valid ones, in percent."""
        return 100 * self.valid / max(self.valid + self.invalid, 1)

    @property
    def sentence(self) -> str:
        """'12 of 14 trials valid; main cause of the others: …'."""
        every = self.valid + self.invalid
        valid = (
            plural("{valid} of {count} row valid", "{valid} of {count} rows valid", valid=self.valid, count=every)
            if self.rows
            else plural(
                "{valid} of {count} trial valid", "{valid} of {count} trials valid", valid=self.valid, count=every
            )
        )
        if not self.cause:
            return valid
        return phrase("{valid}; main cause of the others: {cause}", valid=valid, cause=self.cause)


@dataclass(frozen=True)
class Answer:
    """What one run answers."""

    states: list[tuple[str, int]]
    """How many main figures are how well known, in the order of `MEANING`."""
    tables: list[Table]
    notes: list[str]
    """Why figures of the first table are no better known."""
    more: int
    """Rows that are only in the tables below."""
    validity: Validity | None
    conformity: str
    """Such as '11 deviations from the standards'; empty where no standard is claimed."""


NO_ANSWER = Answer([], [], [], 0, None, "")
"""Of a page whose sentences say everything."""


def confidence(row: Row, figure: Quantity | None) -> str:
    """One of `MEANING`, of this figure of the row."""
    if figure is None:
        return NOT_MEASURED
    if row.invalid:
        return INVALID
    if figure.bound:
        return AT_LEAST if figure.bound == "at least" else AT_MOST
    if figure.covers in ("resolution", "observed"):
        return ONE_RUN
    return MEASURED if not figure.covers and figure.bounds is not None else UNKNOWN


def answer(
    results: Sequence[Result],
    figures: Mapping[str, str],
    validity: Validity | None = None,
    conformity: str = "",
    titles: Mapping[str, str] | None = None,
    above_zero: bool = False,
    beside: Sequence[str] = (),
) -> Answer:
    """By the main figure (`figures`, by measurement) of each row that has it; of other rows, the first figure.

    `above_zero`: none of them can be below zero. `beside`: figures that stand before it, as both sides of a change.
    """
    tables, states, more = [], Counter[str](), 0
    room = MOST_ROWS
    for result in results:
        rows = answering(result, figures.get(result.measurement, ""))
        shown_as = [(row, name, row.figures.get(name)) for row, name in rows]
        known = [
            (row, name, headline(figure) if figure is not None and above_zero else figure)
            for row, name, figure in shown_as
        ]
        states.update(confidence(row, figure) for row, _, figure in known)
        shown, room = known[:room], max(room - len(known), 0)
        more += len(known) - len(shown)
        if shown:
            title = (titles or {}).get(result.measurement) or result.title
            tables.append(_table(title if len(results) > 1 else "", shown, beside))
    validity = validity or _of_rows(results)
    return Answer([(word, states[word]) for word in MEANING if states[word]], tables, [], more, validity, conformity)


def answering(result: Result, figure: str) -> list[tuple[Row, str]]:
    """Rows that answer what was asked, with the name of their figure: those with the main one, and those that should
    have it and have none. Where no row has it, the first figure that any has, or that of the row itself."""
    missing = result.not_measured
    if any(figure in row.figures for row in result.rows):
        return [(row, figure) for row in result.rows if figure in row.figures or row in missing]
    first = next((name for row in result.rows for name in row.figures), figure)
    return [
        (row, first if first in row.figures else next(iter(row.figures), figure))
        for row in result.rows
        if row.figures or row in missing
    ]


def _table(title: str, shown: Sequence[tuple[Row, str, Quantity | None]], beside: Sequence[str]) -> Table:
    names = list(dict.fromkeys(name for _, name, _ in shown))
    heads = [
        Head("", ""),
        *(Head(head(name), "") for name in beside),
        Head(head(names[0], of_frames=bool(shown[0][0].frame_bytes)), ""),
    ]
    rows: list[list[str]] = []
    known: list[list[Certainty]] = []
    marks: set[str] = set()
    if len(names) > 1:
        heads[-1] = Head(FIGURE, "")
    missing: dict[str, list[str]] = {}
    for row, name, figure in shown:
        where = place(row) or row.group or phrase("whole")
        if figure is None:
            missing.setdefault(row.remark or "–", []).append(where)
            continue
        figures = [*(row.figures.get(each) for each in beside), figure]
        shown_as = [None if each is None else digits.digits(each) for each in figures]
        texts = [f"{one.short} {one.unit}".rstrip() if one else "–" for one in shown_as]
        if len(names) > 1:
            texts[-1] = join_texts(": ", [head(name, of_frames=bool(row.frame_bytes)), texts[-1]])
        rows.append([where, *texts])
        known.append([Certainty(), *(_known(row, *both) for both in zip(figures, shown_as, strict=True))])
        marks |= {one.mark for one in shown_as if one and one.mark}
    for why, places in missing.items():
        rows.append([some(places), *("–" for _ in beside), why])
        known.append([Certainty() for _ in (None, *beside)] + [Certainty(how=NOT_MEASURED)])
    return Table(title, heads, rows, sorted(marks), known)


def _known(row: Row, figure: Quantity | None, shown: digits.Digits | None) -> Certainty:
    interval = f"{shown.interval} {shown.unit}".rstrip() if shown and shown.interval else ""
    return Certainty(interval, confidence(row, figure))


def _of_rows(results: Sequence[Result]) -> Validity | None:
    """Rows by whether the tester was at fault; None without rows."""
    rows = [row for result in results for row in result.rows]
    causes = Counter(row.invalid for row in rows if row.invalid)
    if not causes:
        return None
    return Validity(len(rows) - causes.total(), causes.total(), causes.most_common(1)[0][0], rows=True)


def deviating(results: Sequence[Result]) -> str:
    """'11 deviations from the standards', or empty without any."""
    found = len({text for result in results for text in result.deviations})
    if not found:
        return ""
    return plural("{count} deviation from the standards", "{count} deviations from the standards", count=found)

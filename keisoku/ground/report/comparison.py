"""Runs side by side, and a run against an earlier one: tables for the page and the terminal, values for JSON.

Verdicts come from `analysis`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from keisoku.ground.report import digits
from keisoku.ground.report.finding import Finding
from keisoku.ground.report.table import CASE, Head, Table, head
from keisoku.ground.run.comparison import Judged, Key, Ranking
from keisoku.ground.run.result import FittedLine
from keisoku.ground.statistics.difference import Change, ratio, verdict, without_rounding
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase, plural

RULE = phrase(
    "< : significantly lower, because value ± expanded uncertainty (k = 2) of the "
    "figures do not overlap; ≈ : no significant difference; = : exact and equal."
)
REGRESSION_RULE = phrase(
    "A regression is a figure that is worse by d, with d − U > margin, where U = "
    "√(U_new² + U_old²) is the expanded uncertainty (k = 2) of the difference. Where "
    "neither direction is better, d is the absolute difference."
)
BOUND_RULE = phrase(
    "A figure that is 'at least' or 'at most' a value is only a bound. It differs from "
    "another figure only if that one lies wholly on the other side of the bound; two "
    "bounds of the same kind cannot be told apart."
)
RESOLUTION_RULE = phrase(
    "Of some of these figures only the resolution of one run is known, and not how much "
    "they vary between runs: a difference between them can be by chance."
)
CHANGES: dict[str, str] = {
    "regression": phrase("regression"),
    "worse within the margin": phrase("worse within the margin"),
    "better": phrase("better"),
    "different": phrase("different"),
    "within the margin": phrase("within the margin"),
    "cannot be judged": phrase("cannot be judged"),
    "cannot be told apart": phrase("cannot be told apart"),
    "equal": phrase("equal"),
}
"""Verdicts in words for a reader."""
_BETTER = {
    "higher": phrase("regression (higher is better)"),
    "lower": phrase("regression (lower is better)"),
    "neither": CHANGES["regression"],
}
_UNCHANGED = ("cannot be judged", "cannot be told apart", "equal")
_LINES, _WHOLE = phrase("Lines"), phrase("Whole result")
_OVERALL = {"slope": phrase("Slope"), "constant": phrase("Constant"), "largest": phrase("Largest frame")}


def side_by_side(
    name: str,
    title: str,
    names: Sequence[str],
    lines: Sequence[FittedLine | None],
    rankings: Sequence[Ranking],
    notes: Sequence[str],
) -> Finding:
    """Table of lines with standard errors, then a table for each figure with a verdict in each row."""
    tables = [_lines(names, lines)] if any(lines) else []
    overall = [ranking for ranking in rankings if ranking.key is None]
    if overall:
        tables.append(_overall(names, overall))
    placed = [(one, one.key) for one in rankings if one.key is not None]
    for figure, group in dict.fromkeys((one.figure, key.group) for one, key in placed):
        tables.append(
            _figure(names, figure, group, [one for one, key in placed if (one.figure, key.group) == (figure, group)])
        )
    anchor = f"compare-{name.replace(' ', '-')}"
    more = _more_rules([value for one in rankings for value in one.values if value is not None])
    if any(_ratios(one) for one in rankings):
        more.append(_ratio_rule(names[0]))
    return Finding(anchor, phrase("Comparison"), title, tables, [RULE, *more, *notes])


def in_short(finding: Finding, figure: str) -> Finding:
    """Only the tables of the measurement's main figure, for a terminal."""
    tables = [table for table in finding.tables if table.title in (_LINES, _WHOLE, head(figure))]
    left = len(finding.tables) - len(tables)
    notes = [
        *finding.notes,
        *(
            [
                plural(
                    "{count} more figure is on the page and in --json",
                    "{count} more figures are on the page and in --json",
                    count=left,
                )
            ]
            if left
            else []
        ),
    ]
    return Finding(finding.anchor, finding.title, finding.subtitle, tables or finding.tables, notes)


def ranking_text(ranking: Ranking, names: Sequence[str]) -> str:
    """'a < b ≈ c', from the lowest up."""
    return " < ".join(
        (" = " if _all_equal(ranking, group) else " ≈ ").join(names[index] for index in group)
        for group in ranking.groups
    )


def ranking_json(ranking: Ranking, names: Sequence[str]) -> dict[str, Any]:
    """Values of every device, and the verdict on every pair."""
    known = [(name, value) for name, value in zip(names, ranking.values, strict=True) if value is not None]
    return {
        **_place(ranking.key),
        "figure": ranking.figure,
        "values": {name: value.model_dump() for name, value in known},
        "verdicts": [
            {"device": name, "is": verdict(value, other), "than": against, **_ratio_json(value, other)}
            for place, (name, value) in enumerate(known)
            for against, other in known[place + 1 :]
        ],
    }


def regression(judged: Sequence[Judged], missing: Sequence[str], notes: Sequence[str]) -> Finding:
    """Every figure, those beyond the margin first."""
    order = list(get_args(Change))
    more = _more_rules([figure for one in judged for figure in (one.old, one.new)])
    marks = sorted({mark for one in judged if (mark := _ratio_cell(ratio(one.new, one.old))[1])})
    rows = [_judged_row(one) for one in sorted(judged, key=lambda one: order.index(one.change))]
    titles = (
        phrase("Figure"),
        phrase("Earlier"),
        phrase("Now"),
        phrase("Difference"),
        phrase("Ratio"),
        phrase("Margin"),
        phrase("Verdict"),
    )
    unjudged = sum(one.change == "cannot be judged" for one in judged)
    said = [*notes, *(phrase("only one of the runs has {text}", text=text) for text in missing)]
    if unjudged:
        said.append(
            phrase(
                "{unjudged} of {judged} figures could not be judged: their uncertainty is not known; "
                "calibrate the tester with 'keisoku calibrate' before both runs",
                unjudged=unjudged,
                judged=len(judged),
            )
        )
    return Finding(
        "regression",
        phrase("Regression"),
        phrase("against an earlier run"),
        [Table("", [Head(title, "") for title in titles], rows, marks)],
        [REGRESSION_RULE, *more, _ratio_rule(phrase("the earlier run")), *said],
    )


def changes_only(finding: Finding) -> Finding:
    """Without the figures that did not change, for a terminal."""
    table = finding.tables[0]
    rows = [row for row in table.rows if row[-1] not in _UNCHANGED]
    counts = [(word, sum(row[-1] == word for row in table.rows)) for word in _UNCHANGED]
    said = [
        plural("{count} figure: {word}", "{count} figures: {word}", count=count, word=CHANGES[word])
        for word, count in counts
        if count
    ]
    tables = [Table(table.title, table.heads, rows, [])] if rows else []
    return Finding(finding.anchor, finding.title, finding.subtitle, tables, [*said, *finding.notes])


def judged_json(one: Judged) -> dict[str, Any]:
    """One figure with both values and its margin."""
    return {
        "method": one.method,
        **_place(one.key),
        "figure": one.figure,
        "old": one.old.model_dump(),
        "new": one.new.model_dump(),
        "difference": one.difference.model_dump(),
        **_ratio_json(one.new, one.old),
        "better": one.better,
        "margin": one.allowed,
        "verdict": one.change,
    }


def judged_text(one: Judged) -> str:
    """'regression: 0.57 ± 0.01 Mframes/s, earlier 0.61 ± 0.01 Mframes/s (margin 5 kframes/s)'."""
    _, old, new, *_, margin, said = _judged_row(one)
    return phrase("{said}: {new}, earlier {old} (margin {margin})", said=said, new=new, old=old, margin=margin)


def figure_name(method: str, key: Key | None, figure: str) -> str:
    """'throughput[64]', 'latency[64].p99', 'loss[64, 100 %].loss': as a criterion names it."""
    if key is None:
        return f"{method}.{figure}"
    place = ", ".join(
        [
            *([str(key.frame_bytes)] if key.frame_bytes else []),
            *([f"{key.load_percent:g} %"] if key.load_percent else []),
            *filter(None, [key.case]),
        ]
    )
    return f"{method}[{place}].{figure}"


def _more_rules(figures: Sequence[Quantity]) -> list[str]:
    """What must be known about some of the figures in addition."""
    rules = [BOUND_RULE] if any(figure.bound for figure in figures) else []
    return rules + ([RESOLUTION_RULE] if any(figure.covers for figure in figures) else [])


def _ratio_rule(first: str) -> str:
    return phrase(
        "A ratio is a figure divided by that of {first}; its interval follows from those of both (Fieller).",
        first=first,
    )


def _ratio_json(one: Quantity, other: Quantity) -> dict[str, Any]:
    found = ratio(one, other)
    return {} if found is None else {"ratio": found.model_dump()}


def _ratios(one: Ranking) -> list[Quantity | None]:
    """Of each figure to that of the first run; empty if there is none."""
    first, *others = one.values
    found = [ratio(other, first) if first and other else None for other in others]
    return found if any(found) else []


def _ratio_columns(names: Sequence[str], rankings: Sequence[Ranking]) -> tuple[list[Head], list[list[str]], set[str]]:
    """The columns of the ratios, one for each run but the first, their cells in each row, and the marks in them; no
    column without a ratio."""
    rows = [_ratios(one) for one in rankings]
    if not any(rows):
        return [], [[] for _ in rankings], set()
    others = names[1:]
    heads = [phrase("Ratio")] if len(others) == 1 else [phrase("Ratio of {name}", name=name) for name in others]
    empty: list[Quantity | None] = [None] * len(others)
    shown = [[_ratio_cell(each) for each in row or empty] for row in rows]
    marks = {mark for row in shown for _, mark in row if mark}
    return [Head(each, "") for each in heads], [[text for text, _ in row] for row in shown], marks


def _ratio_cell(figure: Quantity | None) -> tuple[str, str]:
    """The text, and the mark in it."""
    if figure is None:
        return "–", ""
    shown = digits.digits(figure)
    return shown.compact, shown.mark


def _lines(names: Sequence[str], lines: Sequence[FittedLine | None]) -> Table:
    heads = [
        Head(phrase("Device"), ""),
        Head(phrase("Slope"), "ns/byte"),
        Head(phrase("Standard error"), "ns/byte"),
        Head("", "%"),
    ]
    heads += [Head(phrase("Constant"), "ns"), Head(phrase("Standard error"), "ns"), Head("", "%")]
    rows = []
    for name, line in zip(names, lines, strict=True):
        if line is None:
            rows.append([name, *[""] * 6])
            continue
        row = [name]
        for figure, error in ((line.slope, line.slope_error), (line.constant, line.constant_error)):
            shown = digits.digits(without_rounding(figure), figure.unit)
            exact = not shown.uncertainty
            percent = digits.significant(0.0 if exact else abs(error / figure.value) * 100, 3) if figure.value else ""
            row += [shown.value, digits.significant(0.0 if exact else error, 3), percent]
        rows.append(row)
    return Table(phrase("Least-squares lines, with standard errors (k = 1)"), heads, rows, [])


def _overall(names: Sequence[str], rankings: Sequence[Ranking]) -> Table:
    ratios, shown, marks = _ratio_columns(names, rankings)
    rows = [
        [
            _OVERALL.get(one.figure, one.figure),
            *(digits.text(value) if value else "–" for value in one.values),
            *cells,
            ranking_text(one, names),
        ]
        for one, cells in zip(rankings, shown, strict=True)
    ]
    heads = [Head(phrase("Figure"), ""), *(Head(name, "") for name in names), *ratios, Head(phrase("Verdict"), "")]
    return Table(_WHOLE, heads, rows, sorted(marks))


def _figure(names: Sequence[str], figure: str, group: str, rankings: Sequence[Ranking]) -> Table:
    cells = [value for one in rankings for value in one.values]
    unit, shown = digits.column(cells)
    ratios, divided, of_ratios = _ratio_columns(names, rankings)
    width = len(names)
    rows = []
    for place, one in enumerate(rankings):
        assert one.key is not None
        load = f"{one.key.load_percent:g} %" if one.key.load_percent else ""
        case = join_texts(", ", filter(None, [one.key.case, load]))
        mine = shown[place * width : (place + 1) * width]
        rows.append([str(one.key.frame_bytes), case, *(cell.compact if cell else "–" for cell in mine)])
        rows[-1] += [*divided[place], ranking_text(one, names)]
    heads = [
        Head(phrase("Frame size"), "byte"),
        Head(group or CASE, ""),
        *(Head(name, unit) for name in names),
        *ratios,
        Head(phrase("Verdict"), ""),
    ]
    empty = {0} if all(row[0] == "0" for row in rows) else {1} if not any(row[1] for row in rows) else set()
    rows = [[cell for place, cell in enumerate(row) if place not in empty] for row in rows]
    heads = [heading for place, heading in enumerate(heads) if place not in empty]
    marks = sorted({cell.mark for cell in shown if cell and cell.mark} | of_ratios)
    return Table(head(figure), heads, rows, marks)


def _judged_row(one: Judged) -> list[str]:
    margin = Quantity(value=one.allowed, unit=one.old.unit, uncertainty=0.0)
    said = _BETTER[one.better] if one.change == "regression" else CHANGES[one.change]
    return [
        figure_name(one.method, one.key, one.figure),
        digits.text(one.old),
        digits.text(one.new),
        digits.text(one.difference),
        _ratio_cell(ratio(one.new, one.old))[0],
        digits.value_text(margin),
        said,
    ]


def _place(key: Key | None) -> dict[str, Any]:
    if key is None:
        return {"frame_bytes": None, "load_percent": None, "case": ""}
    return {"frame_bytes": key.frame_bytes, "load_percent": key.load_percent or None, "case": key.case}


def _all_equal(ranking: Ranking, group: Sequence[int]) -> bool:
    values = [value for index in group if (value := ranking.values[index]) is not None]
    return all(verdict(values[0], value) == "equal" for value in values)

"""The first screen of a device: a row a frame size, validity of the trials, and how far they are the standard's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from keisoku.ground.report import digits
from keisoku.ground.report.answer import Answer, Validity, answer, confidence, deviating
from keisoku.ground.report.headline import headline
from keisoku.ground.report.table import FRAME_SIZE, Certainty, Head, Table
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import phrase, sentence_case
from keisoku.subjects.device.plot.device import Device
from keisoku.subjects.device.record.validity import why_invalid
from keisoku.subjects.device.table import PROCEDURES

_SHORT = " s instead of "
MOST_SIZES = 16


def device_answer(device: Device) -> Answer:
    """The figures of a table of frame sizes (`Procedure.columns`), then the main figures of all other procedures."""
    results = device.run.results
    procedures = {name: PROCEDURES[name] for name in _measured(device)}
    figures = {name: procedure.figure for name, procedure in procedures.items()}
    titles = {name: procedure.title for name, procedure in procedures.items()}
    found = answer(results, figures, _validity(device), _conformity(results), titles, above_zero=True)
    by_size = _by_sizes(device)
    if not by_size:
        return found
    left_out = [*by_size, *(name for name, procedure in procedures.items() if procedure.is_of_tester)]
    own = [result for result in results if result.measurement not in left_out]
    others = answer(own, figures, None, "", titles, above_zero=True) if own else None
    table, more = _sizes(device)
    if others and len(others.tables) == 1:
        first = own[0].measurement
        others = replace(others, tables=[replace(others.tables[0], title=titles.get(first, first))])
    return replace(
        found,
        tables=[table, *(others.tables if others else [])],
        notes=_notes(device),
        more=more + (others.more if others else 0),
    )


def _measured(device: Device) -> list[str]:
    """Names of the procedures that the run has results of, in the order of the table."""
    found = {result.measurement for result in device.run.results}
    return [name for name in PROCEDURES if name in found]


def _by_sizes(device: Device) -> list[str]:
    """Those of them whose figures are columns of one table."""
    return [name for name in _measured(device) if PROCEDURES[name].columns]


def _notes(device: Device) -> list[str]:
    """'Throughput at 64, 128 byte: limited by the tester.': of the rows whose figures the first table has, the remark
    on most of each procedure's; the tables below have all."""
    found, more = [], False
    for name in _by_sizes(device):
        rows = [row for row in _by_size(device.result(name)).values() if row.figures]
        sizes: dict[str, list[str]] = {}
        for row in rows:
            if row.remark:
                sizes.setdefault(row.remark, []).append(str(row.frame_bytes))
        if not sizes:
            continue
        remark, of = max(sizes.items(), key=lambda entry: len(entry[1]))
        more |= len(sizes) > 1
        title = PROCEDURES[name].title
        found.append(
            phrase("{title}: {remark}.", title=title, remark=remark)
            if len(of) == len(rows)
            else phrase("{title} at {sizes} byte: {remark}.", title=title, sizes=", ".join(of), remark=remark)
        )
    return [*found, phrase("The tables below have remarks on more rows.")] if more else found


def _sizes(device: Device) -> tuple[Table, int]:
    """One row a size, and how many sizes are left out."""
    of = {name: _by_size(device.result(name)) for name in _by_sizes(device)}
    sizes = sorted({size for rows in of.values() for size in rows})
    shown, marks = sizes[:MOST_SIZES], set[str]()
    heads, columns, known = [Head(FRAME_SIZE, "byte")], [[str(size) for size in shown]], [[Certainty()] * len(shown)]
    for title in dict.fromkeys(title for name in of for title in (*PROCEDURES[name].columns, *PROCEDURES[name].words)):
        cells = [_cell(of, title, size) for size in shown]
        figures, words = [figure for _, figure, _ in cells], [said for *_, said in cells]
        if not any(figures) and not any(words):
            continue
        unit, digits_of = digits.column(figures)
        heads.append(Head(title, unit))
        columns.append([one.short if one else said or "–" for one, said in zip(digits_of, words, strict=True)])
        known.append(
            [
                Certainty(one.interval if one else "", confidence(row, figure) if row and not any(words) else "")
                for (row, figure, _), one in zip(cells, digits_of, strict=True)
            ]
        )
        marks |= {one.mark for one in digits_of if one and one.mark}
    turned = [list(row) for row in zip(*columns, strict=True)]
    table = Table("", heads, turned, sorted(marks), [list(row) for row in zip(*known, strict=True)])
    return table, len(sizes) - len(shown)


def _cell(of: Mapping[str, Mapping[int, Row]], title: str, size: int) -> tuple[Row | None, Quantity | None, str]:
    """Of the procedures with a column of this title: the row of a size, its figure, and what is said of it."""
    rows = [(PROCEDURES[name], of[name][size]) for name in of if size in of[name]]
    known = [(row, row.figures.get(own.columns[title])) for own, row in rows if title in own.columns]
    said = next((own.words[title](row) for own, row in rows if title in own.words), "")
    row, figure = next((each for each in known if each[1]), known[0] if known else (None, None))
    return row, figure and headline(figure), said


def _by_size(result: Result | None) -> dict[int, Row]:
    """The row of each size: of several loads the highest one that was measured."""
    found: dict[int, Row] = {}
    for row in result.rows if result else []:
        before = found.get(row.frame_bytes)
        if before is None or (row.figures and _load(row) >= _load(before)):
            found[row.frame_bytes] = row
    return found


def _load(row: Row) -> float:
    load = row.figures.get("load")
    return -1.0 if load is None or "loss" not in row.figures else load.value


def _validity(device: Device) -> Validity | None:
    records = device.run.records
    if not records:
        return None
    causes = Counter(cause for record in records for cause in why_invalid(record))
    invalid = sum(not record.valid for record in records)
    return Validity(len(records) - invalid, invalid, causes.most_common(1)[0][0] if causes else "")


def _conformity(results: Sequence[Result]) -> str:
    """'Shortened: 11 deviations from the standards', or that there is none."""
    said = deviating(results)
    short = any(_SHORT in text for result in results for text in result.deviations)
    if said:
        return phrase("Shortened: {deviations}", deviations=said) if short else sentence_case(said)
    return phrase("No deviation from the standards") if results else ""

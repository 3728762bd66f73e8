"""A result as tables: headers with units, cells as text. Layout belongs to the page and the terminal.

`digits` does all rounding.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from keisoku.analysis.quantity import Quantity
from keisoku.report import digits
from keisoku.run.result import Flag, Line, Result, Row

COLUMNS = {
    "start": "From",
    "end": "To",
    "mismatch": "Mismatch",
    "slope": "Slope",
    "intercept": "At time 0",
    "level": "Level",
    "step": "Step",
    "backlog": "Backlog",
    "depth": "Buffer depth",
    "period": "Period",
    "length": "Length",
    "throughput": "Throughput",
    "critical_load": "Critical load",
    "lapses": "Lossy at any load",
    "lower_bound": "Lower bound",
    "upper_bound": "Upper bound",
    "line_share": "Share of the maximum",
    "bit_rate": "Bit rate",
    "load": "Load",
    "offered": "Offered",
    "loss": "Frame loss",
    "latency": "Mean latency",
    "min": "Minimum",
    "mean": "Mean",
    "fifo": "Mean FIFO",
    "lifo_min": "Minimum LIFO",
    "lifo": "Mean LIFO",
    "lifo_max": "Maximum LIFO",
    "filo": "Mean FILO",
    "lilo": "Mean LILO",
    "filo_min": "Minimum FILO",
    "filo_max": "Maximum FILO",
    "p50": "Median",
    "p99": "99 %",
    "p90": "90 %",
    "p99.9": "99.9 %",
    "p99.99": "99.99 %",
    "max": "Maximum",
    "pdv": "Delay variation",
    "pdv_p1": "1 % of trials",
    "pdv_p99": "99 % of trials",
    "ipdv_min": "IPDV minimum",
    "ipdv_median": "IPDV median",
    "ipdv_max": "IPDV maximum",
    "typical": "Typical latency",
    "typical_p1": "1 % of trials",
    "typical_p99": "99 % of trials",
    "worst_case": "Worst-case latency",
    "worst_case_p1": "1 % of trials",
    "worst_case_p99": "99 % of trials",
    "reordered": "Reordered",
    "extent": "Largest extent",
    "extent_mean": "Mean extent",
    "late_time": "Latest",
    "late_mean": "Mean lateness",
    "byte_offset": "Byte offset",
    "n_reordered": "3-reordered",
    "degree": "Largest n",
    "gap": "Mean gap",
    "free_run": "Mean free run",
    "run_variation": "Run variation",
    "in_place": "RD[0]",
    "earliest": "RD earliest",
    "latest": "RD latest",
    "occupancy": "RBD largest",
    "beyond": "Beyond threshold",
    "tagged": "Tagged frame",
    "drop": "Drop rate",
    "buffer": "Buffer",
    "buffer_time": "Emptied in",
    "counted": "By counts",
    "extra": "Extra frames",
    "service": "Output rate",
    "burst": "Burst",
    "microburst": "Microburst",
    "microburst_bytes": "Microburst in bytes",
    "alone": "Loss without congestion",
    "congested": "Loss at the congested output",
    "delay": "Added maximum latency",
    "goodput": "Goodput",
    "jitter": "Mean jitter",
    "jitter_p99": "Jitter, 99 %",
    "jitter_max": "Maximum jitter",
    "lost": "Lost frames",
    "duplicated": "Duplicated",
    "corrupt": "Corrupt",
    "variation": "Variation",
    "forwarding_rate": "Forwarding rate, all ports",
    "frmol": "FRMOL",
    "mfr": "MFR",
    "mfr_load": "MFR at",
    "mfr_offered": "Offered at MFR",
    "flooded": "Flooded",
    "uncongested_loss": "Loss at the uncongested output",
    "congested_loss": "Loss at the congested output",
    "uncongested_rate": "Rate at the uncongested output",
    "congested_rate": "Rate at the congested output",
    "tried": "Tried",
    "addresses": "Addresses",
    "table": "Including the tester's own",
    "learning_rate": "Learning rate",
    "aggregated": "All ports together",
    "loss_at_maximum": "Loss at the maximum",
    "unicast_loss": "Unicast loss",
    "join_delay": "Join delay",
    "join_min": "Shortest join",
    "join_max": "Longest join",
    "leave_delay": "Leave delay",
    "leave_min": "Shortest leave",
    "leave_max": "Longest leave",
    "groups": "Groups",
    "forwarded": "Forwarded",
    "offset": "Offset",
    "largest_frame": "Largest frame",
    "constant": "Constant",
    "burst_min": "Shortest of all",
    "burst_max": "Longest of all",
    "burst_deviation": "Standard deviation",
    "implied_buffer": "Implied buffer time",
    "corrected_buffer": "Corrected buffer time",
    "recovery": "Recovery time",
    "reset_by_loss": "Reset time, by loss",
    "reset_by_stamps": "Reset time, by timestamps",
    "interruption": "Longest interruption",
    "interruption_median": "Median",
    "interruption_least": "Shortest",
    "onset": "Event to first loss",
    "convergence_first": "Event to first flow back",
    "convergence_median": "Event to median flow back",
    "convergence": "Event to last flow back",
    "rate_derived": "By rate (RFC 6413)",
    "loss_derived": "By loss (RFC 6412)",
    "flows": "Flows",
    "affected": "Interrupted",
    "outages": "Interruptions",
    "moved": "Left by another port",
    "tests": "Tests",
    "bias": "Bias",
    "spread": "Spread",
    "seconds": "Search time",
    "trials": "Trials",
}
"""Figures in the order of a table, and their headers; other figures come last, by their names."""


STATISTICS = frozenset({"min", "mean", "max", "p50", "p90", "p99", "p99.9", "p99.99"})
"""Names that mean the same of anything."""
ABBREVIATIONS = frozenset({"cpu", "adev", "mdev", "tdev", "hdev", "mtie", "rtt", "icmp", "tsc", "ttl", "adr", "pdv"})
"""Words of a figure's name that are written in capitals."""
SPAN_MAX = 300.0
"""A column whose figures differ by a larger factor is not shown in one unit: each cell has its own."""
CONFIDENCE = "Confidence"
"""Title of the column that says how well a row is known."""
WORDS = ("Remark", CONFIDENCE, "Line", "Case", "Verdict", "Device", "Figure", "Cell", "Contribution", "Distribution")
"""Titles of columns that hold words and not figures."""


@dataclass(frozen=True)
class Head:
    """Title and unit of a column."""

    title: str
    unit: str


@dataclass(frozen=True)
class Table:
    """Cells are formatted text; the first column is the frame size, the last may be a remark."""

    title: str
    heads: list[Head]
    rows: list[list[str]]
    marks: list[str]
    """The marks in the cells, to be explained below the table."""


def tables(result: Result) -> list[Table]:
    """All figures of a result, a table for each group of rows; the first one has the result's title."""
    made = [
        _of_frames(rows) if any(row.frame_bytes for row in rows) else _of_cases(group, rows)
        for group, rows in result.groups().items()
    ]
    if made:
        made[0] = replace(made[0], title=result.title or result.measurement)
    return made


def all_tables(result: Result) -> list[Table]:
    """Its tables, and that of its line if it has one."""
    return [*tables(result), *([line_table(result.line)] if result.line else [])]


def main_table(result: Result, figure: str) -> tuple[Table, int] | None:
    """The first table of a result with its main figure, and the figure's column; else its first table."""
    every, named = all_tables(result), {head(figure), head(figure, of_frames=False)}
    for table in every:
        for column, each in enumerate(table.heads):
            if each.title in named:
                return replace(table, title=table.title or result.title or result.measurement), column
    return (every[0], 0) if every else None


def head(name: str, of_frames: bool = True) -> str:
    """The header of a figure's column: 'forward_rate' is 'Forward rate'.

    What `COLUMNS` says of names such as 'latency' and 'lost' is true of frames only.
    """
    words = " ".join(word.upper() if word in ABBREVIATIONS else word for word in name.split("_"))
    known = COLUMNS if of_frames or name in STATISTICS else {}
    return known.get(name, words[:1].upper() + words[1:])


def flag_text(flag: Flag) -> str:
    """The flag's sentence with its figures."""
    figures = ", ".join(f"{head(name, of_frames=False)} {digits.text(figure)}" for name, figure in flag.figures.items())
    return f"{flag.text} ({figures})" if figures else flag.text


def is_words(title: str, groups: Collection[str] = ()) -> bool:
    """Whether a column of that title holds words, not figures; `groups` are heads of columns of cases."""
    return title in WORDS or title in groups


def line_table(line: Line) -> Table:
    """Table of a fit: slope and constant, each with its standard error, absolute and in percent."""
    rows = []
    for name, figure, error in (
        ("slope", line.slope, line.slope_error),
        ("constant", line.constant, line.constant_error),
    ):
        percent = f"{digits.significant(abs(error / figure.value) * 100, 2)} %" if figure.value else ""
        rows.append([name, digits.text(figure), f"{digits.significant(error, 2)} {figure.unit}", percent])
    heads = [Head("Line", ""), Head("Value", ""), Head("Standard error", "k = 1"), Head("Share of the value", "")]
    return Table(f"Least-squares line through {len(line.points)} points", heads, rows, [])


def _of_frames(rows: Sequence[Row]) -> Table:
    """By frame size and load; every column in one unit, in the order of `COLUMNS`."""
    rows = sorted(rows, key=lambda row: (row.frame_bytes, row.figures.get("load", _NO_LOAD).value))
    heads, columns = [Head("Frame size", "byte")], [[str(row.frame_bytes) for row in rows]]
    if any(row.case for row in rows):
        heads.append(Head(rows[0].group or "Case", ""))
        columns.append([row.case for row in rows])
    return _table(
        heads, columns, rows, sorted({name for row in rows for name in row.figures}, key=_order), of_frames=True
    )


def _of_cases(group: str, rows: Sequence[Row]) -> Table:
    """In the order of the rows; a column whose figures differ too much has a unit in each cell."""
    names = list(dict.fromkeys(name for row in rows for name in row.figures))
    return _table([Head(group or "Case", "")], [[row.case for row in rows]], rows, names, of_frames=False)


def _table(
    heads: list[Head], columns: list[list[str]], rows: Sequence[Row], names: Sequence[str], *, of_frames: bool
) -> Table:
    marks: set[str] = set()
    for name in names:
        unit, cells = _column([row.figures.get(name) for row in rows], math.inf if of_frames else SPAN_MAX)
        heads.append(Head(head(name, of_frames), unit))
        columns.append([text for text, _ in cells])
        marks |= {mark for _, mark in cells if mark}
    if any(row.remark for row in rows):
        heads.append(Head("Remark", ""))
        columns.append([row.remark for row in rows])
    return Table("", heads, [list(row) for row in zip(*columns, strict=True)], sorted(marks))


def _column(figures: Sequence[Quantity | None], span_max: float) -> tuple[str, list[tuple[str, str]]]:
    """Unit of the header, and cells with their marks."""
    known = [figure for figure in figures if figure is not None]
    sizes = [abs(figure.value) for figure in known if figure.value and math.isfinite(figure.value)]
    if len({figure.unit for figure in known}) > 1 or (sizes and max(sizes) > span_max * min(sizes)):
        shown = [None if figure is None else digits.digits(figure) for figure in figures]
        return "", [(f"{one.compact} {one.unit}", one.mark) if one else ("", "") for one in shown]
    unit, shown = digits.column(figures)
    return unit, [(one.compact, one.mark) if one else ("", "") for one in shown]


def _order(name: str) -> tuple[int, str]:
    names = list(COLUMNS)
    return (names.index(name) if name in names else len(names), name)


_NO_LOAD = Quantity(value=0.0, unit="%")

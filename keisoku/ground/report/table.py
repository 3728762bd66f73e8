"""A result as tables: headers with units, cells as text. Layout belongs to the page and the terminal.

`digits` does all rounding.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from keisoku.ground.report import digits
from keisoku.ground.report.heads import HEADS
from keisoku.ground.run.result import FittedLine, Flag, Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import all_translated, join_texts, phrase

COLUMNS = {
    "start": phrase("From"),
    "end": phrase("To"),
    "mismatch": phrase("Mismatch"),
    "slope": phrase("Slope"),
    "intercept": phrase("At time 0"),
    "level": phrase("Level"),
    "step": phrase("Step"),
    "backlog": phrase("Backlog"),
    "depth": phrase("Buffer depth"),
    "period": phrase("Period"),
    "length": phrase("Length"),
    "throughput": phrase("Throughput"),
    "critical_load": phrase("Critical load"),
    "lapses": phrase("Lossy at any load"),
    "lower_bound": phrase("Lower bound"),
    "upper_bound": phrase("Upper bound"),
    "line_share": phrase("Share of the maximum"),
    "bit_rate": phrase("Bit rate"),
    "low_load_latency": phrase("Latency at low load"),
    "cost": phrase("CPU time a frame"),
    "whole": phrase("With the tester's part"),
    "tester": phrase("Tester's part"),
    "batches": phrase("In the sender's core"),
    "elsewhere": phrase("Elsewhere"),
    "core": phrase("A core carries at most"),
    "instructions": phrase("Instructions a frame"),
    "cycles": phrase("Cycles a frame"),
    "cache_misses": phrase("Cache misses a frame"),
    "pace": phrase("Piece of work"),
    "calm": phrase("Calm batches"),
    "part": phrase("CPU time a frame"),
    "load": phrase("Load"),
    "connections": phrase("Connections"),
    "opened": phrase("Opened after"),
    "offered": phrase("Offered"),
    "valid": phrase("Valid"),
    "refused": phrase("Refused"),
    "forgotten": phrase("Forgotten"),
    "reset": phrase("Reset"),
    "taken": phrase("Taken"),
    "shared": phrase("Shared"),
    "foreign": phrase("Foreign frames"),
    "outer_addresses": phrase("Outer addresses"),
    "outer_ports": phrase("Outer ports"),
    "kept_ports": phrase("Ports kept"),
    "loss": phrase("Frame loss"),
    "latency": phrase("Mean latency"),
    "min": phrase("Minimum"),
    "mean": phrase("Mean"),
    "fifo": phrase("Mean FIFO"),
    "lifo_min": phrase("Minimum LIFO"),
    "lifo": phrase("Mean LIFO"),
    "lifo_max": phrase("Maximum LIFO"),
    "filo": phrase("Mean FILO"),
    "lilo": phrase("Mean LILO"),
    "filo_min": phrase("Minimum FILO"),
    "filo_max": phrase("Maximum FILO"),
    "p50": phrase("Median"),
    "p99": phrase("99 %"),
    "p90": phrase("90 %"),
    "p99.9": phrase("99.9 %"),
    "p99.99": phrase("99.99 %"),
    "max": phrase("Maximum"),
    "pdv": phrase("Delay variation"),
    "pdv_p1": phrase("1 % of trials"),
    "pdv_p99": phrase("99 % of trials"),
    "ipdv_min": phrase("IPDV minimum"),
    "ipdv_median": phrase("IPDV median"),
    "ipdv_max": phrase("IPDV maximum"),
    "typical": phrase("Typical latency"),
    "typical_p1": phrase("1 % of trials"),
    "typical_p99": phrase("99 % of trials"),
    "worst_case": phrase("Worst-case latency"),
    "worst_case_p1": phrase("1 % of trials"),
    "worst_case_p99": phrase("99 % of trials"),
    "reordered": phrase("Reordered"),
    "extent": phrase("Largest extent"),
    "extent_mean": phrase("Mean extent"),
    "late_time": phrase("Latest"),
    "late_mean": phrase("Mean lateness"),
    "byte_offset": phrase("Byte offset"),
    "n_reordered": phrase("3-reordered"),
    "degree": phrase("Largest n"),
    "gap": phrase("Mean gap"),
    "free_run": phrase("Mean free run"),
    "run_variation": phrase("Run variation"),
    "in_place": phrase("RD[0]"),
    "earliest": phrase("RD earliest"),
    "latest": phrase("RD latest"),
    "occupancy": phrase("RBD largest"),
    "beyond": phrase("Beyond threshold"),
    "tagged": phrase("Tagged frame"),
    "drop": phrase("Drop rate"),
    "buffer": phrase("Buffer"),
    "buffer_time": phrase("Emptied in"),
    "counted": phrase("By counts"),
    "extra": phrase("Extra frames"),
    "service": phrase("Output rate"),
    "burst": phrase("Burst"),
    "microburst": phrase("Microburst"),
    "microburst_bytes": phrase("Microburst in bytes"),
    "alone": phrase("Loss without congestion"),
    "one_connection": phrase("Time of one connection"),
    "congested": phrase("Loss at the congested output"),
    "delay": phrase("Added maximum latency"),
    "goodput": phrase("Goodput"),
    "jitter": phrase("Mean jitter"),
    "jitter_p99": phrase("Jitter, 99 %"),
    "jitter_max": phrase("Maximum jitter"),
    "lost": phrase("Lost frames"),
    "duplicated": phrase("Duplicated"),
    "corrupt": phrase("Corrupt"),
    "variation": phrase("Variation"),
    "forwarding_rate": phrase("Forwarding rate, all ports"),
    "frmol": phrase("FRMOL"),
    "mfr": phrase("MFR"),
    "mfr_load": phrase("MFR at"),
    "mfr_offered": phrase("Offered at MFR"),
    "flooded": phrase("Flooded"),
    "uncongested_loss": phrase("Loss at the uncongested output"),
    "congested_loss": phrase("Loss at the congested output"),
    "uncongested_rate": phrase("Rate at the uncongested output"),
    "congested_rate": phrase("Rate at the congested output"),
    "tried": phrase("Tried"),
    "addresses": phrase("Addresses"),
    "table": phrase("Including the tester's own"),
    "learning_rate": phrase("Learning rate"),
    "aggregated": phrase("All ports together"),
    "loss_at_maximum": phrase("Loss at the maximum"),
    "unicast_loss": phrase("Unicast loss"),
    "join_delay": phrase("Join delay"),
    "join_min": phrase("Shortest join"),
    "join_max": phrase("Longest join"),
    "leave_delay": phrase("Leave delay"),
    "leave_min": phrase("Shortest leave"),
    "leave_max": phrase("Longest leave"),
    "groups": phrase("Groups"),
    "forwarded": phrase("Forwarded"),
    "offset": phrase("Offset"),
    "largest_frame": phrase("Largest frame"),
    "constant": phrase("Constant"),
    "burst_min": phrase("Shortest of all"),
    "burst_max": phrase("Longest of all"),
    "burst_deviation": phrase("Standard deviation"),
    "implied_buffer": phrase("Implied buffer time"),
    "corrected_buffer": phrase("Corrected buffer time"),
    "recovery": phrase("Recovery time"),
    "reset_by_loss": phrase("Reset time, by loss"),
    "reset_by_stamps": phrase("Reset time, by timestamps"),
    "interruption": phrase("Longest interruption"),
    "interruption_median": phrase("Median"),
    "interruption_least": phrase("Shortest"),
    "onset": phrase("Event to first loss"),
    "convergence_first": phrase("Event to first flow back"),
    "convergence_median": phrase("Event to median flow back"),
    "convergence": phrase("Event to last flow back"),
    "rate_derived": phrase("By rate (RFC 6413)"),
    "loss_derived": phrase("By loss (RFC 6412)"),
    "deviation": phrase("Largest deviation"),
    "flow_share": phrase("Share of flows"),
    "expected_share": phrase("Expected share"),
    "frame_share": phrase("Share of frames"),
    "flows": phrase("Flows"),
    "affected": phrase("Interrupted"),
    "outages": phrase("Interruptions"),
    "moved": phrase("Left by another port"),
    "moved_needlessly": phrase("Moved without need"),
    "members": phrase("Members with flows"),
    "sprayed": phrase("Sprayed flows"),
    "copied": phrase("Copied flows"),
    "absent": phrase("Flows that did not arrive"),
    "stay": phrase("Frames in a row"),
    "tests": phrase("Tests"),
    "bias": phrase("Bias"),
    "byte_bias": phrase("Bias of bytes"),
    "sampled_one_in": phrase("Samples one frame in"),
    "stated_one_in": phrase("States one frame in"),
    "samples": phrase("Samples"),
    "missing_flows": phrase("Missing flows"),
    "lost_exports": phrase("Lost exports"),
    "export_delay": phrase("Last export after the load"),
    "counter_frames": phrase("Frames by its counter"),
    "true_frames": phrase("True frames"),
    "counter_error": phrase("Error of the counter"),
    "spread": phrase("Spread"),
    "seconds": phrase("Search time"),
    "trials": phrase("Trials"),
}
"""Figures in the order of a table, and their headers; other figures come last, by their names."""


STATISTICS = frozenset({"min", "mean", "max", "p50", "p90", "p99", "p99.9", "p99.99"})
"""Names that mean the same of anything."""
ABBREVIATIONS = frozenset(
    {"cpu", "adev", "mdev", "tdev", "hdev", "mtie", "rtt", "icmp", "tsc", "ttl", "adr", "pdv", "tcp", "rpm"}
)
"""Words of a figure's name that are written in capitals."""
FRAME_SIZE = phrase("Frame size")
SPAN_MAX = 300.0
"""A column whose figures differ by a larger factor is not shown in one unit: each cell has its own."""
REMARK = phrase("Remark")
LINE, CASE, VERDICT, DEVICE = phrase("Line"), phrase("Case"), phrase("Verdict"), phrase("Device")
FIGURE, CELL, LIMIT = phrase("Figure"), phrase("Cell"), phrase("Limited by")
CONTRIBUTION, DISTRIBUTION = phrase("Contribution"), phrase("Distribution")
WORDS = (REMARK, LINE, CASE, VERDICT, DEVICE, FIGURE, CELL, LIMIT, CONTRIBUTION, DISTRIBUTION)
"""Titles of columns that hold words and not figures."""


@dataclass(frozen=True)
class Head:
    """Title and unit of a column."""

    title: str
    unit: str


@dataclass(frozen=True)
class Certainty:
    """How well the figure of a cell is known."""

    interval: str = ""
    """'5.1 … 5.9', '± 0.05', where a line of its own shows it."""
    how: str = ""
    """A word of `report.answer.MEANING`; empty for a cell without a figure."""


@dataclass(frozen=True)
class Table:
    """Cells are formatted text; the first column is the frame size, the last may be a remark."""

    title: str
    heads: list[Head]
    rows: list[list[str]]
    marks: list[str]
    """The marks in the cells, to be explained below the table."""
    known: list[list[Certainty]] = field(default_factory=list)
    """Of each cell on the first screen; no other table has it."""

    def alike(self, column: int) -> str:
        """How well all figures of a column are known, if that is the same of each; else empty."""
        words = {row[column].how for row in self.known} - {""}
        return words.pop() if len(words) == 1 else ""


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
    """The first table of a result with its main figure, and the figure's column; else its first table. None if nothing
    was measured."""
    if not result.line and not any(row.figures for row in result.rows):
        return None
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
    text = words[:1].upper() + words[1:]
    return known.get(name, HEADS.get(text, text))


def in_language(table: Table) -> Table:
    """The table as a reader of the chosen language sees it; each mark is a line that begins with it and explains it."""
    titles, units = [head.title for head in table.heads], [head.unit for head in table.heads]
    cells, marks = [cell for row in table.rows for cell in row], [digits.MARKS[mark] for mark in table.marks]
    said = iter(all_translated([table.title, *titles, *units, *cells, *marks]))
    title, titles, units = next(said), [next(said) for _ in titles], [next(said) for _ in units]
    rows = [[next(said) for _ in row] for row in table.rows]
    explained = [f"{mark} {next(said)}" for mark in table.marks]
    return Table(title, [Head(*head) for head in zip(titles, units, strict=True)], rows, explained)


def flag_text(flag: Flag) -> str:
    """The flag's sentence with its figures."""
    figures = join_texts(
        ", ",
        [join_texts(" ", [head(name, of_frames=False), digits.text(figure)]) for name, figure in flag.figures.items()],
    )
    return join_texts("", [flag.text, " (", figures, ")"]) if figures else flag.text


def is_words(title: str, groups: Collection[str] = ()) -> bool:
    """Whether a column of that title holds words, not figures; `groups` are heads of columns of cases."""
    return title in WORDS or title in groups


def line_table(line: FittedLine) -> Table:
    """Table of a fit: slope and constant, each with its standard error, absolute and in percent."""
    rows = []
    for name, figure, error in (
        (phrase("slope"), line.slope, line.slope_error),
        (phrase("constant"), line.constant, line.constant_error),
    ):
        percent = f"{digits.significant(abs(error / figure.value) * 100, 2)} %" if figure.value else ""
        rows.append([name, digits.text(figure), f"{digits.significant(error, 2)} {figure.unit}", percent])
    heads = [
        Head(LINE, ""),
        Head(phrase("Value"), ""),
        Head(phrase("Standard error"), "k = 1"),
        Head(phrase("Share of the value"), ""),
    ]
    return Table(phrase("Least-squares line through {count} points", count=len(line.points)), heads, rows, [])


def _of_frames(rows: Sequence[Row]) -> Table:
    """By frame size and load; every column in one unit, in the order of `COLUMNS`."""
    rows = sorted(rows, key=lambda row: (row.frame_bytes, row.figures.get("load", _NO_LOAD).value))
    heads, columns = [Head(FRAME_SIZE, "byte")], [[str(row.frame_bytes) for row in rows]]
    if any(row.case for row in rows):
        heads.append(Head(rows[0].group or CASE, ""))
        columns.append([row.case for row in rows])
    return _table(
        heads, columns, rows, sorted({name for row in rows for name in row.figures}, key=_order), of_frames=True
    )


def _of_cases(group: str, rows: Sequence[Row]) -> Table:
    """In the order of the rows; a column whose figures differ too much has a unit in each cell."""
    names = list(dict.fromkeys(name for row in rows for name in row.figures))
    return _table([Head(group or CASE, "")], [[row.case for row in rows]], rows, names, of_frames=False)


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
        heads.append(Head(REMARK, ""))
        columns.append([row.remark for row in rows])
    return Table("", heads, [list(row) for row in zip(*columns, strict=True)], sorted(marks))


def _column(figures: Sequence[Quantity | None], span_max: float) -> tuple[str, list[tuple[str, str]]]:
    """Unit of the header, and cells with their marks."""
    known = [figure for figure in figures if figure is not None]
    sizes = [abs(figure.value) for figure in known if figure.value and math.isfinite(figure.value)]
    if len({figure.unit for figure in known}) > 1 or (sizes and max(sizes) > span_max * min(sizes)):
        shown = [None if figure is None else digits.digits(figure) for figure in figures]
        return "", [(join_texts(" ", [one.compact, one.unit]), one.mark) if one else ("", "") for one in shown]
    unit, shown = digits.column(figures)
    return unit, [(one.compact, one.mark) if one else ("", "") for one in shown]


def _order(name: str) -> tuple[int, str]:
    names = list(COLUMNS)
    return (names.index(name) if name in names else len(names), name)


_NO_LOAD = Quantity(value=0.0, unit="%")

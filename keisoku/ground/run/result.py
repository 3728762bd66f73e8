"""The result of a measurement: rows of figures, each with unit and uncertainty, flags, deviations, remarks.

A result is computed from the raw rows of its run alone and can be computed again. It never formats:
digits and layout belong to `report`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keisoku.frozen import Frozen
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import Text, join_texts, phrase, recorded


class Row(Frozen):
    """One row of a table: a frame size, a hop, a source of time, a limit."""

    figures: dict[str, Quantity]
    """Keyed by the name that `--require` uses: 'throughput', 'mean', 'forward_rate', …"""
    frame_bytes: int = 0
    """Frame size of the row; 0: the row has no frame size."""
    case: Text = ""
    """Name of the row for the user, where the frame size is not enough: '1 to 5', 'hop 3', 'TSC'."""
    group: Text = ""
    """Rows of one group form one table; it is the header of the column of cases: 'Hop', 'Averaging time'."""
    at: Quantity | None = None
    """The row's position on a plot's axis, if it has one: an averaging time, a message size."""
    trial: int | None = None
    """Index of the trial record that shows this row's behaviour over time and its histogram."""
    invalid: Text = ""
    """Why the row is invalid: the tester itself failed. Empty: the row is valid."""
    remark: Text = ""


def place(row: Row) -> str:
    """'64 byte', 'TSC', '64 byte, 1 to 5': the row in words; empty for the only row there is."""
    return join_texts(", ", [part for part in (f"{row.frame_bytes} byte" if row.frame_bytes else "", row.case) if part])


class FittedLine(Frozen):
    """Least-squares line y = slope·x + constant, with standard errors."""

    slope: Quantity
    constant: Quantity
    slope_error: float
    """Asymptotic standard error, in the slope's unit."""
    constant_error: float
    points: list[tuple[float, float]]
    """What was fitted: (frame bytes, latency ns)."""


class Flag(Frozen):
    """A finding that changes what the figures mean: a token bucket, a circular reference, a step."""

    name: str
    """Fixed short name, for programs: 'token-bucket'."""
    text: Text
    """One sentence for the user."""
    figures: dict[str, Quantity] = {}


def translatable_flag(flag: Mapping[str, Any]) -> Flag:
    """A flag that a file holds, whose text can be translated."""
    found = Flag.model_validate(flag)
    return found.model_copy(update={"text": recorded(found.text)})


class Result(Frozen):
    """The result of one measurement of one device, clock, path, stream or system."""

    measurement: str
    """Its name in the table of measurements (`keisoku/running/measurement/table.py`)."""
    title: Text = ""
    """What was measured, for the user: 'TSC against CLOCK_MONOTONIC_RAW'; empty: the measurement's own title."""
    rows: list[Row]
    line: FittedLine | None = None
    flags: list[Flag] = []
    deviations: list[Text] = []
    """Differences of the procedure from its standard, clause first."""
    remarks: list[Text] = []
    sentence: Text = ""
    """What was found, for somebody who reads nothing else; it repeats what the rows say."""
    failure: Text = ""
    """Why the measurement did not give the requested result, although it measured something; empty: it did."""

    @property
    def nothing_because(self) -> str:
        """That no row has a figure, and why in the first row's words; empty if there are figures, or no rows."""
        if not self.rows or self.line or self.flags or any(row.figures for row in self.rows):
            return ""
        return phrase("nothing was measured: {why}", why=self.rows[0].remark or phrase("no row has a figure"))

    @property
    def not_measured(self) -> list[Row]:
        """Rows that should have figures and have none; not those of a group that is in words only."""
        nothing = bool(self.nothing_because)
        groups = [rows for rows in self.groups().values() if nothing or any(row.figures for row in rows)]
        return [row for rows in groups for row in rows if not row.figures]

    def groups(self) -> dict[str, list[Row]]:
        """Rows by group, both in the order in which they were given."""
        found: dict[str, list[Row]] = {}
        for row in self.rows:
            found.setdefault(row.group, []).append(row)
        return found

    def flagged(self, name: str) -> bool:
        """True if a flag of that name was raised."""
        return any(flag.name == name for flag in self.flags)

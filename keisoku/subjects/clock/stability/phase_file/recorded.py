"""What a reader finds in a file of another program: named columns, their times, and what must be said of them.

Chooses nothing by guessing: a column is phase because the form, a name or the user says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from keisoku.errors import PlanError
from keisoku.ground.run.result import Flag
from keisoku.language import phrase
from keisoku.subjects.clock.stability.power_law import Floats

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "ps": 1e-12}
"""Names of units, in s."""
FREQUENCY = "frequency"
"""In place of a unit: the column is no phase."""
_LINES_SHOWN = 2
_LINE_SHOWN = 100
"""Characters of a line."""


@dataclass(frozen=True)
class Column:
    """Numbers of the file as they are written."""

    name: str
    """Empty where the file does not name it."""
    values: Floats
    unit: str = ""
    """One of `UNITS` or `FREQUENCY`; empty where the file does not say it."""


@dataclass(frozen=True)
class Recorded:
    """The columns of one file."""

    form: str
    """Whose form it is, for the user."""
    columns: tuple[Column, ...]
    phase: int | None
    """Index of the column that is the phase if the user names none; None: the file does not say it."""
    times: Floats | None = None
    time_column: int | None = None
    """Index of the times among the columns, if they are one of them."""
    time_units_s: tuple[float, ...] = (1.0,)
    """What one unit of `times` may be, in s."""
    resolution: float = 0.0
    """Last digit of `times`."""
    tau0_s: float | None = None
    """As the head of the file states it."""
    first_lines: tuple[str, ...] = ()
    flags: tuple[Flag, ...] = ()

    def chosen(self, column: str | None) -> int:
        """Index of the column that `column` names or counts from 1, else of the phase. Raises PlanError for none."""
        if column is None:
            if self.phase is None:
                raise self._unknown("nothing says which column is the phase", "name it")
            return self.phase
        names = [plain_name(one.name) for one in self.columns]
        wanted = plain_name(column)
        if wanted and names.count(wanted) == 1:
            return names.index(wanted)
        if column.strip().isdecimal() and 1 <= int(column) <= len(self.columns):
            return int(column) - 1
        raise self._unknown(f"there is no column '{column}'", "name another")

    def _unknown(self, problem: str, remedy: str) -> PlanError:
        names = [f"{number} {one.name}".rstrip() for number, one in enumerate(self.columns, 1)]
        shown = f"{problem}: columns {', '.join(names)}; {shown_lines(self.first_lines)}"
        return PlanError("column", shown, f"{remedy} by --column {'NAME or ' if self.columns[0].name else ''}NUMBER")


def plain_name(name: str) -> str:
    """A column's name without what spellings differ in."""
    return re.sub(r"[\W_]+", " ", name).strip().casefold()


def shown_lines(lines: Sequence[str]) -> str:
    """The first lines of a file, for a sentence."""
    texts = (" ".join(line.split()) for line in lines[:_LINES_SHOWN])
    return "it begins with " + " / ".join(
        f"'{text}'" if len(text) <= _LINE_SHOWN else f"'{text[: _LINE_SHOWN - 1]}…'" for text in texts
    )


def steered(program: str) -> Flag:
    """That the clock of the log is not free."""
    text = phrase(
        "{program} steers the clock whose offset it logs: the figures are of what its control leaves, not of a free "
        "oscillator",
        program=program,
    )
    return Flag(name="steered", text=text)

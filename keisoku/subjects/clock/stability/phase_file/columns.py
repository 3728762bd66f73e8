"""Columns of numbers: files of time-interval counters, Stable32, spreadsheets. The head may name columns and units.

Stable32 writes a head of "Tau=…" and "File Type: …" up to "Header End" (its manual, Data Files); MJD are days.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

import numpy as np

from keisoku.errors import PlanError
from keisoku.ground.run.result import Flag
from keisoku.language import phrase
from keisoku.subjects.clock.stability.phase_file.recorded import (
    FREQUENCY,
    UNITS,
    Column,
    Recorded,
    plain_name,
    shown_lines,
)
from keisoku.subjects.clock.stability.phase_file.spelling import Spelling, spelling
from keisoku.subjects.clock.stability.power_law import Floats

LOOKED_AT = 1000
"""Lines by which the form of a file is told."""
DAY_S = 86_400.0
_COMMENT = ("#", "%", "//", "!")
_HEADER_END = "header end"
_TIMES = ("time", "t", "mjd", "epoch", "timestamp", "seconds", "sec", "elapsed", "elapsed time", "time stamp")
_COUNTS = ("n", "no", "nr", "number", "index", "point", "sample", "i")
_PHASES = (
    "phase",
    "x",
    "offset",
    "te",
    "tie",
    "tic",
    "ti",
    "time error",
    "phase error",
    "time interval",
    "time offset",
)
_FREQUENCIES = ("freq", "frequency", "y", "fractional frequency", "ffo")
_UNIT = re.compile(r"[\s_]+(seconds|sec|s|ms|us|µs|ns|ps|days|d|mjd|ppm|ppb)$")
_SPELLED = {"seconds": "s", "sec": "s", "µs": "us", "days": "mjd", "d": "mjd", "ppm": FREQUENCY, "ppb": FREQUENCY}
_UTC_S = (631_152_000.0, 4_102_444_800.0)
"""From 1990 to 2100."""
_SAME_STEP, _SAME_MOST = 0.01, 0.5
_DIGITS_MOST = 30
_MJD = (30_000.0, 90_000.0)
"""From 1941 to 2105; as seconds of a day, from the morning to the night."""


def read_columns(lines: Iterable[str], column: str | None = None) -> Recorded:
    """All columns of a file; `column` is what the user names, which tells that there are several if it is not 1.

    Raises PlanError where commas may be decimals and may separate, and ValueError for what is no table of numbers.
    """
    source = iter(lines)
    head = list(islice(source, LOOKED_AT))
    end = next((number for number, line in enumerate(head) if line.strip("#%/! \t\r\n").lower() == _HEADER_END), -1)
    facts = [line.strip() for line in head[: end + 1]]
    comments, data, names = list[str](), list[str](), [""]
    for line in head[end + 1 :]:
        if line.strip().startswith(_COMMENT):
            comments += [line.strip().lstrip("#%/! ")] if not data else []
        elif line.strip() and not data and len(names) == 1 and not names[0] and not _numeric(line):
            names = [line.strip()]
        elif text := _stripped(line):
            data.append(text)
    if not data:
        raise ValueError(f"could not read '{names[0]}'" if names[0] else "it is empty")
    spelled = spelling(data, _columns_known(names[0], column))
    if spelled is None:
        problem = f"its commas may be decimal commas or separate columns: {shown_lines(data)}"
        remedy = "write decimal points, or separate columns by ';', or give --column 2 if the second one is the phase"
        raise PlanError("file", problem, remedy)
    count = len(spelled.fields(data[0]))
    body = chain(head[end + 1 :], source)
    table = np.loadtxt(
        _numbers(body, spelled, skip=names[0]), delimiter=spelled.separator, ndmin=2, comments=None, encoding="utf-8"
    )
    titles, titled = _titles(names[0], comments, spelled, count)
    return _recorded(table, titles, titled, spelled, data, facts)


def read_array(values: Floats) -> Recorded:
    """The columns of NumPy's own format, which names neither them nor their units (s unless the user says it).

    Raises ValueError for an array of more dimensions, or of none.
    """
    if values.ndim > 2 or not values.size:
        raise ValueError("it holds no single column of numbers")
    table = values.reshape(len(values), -1)
    spelled = Spelling(None)
    shown = [" ".join(f"{value:.12g}" for value in row) for row in table[:2]]
    return _recorded(table, [""] * table.shape[1], False, spelled, shown, [])


def _numeric(line: str) -> bool:
    """Whether the line begins with a number, however it is spelled."""
    return bool(re.match(r"\s*([+-]?[\d.,]|[+-]?(nan|inf)\b)", line, re.IGNORECASE))


def _stripped(line: str) -> str:
    return line.partition("#")[0].strip()


def _columns_known(names: str, column: str | None) -> int | None:
    if column is not None and column.strip().isdecimal() and int(column) > 1:
        return int(column)
    if not names:
        return None
    return 2 if any(sign in names for sign in ",;\t") else len(_split_names(names, Spelling(None)))


def _split_names(text: str, spelled: Spelling) -> list[str]:
    """With units behind their names: "phase (ns)" is "phase_ns"."""
    joined = re.sub(r"\s*[(\[]\s*([^)\]]*?)\s*[)\]]", r"_\1", text)
    return [name.strip().strip('"') for name in joined.split(spelled.separator)]


def _titles(names: str, comments: Sequence[str], spelled: Spelling, count: int) -> tuple[list[str], bool]:
    """The columns' names, and whether there are any. Raises ValueError for a head of another number of columns."""
    if names:
        found = _split_names(names, spelled)
        if len(found) != count:
            raise ValueError(f"its head '{names}' names {len(found)} columns of {count}")
        return found, True
    for comment in reversed(comments):
        found = _split_names(comment, spelled)
        if len(found) == count and any(_base(name)[0] in _TIMES + _PHASES + _FREQUENCIES for name in found):
            return found, True
    return [""] * count, False


def _base(name: str) -> tuple[str, str]:
    """A column's name without its unit, and the unit."""
    said = name.strip().casefold()
    unit = _UNIT.search(said)
    bare = plain_name(said[: unit.start()] if unit else said)
    found = unit[1] if unit else "mjd" if bare == "mjd" else ""
    return bare, _SPELLED.get(found, found) or (FREQUENCY if bare in _FREQUENCIES else "")


def _numbers(lines: Iterable[str], spelled: Spelling, skip: str) -> Iterator[str]:
    """Lines of numbers for NumPy; the head was read before."""
    for line in lines:
        if line.strip().startswith(_COMMENT):
            continue
        if skip and line.strip() == skip:
            skip = ""
            continue
        if text := _stripped(line):
            yield spelled.line(text)


def _recorded(
    table: Floats, titles: Sequence[str], titled: bool, spelled: Spelling, data: Sequence[str], facts: Sequence[str]
) -> Recorded:
    bases = [_base(title) for title in titles]
    time = _time_column(table, bases)
    values = [number for number in range(table.shape[1]) if number != time and bases[number][0] not in _COUNTS]
    named = [number for number in values if bases[number][0] in _PHASES]
    likely = named if titled and named else values
    phase = likely[0] if len(likely) == 1 and (table.shape[1] == 1 or titled or time is not None) else None
    fact = dict(line.replace("=", ":", 1).lower().split(":", 1) for line in facts if re.search("[:=]", line))
    is_frequency = fact.get("file type", "").strip().startswith("freq")
    units = [FREQUENCY if is_frequency and number != time else bases[number][1] for number in range(len(bases))]
    tau0 = fact.get("tau", "").strip().split()
    flags = []
    if spelled.decimal_comma:
        shown = next(text for text in data if "," in text)
        text = phrase(
            "the file writes decimal commas: '{shown}' is read as '{read}'", shown=shown, read=spelled.line(shown)
        )
        flags.append(Flag(name="decimal-commas", text=text))
    return Recorded(
        form="Stable32" if facts else "",
        columns=tuple(Column(title, table[:, number], units[number]) for number, title in enumerate(titles)),
        phase=phase,
        times=None if time is None else table[:, time],
        time_column=time,
        time_units_s=(1.0,) if time is None else _time_units(table[:, time], bases[time][1]),
        resolution=0.0 if time is None else _last_digit([spelled.fields(line)[time] for line in data]),
        tau0_s=float(tau0[0]) if tau0 else None,
        first_lines=tuple(data[:2]),
        flags=tuple(flags),
    )


def _time_column(table: Floats, bases: Sequence[tuple[str, str]]) -> int | None:
    """The one of several that is called so, else the first if it rises throughout, else the only one in even steps."""
    if len(bases) < 2 or len(table) < 2:
        return None
    if named := [number for number, (name, _) in enumerate(bases) if name in _TIMES]:
        return named[0]
    other = _PHASES + _COUNTS + _FREQUENCIES
    rising = [
        number
        for number, (name, _) in enumerate(bases)
        if name not in other and bool(np.all(np.diff(table[:, number]) > 0))
    ]
    if rising[:1] == [0]:
        return 0
    even = [number for number in rising if _even(table[:, number])]
    return even[0] if len(even) == 1 else None


def _even(times: Floats) -> bool:
    """Whether most steps are the same, as those of a clock with gaps are and those of its phase are not."""
    steps = np.diff(times)
    return len(steps) > 1 and bool(np.mean(np.abs(steps / np.median(steps) - 1.0) < _SAME_STEP) > _SAME_MOST)


def _time_units(times: Floats, unit: str) -> tuple[float, ...]:
    """What a unit of the times may be, in s: numbers like MJD, or like UTC in ns, that nothing names may be seconds."""
    if unit in UNITS:
        return (UNITS[unit],)
    if unit == "mjd":
        return (DAY_S,)
    if _MJD[0] < times[0] and times[-1] < _MJD[1] and np.median(np.diff(times)) < 1.0:
        return (1.0, DAY_S)
    since_1970 = next((scale for scale in (1e-3, 1e-6, 1e-9) if _UTC_S[0] < times[0] * scale < _UTC_S[1]), None)
    return (1.0,) if since_1970 is None else (1.0, since_1970)


def _last_digit(texts: Sequence[str]) -> float:
    """Of times, the smallest difference that they can write."""
    digits = 0
    for text in texts:
        mantissa, _, exponent = text.casefold().partition("e")
        digits = max(digits, len(mantissa.partition(".")[2]) - int(exponent or 0))
    return float(10.0 ** -min(digits, _DIGITS_MOST))

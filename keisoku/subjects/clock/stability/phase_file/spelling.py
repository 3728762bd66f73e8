"""How a file spells its numbers: what separates columns, and whether decimals follow a comma. Never guesses.

"0,255" is a number in half of the world and two columns in the other: only marks that one reading cannot have decide.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_COMMA_NUMBER = re.compile(r"(?P<whole>[+-]?\d*),(?P<part>\d+)(?P<exponent>[eE][+-]?\d+)?")
_LEADING_ZERO = re.compile(r"0\d")
_THOUSANDS = 3
"""Digits after the comma of "12,345", which may be 12 345."""


@dataclass(frozen=True)
class Spelling:
    """Of all lines of one file."""

    separator: str | None
    """None: blanks."""
    decimal_comma: bool = False

    def fields(self, line: str) -> list[str]:
        """The line's fields, as Python spells numbers."""
        return [field.strip() for field in self.line(line).split(self.separator)]

    def line(self, line: str) -> str:
        """The line with decimal points."""
        return line.replace(",", ".") if self.decimal_comma else line


def spelling(lines: Sequence[str], columns: int | None = None) -> Spelling | None:
    """Of these lines of numbers; None if both readings of their commas are possible.

    `columns`: how many there are, where a head or the user says it (more than one: any number above 1).
    """
    separator = next((sign for sign in (";", "\t") if all(sign in line for line in lines)), None)
    if not any("," in line for line in lines):
        return Spelling(separator)
    fields = [field.strip() for line in lines for field in line.split(separator)]
    written = [found for field in fields for text in field.split() if (found := _COMMA_NUMBER.fullmatch(text))]
    commas = sum(line.count(",") for line in lines)
    if len(written) < commas or any("." in line for line in lines):
        return Spelling(separator or ",")
    # Every comma stands between digits, once in a number, and no number has a point.
    grouped = all(_may_be_thousands(one) for one in written)
    if separator is None and columns != 1 and all(len(line.split()) == 1 for line in lines):
        return _one_comma(written, len(lines), grouped, columns)
    return None if grouped else Spelling(separator, decimal_comma=True)


def _may_be_thousands(number: re.Match[str]) -> bool:
    whole = number["whole"].lstrip("+-")
    return len(number["part"]) == _THOUSANDS >= len(whole) and not whole.startswith("0") and not number["exponent"]


def _one_comma(written: Sequence[re.Match[str]], lines: int, grouped: bool, columns: int | None) -> Spelling | None:
    """Nothing but one comma a line: columns of integers have neither "-0" nor "029455", and times rise evenly."""
    if columns is not None:
        return Spelling(",")
    wholes = [int(one["whole"]) if one["whole"].strip("+-") else 0 for one in written]
    steps = {after - before for before, after in pairwise(wholes)}
    counts = len(written) == lines and len(steps) == 1 and min(steps) > 0
    decimals = any(one["whole"] in ("-0", "", "-", "+") or _LEADING_ZERO.match(one["part"]) for one in written)
    if decimals == counts or (decimals and grouped):
        return None
    return Spelling(",") if counts else Spelling(None, decimal_comma=True)

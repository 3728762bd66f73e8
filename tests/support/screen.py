"""A terminal that understands what rich sends: text, lines, colours, moves up, erased lines, and the cursor's state."""

from __future__ import annotations

import io
import re

_PART = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|(\n)|(\r)|([^\x00-\x1f\x7f])")
_BEGUN = re.compile(r"(\x1b(\[[?\d;]*)?)?\Z")
"""At the end of a text, a sequence whose rest comes with the next one."""


class Screen(io.StringIO):
    """A file of `width` columns. It keeps all lines, also those that a real one scrolled out at its top.

    Raises AssertionError for a sequence that it does not know, and for a move above the lines that a real one shows.
    """

    def __init__(self, width: int, height: int) -> None:
        super().__init__()
        self.width, self.height = width, height
        self.shows_cursor = True
        self.wrapped: list[str] = []
        """Lines that were longer than the screen is wide."""
        self._lines: list[str] = [""]
        self._row = self._column = 0
        self._begun = ""

    @property
    def text(self) -> str:
        """What stands there."""
        return "\n".join(line.rstrip() for line in self._lines).rstrip()

    def write(self, text: str, /) -> int:
        """Text as a program sends it, cut anywhere."""
        whole = self._begun + text
        self._begun = _BEGUN.search(whole)[0]  # type: ignore[index]  # an empty one is found too
        whole, at = whole.removesuffix(self._begun), 0
        for part in _PART.finditer(whole):
            assert part.start() == at, f"the screen does not know {whole[at : part.start()]!r}"
            at = part.end()
            self._take(*part.groups())
        assert at == len(whole), f"the screen does not know {whole[at:]!r}"
        return len(text)

    def _take(self, value: str | None, final: str | None, feed: str | None, back: str | None, char: str | None) -> None:
        if feed:
            self._to(self._row + 1)
            self._column = 0
        elif back:
            self._column = 0
        elif char:
            self._put(char)
        elif final == "A":
            self._to(self._row - int(value or 1))
        elif final == "K":
            assert value == "2", f"the screen does not know K with {value!r}"
            self._lines[self._row] = ""
        elif final in ("h", "l") and value == "?25":
            self.shows_cursor = final == "h"
        else:
            assert final == "m", f"the screen does not know {value!r}{final!r}"

    def _put(self, char: str) -> None:
        if self._column == self.width:
            self.wrapped.append(self._lines[self._row])
            self._to(self._row + 1)
            self._column = 0
        line = self._lines[self._row].ljust(self._column)
        self._lines[self._row] = line[: self._column] + char + line[self._column + 1 :]
        self._column += 1

    def _to(self, row: int) -> None:
        assert row >= max(0, len(self._lines) - self.height), "a move above the screen"
        self._lines += [""] * (row + 1 - len(self._lines))
        self._row = row

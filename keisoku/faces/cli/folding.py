"""Lines for a stream: on a terminal they are folded between words, and in a file or a pipe left as they are."""

from __future__ import annotations

import re
from typing import TextIO

from keisoku.language import translated

_WIDE = "\u2e80-\uffef"
"""Letters of Chinese and Japanese, with their punctuation: each is as wide as two of English."""
_PIECES = re.compile(rf"[（「]*(?:[{_WIDE}]|[^\s{_WIDE}]+)[、。）」：；]*\s*")
"""Between two of these a line may end: Japanese has no spaces, and no line of it begins with punctuation."""


def fold(said: str, stream: TextIO, indent: str = "", most: int | None = None) -> str:
    """`indent` is before what follows of each line; `most` is the width in files too, and the greatest on terminals.

    A word that is longer than a line, such as a path, is not cut. The text is in the reader's language then.
    """
    said = translated(said)
    if most is None and not stream.isatty():
        return said
    # Loaded for whoever looks at a terminal, not for every command: the first of them loads all archive formats.
    import shutil
    import textwrap

    width = shutil.get_terminal_size().columns if stream.isatty() else most or 0
    if re.search(f"[{_WIDE}]", said):
        lines = [wide_lines(line, min(width, most or width), indent) for line in said.split("\n")]
        return "\n".join("\n".join(each) for each in lines)
    return "\n".join(
        textwrap.fill(
            line,
            min(width, most or width),
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in said.split("\n")
    )


def wide_lines(said: str, width: int, indent: str = "") -> list[str]:
    """Lines of a Japanese text of at most `width` columns of a terminal, the second and later ones indented."""
    before = said[: len(said) - len(said.lstrip())]
    lines, free = [before], width - len(before)
    for piece in _PIECES.findall(said):
        size = _columns(piece.rstrip())
        if size > free and lines[-1].strip():
            lines.append(indent)
            free = width - len(indent)
        lines[-1] += piece
        free -= _columns(piece)
    return [line.rstrip() for line in lines]


def _columns(text: str) -> int:
    return len(text) + len(re.findall(f"[{_WIDE}]", text))

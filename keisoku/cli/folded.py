"""Lines for a stream: on a terminal they are folded between words, and in a file or a pipe left as they are."""

from __future__ import annotations

from typing import TextIO


def folded(said: str, stream: TextIO, indent: str = "", most: int | None = None) -> str:
    """`indent` is before what follows of each line; `most` is the width in files too, and the greatest on terminals.

    A word that is longer than a line, such as a path, is not cut.
    """
    if most is None and not stream.isatty():
        return said
    # Loaded for whoever looks at a terminal, not for every command: the first of them loads all archive formats.
    import shutil
    import textwrap

    width = shutil.get_terminal_size().columns if stream.isatty() else most or 0
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

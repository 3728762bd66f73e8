"""Who watches a measurement of this command: a live table on a terminal, lines otherwise and with --plain."""

from __future__ import annotations

import sys

from keisoku.faces.cli.amount import amount
from keisoku.faces.cli.progress import Lines


def watching() -> Lines:
    """The observer for this command; lines, too, where rich finds no terminal, such as TERM=dumb."""
    asked = amount()
    if asked.plain or not sys.stderr.isatty():
        return Lines(asked.verbose)
    from rich.console import Console  # what draws on terminals is loaded for terminals only

    from keisoku.faces.cli.live import Live

    console = Console(stderr=True)
    drawn = console.is_terminal and not console.is_dumb_terminal
    return Live(console, asked.verbose) if drawn else Lines(asked.verbose)

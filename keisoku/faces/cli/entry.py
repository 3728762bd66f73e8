"""The entry point. A shell that completes a word is answered before anything else is imported: its user waits."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Runs the command, or answers a shell."""
    if asked := os.environ.get("_KEISOKU_COMPLETE"):
        from keisoku.faces.cli.completing import answer

        sys.stdout.write(answer(asked, os.environ))
        return
    from keisoku.faces.cli.main import main as run

    run()

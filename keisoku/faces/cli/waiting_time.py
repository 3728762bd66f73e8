"""How long the user of this command has waited already: a limit of time counts from the start of the program."""

from __future__ import annotations

import click


def waited_s() -> float:
    """Seconds since the start of the program, if it carries out nothing but this command, which the entry point says by
    the context's object; 0 within another program."""
    context = click.get_current_context(silent=True)
    if context is None or context.find_root().obj is not True:
        return 0.0
    from keisoku.ground.host.process import age_s  # a command that only shows its help waits for nothing

    return age_s()

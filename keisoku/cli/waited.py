"""How long the user of this command has waited already: a limit of time counts from the start of the program."""

from __future__ import annotations

from time import monotonic

import click

from keisoku.host.process import age_s


def began_s() -> float:
    """CLOCK_MONOTONIC at the start of this process, which the entry point hands to its commands."""
    return monotonic() - age_s()


def waited_s() -> float:
    """Seconds since the start of the program that carries out nothing but this command; 0 within another program."""
    context = click.get_current_context(silent=True)
    began = None if context is None else context.find_root().obj
    return 0.0 if began is None else monotonic() - float(began)

"""The errors a user can cause or meet. Each is one sentence: which field, what is wrong, what to do.

The command turns them into exit code 2; nothing else may print or exit.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from importlib.util import find_spec

_SHOWN = 60
"""Characters of a wrong value."""
_NAMED = 20
"""So many names are told where none is like the wrong one."""


class KeisokuError(Exception):
    """Base of everything a user is told without a traceback."""


class PlanError(KeisokuError):
    """What the user asked for cannot be done; `field` names the option or TOML key."""

    def __init__(self, field: str, problem: str, remedy: str) -> None:
        self.field, self.problem, self.remedy = field, problem, remedy
        super().__init__(f"{field}: {problem}; {remedy}")


class Occupied(PlanError):
    """What the user asked for needs something that is in use; the same may be possible later (HTTP 409)."""


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def to_write(error: OSError, otherwise: str) -> str:
    """What to do where a file cannot be written: only on a full disk is there room to make."""
    return f"make room or {otherwise}" if error.errno in _FULL else otherwise


class EngineError(KeisokuError):
    """A port or device failed while the trial was being prepared or carried out."""


def demand(packages: Iterable[str]) -> None:
    """Raises ModuleNotFoundError for a package of an extra that is not installed, before what needs it has begun."""
    for name in packages:
        if find_spec(name) is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def excerpt(value: object) -> str:
    """A value as it was written, cut if it is long."""
    try:
        text = f"'{value}'" if isinstance(value, str) else repr(value)
    except ValueError:  # an integer of thousands of digits
        return "this number"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def instead(name: str, known: Sequence[str]) -> str:
    """What to do about a name that is not known: the one that is like it, or which there are."""
    from difflib import get_close_matches  # only needed for what is wrong

    if close := get_close_matches(name, known, n=1):
        return f"did you mean '{close[0]}'?"
    more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    return f"use one of {', '.join(known[:_NAMED])}{more}"

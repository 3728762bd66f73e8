"""Removes the namespaces that killed processes left; never those of a living one unless forced."""

from __future__ import annotations

import os

from keisoku.errors import PlanError
from keisoku.lab.namespace import existing


def clean(force: bool = False) -> list[str]:
    """Remove every `keisoku-<pid>-...` namespace whose process is gone, with `force` every one.

    With a namespace go its interfaces, bridges and programs. Returns the names of what was removed.
    Raises PlanError without the privilege to remove.
    """
    removed = []
    for namespace in existing():
        if not force and _lives(namespace.owner):
            continue
        try:
            namespace.remove()
        except PermissionError as error:
            raise PlanError("clean", f"{namespace.name} cannot be removed ({error})", "run it as root") from error
        removed.append(namespace.name)
    return removed


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

"""Removes the namespaces that killed processes left, and ends their daemons.

Never those of a living process, unless forced.
"""

from __future__ import annotations

from keisoku.errors import PlanError
from keisoku.host.namespace import existing
from keisoku.host.owner import lives
from keisoku.lab.daemons import end_left, left


def clean(force: bool = False) -> list[str]:
    """Remove every `keisoku-<pid>-...` namespace whose process is gone, with `force` every one.

    With a namespace go its interfaces, bridges and programs; the daemons in it are ended before, and their files
    removed. Returns the names of what was removed.
    Raises PlanError without the privilege to remove.
    """
    removed = []
    for namespace in sorted({made.name: made for made in (*left(), *existing())}.values(), key=lambda made: made.name):
        if not force and lives(namespace.owner):
            continue
        try:
            end_left(namespace)
            namespace.remove()
        except PermissionError as error:
            raise PlanError("clean", f"{namespace.name} cannot be removed ({error})", "run it as root") from error
        removed.append(namespace.name)
    return removed

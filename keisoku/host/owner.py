"""Whether the process to which something on this host belongs still lives. It ends none."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def lives(process: int, born: int | None = None) -> bool:
    """Also where the process is another user's. `born`: when the owner began, if that was kept."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return born is None or born_at(process) == born


def born_at(process: int) -> int:
    """When a process began, in clock ticks since boot: its number may pass to another one. 0: there is none."""
    with suppress(OSError, IndexError, ValueError):
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19])
    return 0

"""Whether the process to which something on this host belongs still lives. It ends none."""

from __future__ import annotations

import os


def lives(process: int) -> bool:
    """Also where the process is another user's."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

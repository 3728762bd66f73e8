"""`TemporaryFolder`: a folder among the system's temporary files that is removed when its process ends in any way."""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path

from keisoku.ground.host.undo import record, undo, undo_left


class TemporaryFolder:
    """A new one, for this user only, until `remove`. `kind` is a part of its name."""

    def __init__(self, kind: str) -> None:
        undo_left()
        self.path = Path(tempfile.gettempdir()) / f"keisoku-{kind}-{os.getpid()}-{secrets.token_hex(4)}"
        self._entry = record("folder", path=str(self.path))
        self.path.mkdir(mode=0o700)

    def remove(self) -> None:
        """Removes it with its contents; twice is no error."""
        undo(self._entry)

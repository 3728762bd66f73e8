"""`--out` of commands that write one file."""

from __future__ import annotations

from pathlib import Path

from keisoku.errors import KeisokuError


def write_out(path: Path, content: str | bytes) -> None:
    """Raises KeisokuError if the file cannot be written."""
    try:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise KeisokuError(f"--out: cannot write {path}: {error.strerror}; choose another file") from error

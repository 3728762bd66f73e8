"""A calibration as a file of this machine, whatever its content."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel

from keisoku.errors import KeisokuError, to_write


def written(path: Path, calibration: BaseModel) -> Path:
    """Writes it as JSON and returns the path. Raises KeisokuError if it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(calibration.model_dump_json(indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        how = to_write(error, "set XDG_STATE_HOME")
        raise KeisokuError(f"calibration: cannot write {path}: {error.strerror}; {how}") from error
    return path

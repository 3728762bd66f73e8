"""The key of STAMP's authenticated mode (RFC 8762 §4.4), in a file. The key itself is never shown or kept."""

from __future__ import annotations

from pathlib import Path

from keisoku.errors import PlanError
from keisoku.ground.host.text_file import read_bytes


def read_key(path: Path | str | None) -> bytes | None:
    """The bytes of the file without a line end; None if no file is named. Raises PlanError if there is no key in it."""
    if path is None:
        return None
    key = read_bytes("key_file", Path(path)).rstrip(b"\r\n")
    if not key:
        raise PlanError("key_file", f"{path} is empty", "put the key there")
    return key

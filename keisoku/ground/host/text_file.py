"""Small text files that a user names: plans, devices, systems, studies, tokens, keys. Read whole, within bounds.

Whatever stands behind the name (a device, a pipe, a film), reading neither waits nor fills the memory.
"""

from __future__ import annotations

import re
import stat
import tomllib
from pathlib import Path
from typing import Any

from keisoku.errors import PlanError

MOST_BYTES = 1 << 20
"""Of a file that a person writes."""
MOST_DEPTH = 32
"""Tables and arrays within each other; our own files have four levels."""
_DOTTED_KEY = re.compile(
    rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{MOST_DEPTH}}}""", re.ASCII
)
"""One that is too deep; sought before reading, which takes a time that grows with the square of its length."""


def check_regular(field: str, path: Path) -> None:
    """Raises PlanError, naming `field`, for what is no regular file: a pipe never ends, and /dev/zero neither."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        raise unreadable(field, path, error) from error
    if not stat.S_ISREG(mode):
        what = "a directory" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise PlanError(field, f"{path} is {what}, not a file", "give the path of a readable file")


def read_bytes(field: str, path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """The whole file. Raises PlanError, naming `field`, if it cannot be read or is longer than `most_bytes`."""
    check_regular(field, path)
    try:
        with path.open("rb") as file:
            content = file.read(most_bytes + 1)
    except OSError as error:
        raise unreadable(field, path, error) from error
    if len(content) > most_bytes:
        raise PlanError(field, f"{path} is longer than {most_bytes >> 10} KiB", "give a file that is shorter")
    return content


def read_text(field: str, path: Path, most_bytes: int = MOST_BYTES) -> str:
    """The whole file as text, its line ends as '\\n' and without a byte order mark.

    Raises PlanError as `read_bytes`, and for what is not UTF-8.
    """
    try:
        text = read_bytes(field, path, most_bytes).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PlanError(field, f"cannot read {path}: it is not UTF-8 text", "save it as UTF-8") from error
    return text.replace("\r\n", "\n")


def read_toml(field: str, path: Path, most_bytes: int = MOST_BYTES) -> dict[str, Any]:
    """The values of a TOML file. Raises PlanError as `read_text` and `parse_toml`."""
    return parse_toml(field, str(path), read_text(field, path, most_bytes))


def parse_toml(field: str, name: str, text: str) -> dict[str, Any]:
    """The values of a TOML text called `name`. Raises PlanError if it is none, or nested deeper than `MOST_DEPTH`."""
    values = None
    try:
        if not _DOTTED_KEY.search(text):
            values = tomllib.loads(text)
    except ValueError as error:  # a number of thousands of digits is no TOMLDecodeError
        raise PlanError(field, f"{name} is not valid TOML: {error}", "correct that line") from error
    except RecursionError:
        pass
    if values is None or _deeper(values, MOST_DEPTH):
        raise PlanError(field, f"{name} has more than {MOST_DEPTH} tables or arrays within each other", "write fewer")
    return values


def _deeper(values: object, depth: int) -> bool:
    """Without recursion: what is measured may be deeper than the interpreter's stack."""
    level = [values]
    for _ in range(depth):
        level = [inner for one in level for inner in _inside(one) if isinstance(inner, dict | list)]
    return bool(level)


def _inside(value: object) -> list[object]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def unreadable(field: str, path: Path, error: OSError | ValueError) -> PlanError:
    """What to raise for a file that the host does not let us read."""
    reason = getattr(error, "strerror", None) or str(error)
    return PlanError(field, f"cannot read {path}: {reason}", "check the path and its permissions")

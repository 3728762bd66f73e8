"""The option that names the file of a STAMP key. The key itself is never shown or kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from keisoku.errors import PlanError

F = TypeVar("F", bound=Callable[..., Any])


def key_option(command: F) -> F:
    """Adds --key-file."""
    return click.option(
        "--key-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="authenticated mode (RFC 8762 §4.4) with the bytes of FILE as key, but for a line end",
    )(command)


def read_key(path: Path | None) -> bytes | None:
    """Raises PlanError if there is no key in the file."""
    if path is None:
        return None
    try:
        key = path.read_bytes().rstrip(b"\r\n")
    except OSError as error:
        raise PlanError("--key-file", f"cannot read {path}: {error.strerror}", "give a readable file") from error
    if not key:
        raise PlanError("--key-file", f"{path} is empty", "put the key there")
    return key

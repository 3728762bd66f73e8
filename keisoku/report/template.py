"""Jinja's templates of pages and cells: every name must be given, and all values are escaped."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

_FOLDER = Path(__file__).parent / "templates"


def environment(*folders: Path) -> Environment:
    """A new one, to which filters may be added; `folders` hold templates besides those of this package."""
    return Environment(
        loader=FileSystemLoader([*folders, _FOLDER]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

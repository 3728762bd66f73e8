"""Jinja's templates of pages and cells: every name must be given, and all values are escaped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from keisoku.language import joined, language, phrase, translated

_FOLDER = Path(__file__).parent / "templates"


def environment(*folders: Path) -> Environment:
    """A new one, to which filters may be added; `folders` hold templates besides those of this package.

    A template says its own texts with `phrase`, whose literal may hold markup; values are translated where they are
    shown.
    """
    made = Environment(
        loader=FileSystemLoader([*folders, _FOLDER]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    made.globals["phrase"] = _phrase
    made.globals["language"] = language()
    made.globals["joined"] = joined
    return made


def _shown(value: Any) -> Any:
    return translated(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _phrase(template: str, /, **values: Any) -> Markup:
    """Of a template: its literal is markup, its values are escaped where they are none."""
    return Markup(translated(phrase(template))).format(**{name: _shown(value) for name, value in values.items()})

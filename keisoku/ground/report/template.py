"""Jinja's templates of pages and cells: every name must be given, and all values are escaped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import BytecodeCache, Environment, FileSystemLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup

from keisoku.language import form, join_texts, language, phrase, translated

_FOLDER = Path(__file__).parent / "templates"


class _Compiled(BytecodeCache):
    """Templates of this process, so that its second report does not compile them again (0.2 s)."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self._kept:
            bucket.bytecode_from_string(self._kept[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._kept[bucket.key] = bucket.bytecode_to_string()


_COMPILED = _Compiled()


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
        bytecode_cache=_COMPILED,
    )
    made.globals["phrase"] = _phrase
    made.globals["plural"] = _plural
    made.globals["language"] = language()
    made.globals["joined"] = join_texts
    return made


def _shown(value: Any) -> Any:
    return translated(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _plural(one: str, many: str, /, *, count: object, **values: Any) -> Markup:
    return _phrase(form(one, many, count), count=count, **values)


def _phrase(template: str, /, **values: Any) -> Markup:
    """Of a template: its literal is markup, its values are escaped where they are none."""
    return Markup(translated(phrase(template))).format(**{name: _shown(value) for name, value in values.items()})

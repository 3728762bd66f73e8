"""Texts in the reader's language: written in English with named places for values, and translated where they are shown.

Whoever makes a text writes `phrase("{count} more rows", count=3)`. That is the English text, a `str` like any other,
which code, files and tests read. Where a page or a terminal shows it, `translated` says it in the language that was
chosen (`speaking`), by the catalogue in `locale`, whose keys are the English texts with their places. A text that has
no entry stays English. Numbers and units are the same in all languages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from string import Formatter
from threading import local
from typing import TYPE_CHECKING, Annotated, Any

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

ENGLISH = "en"
LANGUAGES = (ENGLISH, "ja")
"""ISO 639-1, as of `<html lang>`."""
SEPARATORS = {"ja": "}、{"}
"""What stands between the texts of a list in place of the English comma."""
_CATALOGUES = Path(__file__).parent / "locale"
_LEAST_LETTERS = 8
_chosen = ENGLISH
"""Of the process and not of a thread: a live table is drawn by a thread of its own."""
_reader = local()
"""Whoever a thread writes for, where that is another one than the process's own reader."""


class Phrase(str):
    """An English text that knows how it was made. Text that is made of it by other means than `+` is only English."""

    template: str
    values: Mapping[str, Any]

    def __add__(self, more: str) -> str:
        return join_texts("", [self, more])

    def __radd__(self, before: str) -> str:
        return join_texts("", [before, self])


def phrase(template: str, /, **values: Any) -> str:
    """The English text: `template` with `values` in its places, each of which may be a text itself.

    `template` is a literal where this is called, so that a test finds every text that needs an entry in the catalogue.
    """
    return _made(template.format(**values) if values else template, template, values)


def plural(one: str, many: str, /, *, count: object, **values: Any) -> str:
    """The English text `one` where `count` is 1, else `many`, as gettext's `ngettext` chooses; both are literals with a
    place for it. It may be in digits already.

    The catalogue has one entry for both: `msgid`, `msgid_plural` and `msgstr[0]`, as its language has one form only.
    """
    template = form(one, many, count)
    values = {"count": count, **values}
    return _made(template.format(**values), template, values)


def form(one: str, many: str, count: object) -> str:
    """Which of the two English forms is that of so many."""
    return one if count in (1, "1") else many


def recorded(text: str) -> str:
    """An English text from a file, or a word of a few; it is translated if it was made with `phrase`."""
    return text if isinstance(text, Phrase) else _made(text, text, {})


def join_texts(separator: str, texts: Iterable[str]) -> str:
    """Several texts as one, as `str.join` makes it. The separator is no word of a language."""
    values = {f"part{number}": text for number, text in enumerate(texts)}
    return _made(separator.join(values.values()), separator.join(f"{{{name}}}" for name in values), values)


def mapped(change: Callable[[str], str], text: str) -> str:
    """The text with `change` made to all that was put into its places, such as to escape it."""
    changed = change(text)
    if not isinstance(text, Phrase):
        return changed
    values = {name: mapped(change, value) if isinstance(value, str) else value for name, value in text.values.items()}
    return _made(changed, text.template, values)


def sentence_case(text: str) -> str:
    """With a capital at its beginning, as English begins a sentence."""
    return _cased(text, text[:1].upper() + text[1:])


def first_lower(text: str) -> str:
    """With a small letter at its beginning, as it continues an English sentence; an abbreviation stays as it is."""
    return text if text[:2].isupper() else _cased(text, text[:1].lower() + text[1:])


def lower_case(text: str) -> str:
    """All in small letters, as English names a thing inside a sentence."""
    return _cased(text, text.lower())


def translated(text: str) -> str:
    """The text in the chosen language; one of which nothing but its letters is known stays as it is."""
    if not isinstance(text, Phrase):
        return text
    chosen = language()
    if chosen == ENGLISH:
        return str(text)
    template = catalogue(chosen).get(text.template, text.template)
    if template is text.template and not text.values:
        return _recognised(text.template, chosen)
    if template is text.template:  # texts that are only joined
        template = template.replace("}, {", SEPARATORS[chosen])
    return template.format(**{name: _value(value) for name, value in text.values.items()}) if text.values else template


def all_translated(texts: Iterable[str]) -> list[str]:
    """Each of the texts in the chosen language: what is laid out together is translated together, before."""
    return [translated(text) for text in texts]


def language() -> str:
    """The chosen one of `LANGUAGES`."""
    chosen: str = getattr(_reader, "language", _chosen)
    return chosen


@contextmanager
def written_in(name: str) -> Iterator[None]:
    """What this thread translates in here is said in this language: a server has readers of several at a time."""
    _reader.language = name
    try:
        yield
    finally:
        del _reader.language


@contextmanager
def speaking(name: str) -> Iterator[None]:
    """What is translated in here is said in this language."""
    global _chosen
    before, _chosen = _chosen, name
    try:
        yield
    finally:
        _chosen = before


@cache
def catalogue(name: str) -> Mapping[str, str]:
    """The translation of each English text into this language, by the English one.

    Read as it is written, a file of gettext in text form, so that nothing has to be compiled after a change. Raises
    ValueError for a file that is none.
    """
    import ast  # of no use to whoever reads English

    found: dict[str, str] = {}
    entry: dict[str, str] = {}
    field = ""
    fields = {"msgid": "msgid", "msgid_plural": "msgid_plural", "msgstr": "msgstr", "msgstr[0]": "msgstr"}
    path = _CATALOGUES / name / "LC_MESSAGES" / "keisoku.po"
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        word, _, rest = line.partition(" ")
        if word in fields:
            field = fields[word]
            if field == "msgid":
                entry.clear()
            entry[field] = ""
        elif line.startswith('"') and field:
            rest = line
        elif not line or line.startswith("#"):
            field = ""
            continue
        else:
            raise ValueError(f"{path}, line {number}: '{line}' is none of {', '.join(fields)}")
        entry[field] += ast.literal_eval(rest)  # strings are written as in C, which Python reads
        if field == "msgstr" and entry["msgid"]:
            for key in {entry["msgid"], entry.get("msgid_plural", entry["msgid"])}:
                found[key] = entry["msgstr"]
    return {key: value for key, value in found.items() if value}


@cache
def _recognised(text: str, name: str) -> str:
    """A text of which only its letters are known, by the template of most letters that it can have been made of."""
    for pattern, translation in _patterns(name):
        if found := pattern.fullmatch(text):
            values = {key: translated(recorded(value)) for key, value in found.groupdict().items()}
            return "".join(
                literal + (values[place] if place else "") for literal, place, *_ in Formatter().parse(translation)
            )
    return text


@cache
def _patterns(name: str) -> list[tuple[re.Pattern[str], str]]:
    """What texts with values look like, and their translations; not those that could be almost any text."""
    found = []
    for template, translation in catalogue(name).items():
        parts = list(Formatter().parse(template))
        letters = sum(letter.isalpha() for literal, *_ in parts for letter in literal)
        if letters < _LEAST_LETTERS or not any(place for _, place, *_ in parts):
            continue
        pattern, seen = "", set[str]()
        for literal, place, *_ in parts:
            pattern += re.escape(literal)
            if place:
                pattern += f"(?P={place})" if place in seen else f"(?P<{place}>.+?)"
                seen.add(place)
        found.append((letters, re.compile(pattern, re.DOTALL), translation))
    found.sort(key=lambda each: each[0], reverse=True)
    return [(pattern, translation) for _, pattern, translation in found]


def _made(text: str, template: str, values: Mapping[str, Any]) -> Phrase:
    made = Phrase(text)
    made.template, made.values = template, values
    return made


def _cased(text: str, english: str) -> Phrase:
    """`text` in a language that has no capitals; `english` in English."""
    return _made(english, "{text}", {"text": text if isinstance(text, Phrase) else english})


def _value(value: Any) -> Any:
    return translated(value) if isinstance(value, str) else value


class _Keeps:
    """Of a pydantic model, a field of text that stays what it is, or is one of a file; pydantic makes plain `str`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        return core_schema.no_info_wrap_validator_function(
            lambda value, text: value if isinstance(value, Phrase) else recorded(text(value)), handler(source)
        )


Text = Annotated[str, _Keeps()]
"""A field of a pydantic model that may hold a `Phrase`. In a file it is English."""

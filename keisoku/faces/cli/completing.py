"""What a shell offers for a word, from `words.json`: commands, options, and values of both.

It imports nothing of keisoku and little else, because it answers each press of the tab key. The file is made from the
commands by `packaging/completion_words.py`, and a test compares them.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

FILE, FLAG, MEASUREMENT, PORT, TEXT = "file", "", "measurement", "port", "text"
"""Kinds of values besides lists of words, which are written 'a|b', and those in `values` of the file: `FLAG` is that of
an option without a value, and nothing is offered for `TEXT`."""
MANY = "..."
"""Behind the kind of an argument that stands any number of times."""
_WORDS = Path(__file__).with_name("words.json")
_BREAKS = "=:"
"""Characters at which bash begins a new word, of which it replaces only the last one."""


class Offer(NamedTuple):
    """A word that may follow; `kind` is 'plain', or 'file' for whatever the shell itself finds."""

    kind: str
    word: str
    help: str = ""


def answer(shell: str, environment: Mapping[str, str]) -> str:
    """For the script of `keisoku completion` of this shell ('bash_complete'), which says the words in `environment`."""
    kind = shell.partition("_")[0]
    before, begun = _asked(kind, environment)
    found = offers(before, begun)
    if kind == "zsh":
        return "".join(f"{each.kind}\n{each.word}\n{each.help or '_'}\n" for each in found)
    if kind == "fish":
        return "".join(f"{each.kind},{each.word}" + (f"\t{each.help}\n" if each.help else "\n") for each in found)
    cut = max(begun.rfind(mark) for mark in _BREAKS) + 1
    return "".join(f"{each.kind},{each.word[cut:]}\n" for each in found)


def offers(before: Sequence[str], begun: str) -> list[Offer]:
    """What may follow the words `before` on a command line, where `begun` is typed of the next one."""
    every = json.loads(_WORDS.read_text("utf-8"))
    node, options, arguments, wanted = every["commands"], _options(every, every["commands"]), list[str](), ""
    for word in before:
        if wanted:
            wanted = ""
        elif word.startswith("-"):
            wanted = "" if "=" in word else options.get(word, FLAG)
        elif "commands" in node and not arguments:
            node = node["commands"].get(word, {})
            options, arguments = _options(every, node), list(node.get("arguments", ()))
        elif arguments and arguments[0].removesuffix(MANY) == MEASUREMENT:
            # Behind `ab` stands another command, with its own options.
            node = every["commands"]["commands"].get(word, {})
            options, arguments = options | _options(every, node), list(node.get("arguments", ()))
        elif arguments and not arguments[0].endswith(MANY):
            arguments.pop(0)
    if not wanted and begun.startswith("-"):
        option, equals, value = begun.partition("=")
        if equals:
            return [
                each._replace(word=f"{option}={each.word}") for each in _values(every, options.get(option, TEXT), value)
            ]
        return [Offer("plain", name) for name in options if name.startswith(begun)]
    if not wanted and "commands" in node:
        found = node["commands"].items()
        return [Offer("plain", name, command["help"]) for name, command in found if name.startswith(begun)]
    return _values(every, wanted or (arguments[0].removesuffix(MANY) if arguments else TEXT), begun)


@cache
def first_sentences() -> dict[str, str]:
    """That of the help of each command, by the first word of the command."""
    every = json.loads(_WORDS.read_text("utf-8"))
    return {name: command["help"] for name, command in every["commands"]["commands"].items()}


def _options(every: Mapping[str, Any], node: Mapping[str, Any]) -> dict[str, str]:
    return {**node.get("options", {}), **every["shared"].get(node.get("shared"), {})}


def _values(every: Mapping[str, Any], kind: str, begun: str) -> list[Offer]:
    """Words of a kind; of a list with commas its last one."""
    if kind == FILE:
        return [Offer(FILE, begun)]
    if kind == MEASUREMENT:
        return [Offer("plain", name) for name in every["values"][kind] if name.startswith(begun)]
    first = begun[: begun.rfind(",") + 1]
    words = (
        _ports(every["values"]["engine"])
        if kind == PORT
        else every["values"].get(kind, kind.split("|") if "|" in kind else ())
    )
    return [Offer("plain", first + word) for word in words if (first + word).startswith(begun)]


def _ports(engines: Sequence[str]) -> list[str]:
    try:
        names = sorted(name for name in os.listdir("/sys/class/net") if name != "lo")  # noqa: PTH208
    except OSError:
        names = []
    return [*names, *(f"{engine}:{name}" for engine in engines for name in names)]


def _asked(shell: str, environment: Mapping[str, str]) -> tuple[list[str], str]:
    """The words before the one that is completed, without the command itself, and that word as far as it is typed."""
    if shell == "bash":
        line = environment.get("COMP_LINE", "")
        words = _split(line)[1:]
        return (words, "") if not words or line[-1:].isspace() else (words[:-1], words[-1])
    words, at = _split(environment.get("COMP_WORDS", "")), environment.get("COMP_CWORD", "")
    if shell == "zsh":
        place = int(at)
        return words[1:place], words[place] if place < len(words) else ""
    # fish says the word itself.
    before = words[1:]
    return (before[:-1] if at and before and before[-1] == at else before), at


def _split(line: str) -> list[str]:
    """As a shell reads a line whose last quotation may be open."""
    for end in ("", "'", '"'):
        try:
            return shlex.split(line + end)
        except ValueError:
            pass
    return line.split()

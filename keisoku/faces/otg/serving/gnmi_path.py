"""Paths of gNMI: wildcards, values below a path, and JSON of a subtree. Pure; knows no model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from keisoku.faces.otg.leaf import Path, Value


def covers(asked: Path, leaf: Path) -> bool:
    """Whether a leaf is at or below a path; `*` is any name or any value of a key, `...` any number of elements."""
    if not asked:
        return True
    (name, keys), rest = asked[0], asked[1:]
    if name == "...":
        return any(covers(rest, leaf[skip:]) for skip in range(len(leaf) + 1))
    if not leaf or name not in ("*", leaf[0][0]):
        return False
    own = dict(leaf[0][1])
    return all(key in own and value in ("*", own[key]) for key, value in keys) and covers(rest, leaf[1:])


def meets(asked: Path, part: Sequence[str]) -> bool:
    """Whether a path leads into a part of the tree, or to what is around it; the part is named without keys."""
    if not asked or not part or asked[0][0] == "...":
        return True
    return (asked[0][0] == "*" or fnmatchcase(asked[0][0], part[0])) and meets(asked[1:], part[1:])


def below(asked: Path, leaves: Mapping[Path, Value]) -> dict[Path, Value]:
    """The leaves at or below a path."""
    return {leaf: value for leaf, value in leaves.items() if covers(asked, leaf)}


def subtrees(asked: Path, leaves: Mapping[Path, Value]) -> dict[Path, dict[Path, Value]]:
    """The leaves at or below a path, by the path without wildcards that they are at or below."""
    found: dict[Path, dict[Path, Value]] = {}
    for leaf, value in below(asked, leaves).items():
        # With '...' it is not known where the asked path ends: each leaf then stands for itself.
        length = len(leaf) if any(name == "..." for name, _ in asked) else len(asked)
        found.setdefault(leaf[:length], {})[leaf[length:]] = value
    return found


def enclosing(asked: Path, leaf: Path) -> Path:
    """Where a list without keys is sent, whose entries have no paths: at the innermost entry of a list with keys around
    it, or at the asked path if that leads further."""
    keyed = max((number for number, (_, keys) in enumerate(leaf, 1) if keys), default=1)
    length = 0 if any(name == "..." for name, _ in asked) else len(asked)
    return leaf[: max(keyed, length)]


def tree(leaves: Mapping[Path, Value], written: Callable[[Value], Any]) -> Any:
    """JSON of the leaves below a path, whose keys are leaves too; of a single leaf its value."""
    if list(leaves) == [()]:
        return written(leaves[()])
    found: dict[str, Any] = {}
    lists: dict[str, dict[Any, dict[Path, Value]]] = {}
    parts: dict[str, dict[Path, Value]] = {}
    for (element, *rest), value in leaves.items():
        name, keys = element
        if keys:
            lists.setdefault(name, {}).setdefault(keys, {})[tuple(rest)] = value
        else:
            parts.setdefault(name, {})[tuple(rest)] = value
    found = {name: tree(part, written) for name, part in parts.items()}
    return found | {name: [tree(each, written) for each in entries.values()] for name, entries in lists.items()}


def absolute(prefix: Sequence[tuple[str, Mapping[str, str]]], path: Sequence[tuple[str, Mapping[str, str]]]) -> Path:
    """A path of a request behind its prefix. Names lose the module before them ('otg-flow:flows')."""
    return tuple((name.rpartition(":")[2], tuple(sorted(keys.items()))) for name, keys in (*prefix, *path))

"""Public names say what they name: words that say nothing by themselves are no names of files, functions or classes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2] / "keisoku"
EMPTY = frozenset(
    [
        "against",
        "asked",
        "at",
        "beside",
        "best",
        "felt",
        "folded",
        "found",
        "given",
        "gone",
        "heard",
        "imagined",
        "joined",
        "kept",
        "known",
        "left",
        "made",
        "meant",
        "of",
        "put",
        "rated",
        "said",
        "seen",
        "shown",
        "spoilt",
        "stated",
        "take",
        "taken",
        "told",
        "thought",
        "waited",
        "wanted",
        "within",
    ]
)
"""Words that need another one beside them. Participles and prepositions say what was done, and not to what."""
METHODS_LEFT = 58
"""Public methods that still have such a name. The number may only become smaller, and is then written here."""


def public(file: Path, text: str) -> list[str]:
    """The file's stem and the names of its public functions and classes, which others import."""
    defined = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    return [file.stem, *(node.name for node in defined if not node.name.startswith("_"))]


def methods(text: str) -> list[str]:
    """The names of the methods of the public classes."""
    classes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef) and node.name[0] != "_"]
    return [node.name for each in classes for node in each.body if isinstance(node, ast.FunctionDef)]


def files() -> list[tuple[Path, str]]:
    return [(file, file.read_text(encoding="utf-8")) for file in sorted(HOUSE.rglob("*.py"))]


def test_no_file_function_or_class_has_a_name_that_says_nothing() -> None:
    empty = [f"{file}: {name}" for file, text in files() for name in public(file, text) if name.lower() in EMPTY]
    assert not empty


def test_methods_with_such_names_become_fewer() -> None:
    assert sum(name in EMPTY for _, text in files() for name in methods(text)) == METHODS_LEFT


@pytest.mark.parametrize(
    ("file", "text", "names"),
    [
        ("kept.py", "", ["kept"]),
        ("run.py", "def told(): ...\nclass Seen: ...\ndef _found(): ...", ["told", "Seen"]),
        ("run.py", "class Run:\n    def told(self): ...", []),
    ],
)
def test_names_are_found(file: str, text: str, names: list[str]) -> None:
    assert [name for name in public(Path(file), text) if name.lower() in EMPTY] == names

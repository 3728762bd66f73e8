"""Names say what they name: words that say nothing by themselves are no names of files, functions, classes, methods."""

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


def public(file: Path, text: str) -> list[str]:
    """The file's stem and the names of its public functions, classes and their methods, which others use."""
    nodes = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    named = [node for node in nodes if not node.name.startswith("_")]
    members = [member for node in named if isinstance(node, ast.ClassDef) for member in node.body]
    return [file.stem, *(node.name for node in (*named, *members) if isinstance(node, ast.FunctionDef | ast.ClassDef))]


def files() -> list[tuple[Path, str]]:
    return [(file, file.read_text(encoding="utf-8")) for file in sorted(HOUSE.rglob("*.py"))]


def test_no_file_function_class_or_method_has_a_name_that_says_nothing() -> None:
    empty = [f"{file}: {name}" for file, text in files() for name in public(file, text) if name.lower() in EMPTY]
    assert not empty


@pytest.mark.parametrize(
    ("file", "text", "names"),
    [
        ("kept.py", "", ["kept"]),
        ("run.py", "def told(): ...\nclass Seen: ...\ndef _found(): ...", ["told", "Seen"]),
        ("run.py", "class Run:\n    def told(self): ...\n    def _seen(self): ...", ["told"]),
    ],
)
def test_names_are_found(file: str, text: str, names: list[str]) -> None:
    assert [name for name in public(Path(file), text) if name.lower() in EMPTY] == names

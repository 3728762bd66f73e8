"""Whether a document conforms to OTG's model, and where it does not: snappi says what is wrong, but not where."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Iterator
from typing import Any

from keisoku.errors import PlanError
from keisoku.faces.otg.reading.node import Node

_NAMED = re.compile(r"property (\w+) shall|^(\w+) is a mandatory")


def checked(document: Any, kind_name: str = "Config") -> Node:
    """The document in snappi's model of that name. Raises PlanError, with the path, if the model refuses it."""
    import snappi.snappi as model

    kind: type = getattr(model, kind_name)
    problem = _refusal(document, kind)
    if problem is not None:
        path, problem = _deepest(document, kind, "", problem)
        said = " ".join(problem.split(" at <class")[0].split())
        raise PlanError(path or kind_name, f"does not conform to OTG: {said}", "correct it")
    return Node(document, kind)


def _refusal(value: Any, kind: type) -> str | None:
    """What snappi says against an object of this class; None if it conforms."""
    if not isinstance(value, dict):
        return "is no JSON object"
    try:
        # Its warnings of deprecated fields go to standard error, which is the server's own.
        with contextlib.redirect_stderr(io.StringIO()):
            kind().deserialize(json.loads(json.dumps(value)))
    except Exception as error:  # snappi may raise any exception, without a path
        return str(error)
    return None


def _deepest(value: Any, kind: type, path: str, problem: str) -> tuple[str, str]:
    """The path of the smallest part that does not conform, and what is said against it."""
    if not isinstance(value, dict):
        return path, problem
    for at, inner, inner_kind in _objects(value, kind, path):
        said = "is no list of objects" if inner_kind is None else _refusal(inner, inner_kind)
        if said is not None:
            return (at, said) if inner_kind is None else _deepest(inner, inner_kind, at, said)
    found = _NAMED.search(problem)
    named = next((name for name in found.groups() if name in _types(kind)), None) if found is not None else None
    if named is None:
        without = ({other: each for other, each in value.items() if other != name} for name in value)
        alone = (name for name, rest in zip(value, without, strict=True) if _refusal(rest, kind) is None)
        named = next(alone, None)
    return _at(path, named) if named is not None else path, problem


def _objects(value: dict[str, Any], kind: type, path: str) -> Iterator[tuple[str, Any, type | None]]:
    """The objects in an object, with their paths and classes; no class for what should be a list of objects."""
    import snappi.snappi as model

    for name, inner in value.items():
        wanted = _types(kind).get(name, {}).get("type")
        if not isinstance(wanted, str) or inner is None:
            continue
        if not wanted.endswith("Iter"):
            yield _at(path, name), inner, getattr(model, wanted)
        elif not isinstance(inner, list):
            yield _at(path, name), inner, None
        else:
            element: type = getattr(model, wanted.removesuffix("Iter"))
            yield from ((f"{_at(path, name)}[{place}]", each, element) for place, each in enumerate(inner))


def _types(kind: type) -> dict[str, Any]:
    """What snappi's class says of each property."""
    found: dict[str, Any] = getattr(kind, "_TYPES", {})
    return found


def _at(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name

"""`Node`: an object of an OTG document that records which fields were read, without their meaning.

No field is ever ignored: fields that no translator has read are refused with their JSON path. This includes fields that
are added to OTG later.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from keisoku.errors import PlanError

_ALL_WITHIN = ".*"


class Node:
    """An object of a document that snappi's model class `kind` has checked.

    An absent object is a node too: its fields have OTG's defaults, and `present` is false.
    """

    def __init__(self, value: dict[str, Any] | None, kind: type, path: str = "", parent: Node | None = None) -> None:
        self._value, self._kind, self.path = value or {}, kind, path
        self.present = value is not None
        self._read: set[str] = set() if parent is None else parent._read
        self.warnings: dict[str, str] = {} if parent is None else parent.warnings
        """Of the whole document: fields that are accepted without effect, by the reason, which is said once."""

    def has(self, name: str) -> bool:
        """Whether the field is given."""
        return self._value.get(name) is not None

    def scalar(self, name: str) -> Any:
        """The field's value, or OTG's default; None if it has none. Integers of 64 bits may come as text."""
        self._read.add(self._at(name))
        value = self._value.get(name)
        if value is None:
            return self._kind_attribute("_DEFAULTS").get(name)
        described = self._described(name)
        whole = described.get("format", described.get("itemformat", "")).endswith("int64")
        if whole and isinstance(value, list):
            return [int(each) for each in value]
        return int(value) if whole else value

    def child(self, name: str) -> Node:
        """The object in a field. Raises PlanError if `name` is no field, because the object then gives no
        alternative."""
        if name not in self.fields:
            self.refuse("gives none of its alternatives", f"give one of {', '.join(sorted(self.fields - {'choice'}))}")
        self._read.add(self._at(name))
        return Node(self._value.get(name), self._class(name), self._at(name), self)

    def children(self, name: str) -> list[Node]:
        """The objects in a list; none if it is absent."""
        self._read.add(self._at(name))
        kind = self._class(name, of_list=True)
        found = self._value.get(name) or []
        return [Node(each, kind, f"{self._at(name)}[{place}]", self) for place, each in enumerate(found)]

    def choice(self) -> str | None:
        """Which of its alternatives an object is: its `choice`, else the one that is given, else OTG's default."""
        self._read.add(self._at("choice"))
        said = self._value.get("choice")
        if said is not None:
            return str(said)
        alternatives = self._described("choice").get("enum", [])
        given = next((name for name in alternatives if self.has(name)), None)
        return given or self._kind_attribute("_DEFAULTS").get("choice")

    @property
    def fields(self) -> frozenset[str]:
        """Names of all fields that OTG gives such an object."""
        return frozenset(self._kind_attribute("_TYPES"))

    def format(self, name: str) -> str:
        """Format of a field's values: 'mac', 'ipv4', 'ipv6', 'uint32' …"""
        described = self._described(name)
        return str(described.get("itemformat") or described.get("format") or "")

    def kind_of(self, name: str) -> str:
        """Name of the model's class of a field."""
        found = self._described(name)["type"]
        return found if isinstance(found, str) else found.__name__

    def maximum(self, name: str) -> int | None:
        """The largest value that OTG allows in a field."""
        return self._described(name).get("maximum")

    def without_effect(self, name: str, reason: str | None = None) -> None:
        """Accepts a field, with all that is in it, that changes nothing. The client is told why; without a reason OTG
        itself gives it no effect here."""
        if self.has(name):
            self._read |= {self._at(name), self._at(name) + _ALL_WITHIN}
            if reason is not None:
                self.warnings.setdefault(reason, f"{self._at(name)}: has no effect: {reason}")

    def refuse(self, problem: str, remedy: str, name: str | None = None) -> NoReturn:
        """Raises PlanError with the path of a field of it, or of itself."""
        raise PlanError(self.path or "config" if name is None else self._at(name), problem, remedy)

    def check_all_read(self) -> None:
        """Raises PlanError for the first field in it that nothing has read."""
        unread = next(_unread(self._value, self.path, self._read), None)
        if unread is not None:
            raise PlanError(unread, "is not supported by keisoku", "leave it out")

    def _at(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def _described(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self._kind_attribute("_TYPES")[name]
        return found

    def _kind_attribute(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = getattr(self._kind, name)
        return found

    def _class(self, name: str, of_list: bool = False) -> type:
        import snappi.snappi as model

        class_name = self._described(name)["type"]
        found: type = getattr(model, class_name.removesuffix("Iter") if of_list else class_name)
        return found


def _unread(value: Any, path: str, read: set[str]) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            at = f"{path}.{name}" if path else name
            if inner is None:
                continue
            if at not in read:
                yield at
            elif at + _ALL_WITHIN not in read:
                yield from _unread(inner, at, read)
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from _unread(each, f"{path}[{place}]", read)

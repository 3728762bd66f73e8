"""The other end of a measurement, as settings name it: HOST or HOST@NAMESPACE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from keisoku.ground.host.place import Place

PORT = 8621
"""TCP port of 'keisoku stream serve'."""


class ToFarEnd:
    """Settings with a `host`, which each of them declares in the order of its own options."""

    if TYPE_CHECKING:
        host: str

    @property
    def place(self) -> Place:
        """Where the other end is, and the namespace from which it is reached."""
        return Place.parse(self.host)

    @property
    def address(self) -> str:
        """The other end without the namespace, which need not exist any more."""
        return self.host.partition("@")[0]

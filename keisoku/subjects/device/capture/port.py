"""`CapturePort`: an interface to capture and how it appears in the file. It opens nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from keisoku.errors import PlanError
from keisoku.ground.host.container import namespace_of
from keisoku.ground.host.namespace import named

_PORT = re.compile(r"(?:packet:)?(?P<interface>[^\s/:@]{1,15})(?:@(?P<namespace>\S+))?")


@dataclass(frozen=True)
class CapturePort:
    """`name` and `role` ("transmits", "the DUT's") become the interface's name and description in the file."""

    interface: str
    namespace: Path | None = None
    role: str = ""
    name: str | None = None
    """None: that of the interface."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """`eth1`, `packet:eth1`, or with the name or path of a namespace `eth1@NAMESPACE`.

        Raises PlanError if `text` is no such port, or names a container that is not there.
        """
        match = _PORT.fullmatch(text)
        if match is None:
            remedy = (
                "write INTERFACE or INTERFACE@NAMESPACE; an xdp port is captured by the command that measures there"
            )
            raise PlanError("port", f"{text!r} names no interface to capture", remedy)
        return cls(match["interface"], named(match["namespace"] and namespace_of(match["namespace"], "port")))

    @property
    def label(self) -> dict[str, str]:
        """As `core/src/capture/recorder.rs` reads it."""
        place = "" if self.namespace is None else f"in namespace {self.namespace.name}"
        described = ", ".join(part for part in (self.role, place) if part)
        return {"name": self.name or self.interface, "description": described}

    @property
    def place(self) -> dict[str, object]:
        """As `core/src/interface/place.rs` reads it."""
        namespace = None if self.namespace is None else str(self.namespace)
        return {"engine": "packet", "interface": self.interface, "namespace": namespace}

    def __str__(self) -> str:
        return self.interface + (f"@{self.namespace.name}" if self.namespace else "")

"""`PortPlace`: where the frames towards a client can be limited. A plain value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class PortPlace:
    """An interface that sends towards the client, in a namespace (None: this process's own).

    With `address` (IPv4) only what is sent to that address is limited, for ports that lead to others as well.
    """

    interface: str
    namespace: Path | None = None
    address: str | None = None

    @property
    def port(self) -> tuple[Path | None, str]:
        """The interface, whichever client is behind it."""
        return self.namespace, self.interface

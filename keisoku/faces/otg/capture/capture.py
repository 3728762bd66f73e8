"""The captures of a configuration: which ports, how much of a frame, and the file of the current or last one.

The engine's ports are captured while it sends; frames that arrive before traffic starts are not captured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from keisoku._core import Wire
from keisoku.errors import EngineError
from keisoku.faces.otg.capture.filter import BitFilter, filters
from keisoku.faces.otg.capture.pcap import received
from keisoku.faces.otg.reading.node import Node
from keisoku.ground.host.temporary_folder import TemporaryFolder
from keisoku.subjects.device.capture.port import CapturePort
from keisoku.subjects.device.engine.port_capture import PortCapture

MOST_BYTES = 256 * 2**20
"""Largest size of a capture's file for a client."""


@dataclass(frozen=True)
class CaptureWish:
    """The capture of one port in a configuration."""

    snap_bytes: int
    pcapng: bool
    filters: tuple[BitFilter, ...]
    """Filters, which must all match."""


def wishes(document: Node, ports: Mapping[str, int]) -> dict[int, CaptureWish]:
    """By port. Raises PlanError, with the path, for what is not supported."""
    found: dict[int, CaptureWish] = {}
    for node in document.children("captures"):
        node.scalar("name")
        if not node.scalar("overwrite"):
            node.refuse("a capture always begins with an empty file", "leave it out", "overwrite")
        own = filters(node.children("filters"))
        wish = CaptureWish(int(node.scalar("packet_size") or 0), node.scalar("format") == "pcapng", own)
        for name in node.scalar("port_names"):
            if name not in ports:
                node.refuse(f"there is no port {name}", "name one of ports[].name", "port_names")
            found[ports[name]] = wish
    if len({wish.snap_bytes for wish in found.values()}) > 1:
        document.refuse("captures cut frames to different sizes", "give all the same packet_size", "captures")
    return found


class TrafficCapture(PortCapture):
    """One capture, in a file that `remove` deletes."""

    def __init__(self, snap_bytes: int) -> None:
        self._folder = TemporaryFolder("otg")
        self.ended = False
        super().__init__(self._folder.path / "capture.pcapng", snap_bytes, lambda line: None)

    def begin(self, wire: Wire, ports: Sequence[CapturePort]) -> None:
        """Begins the capture; only once: traffic that starts after its end is not captured."""
        if not self.ended:
            super().begin(wire, ports)

    def close(self) -> None:
        """Ends it and completes the file."""
        self.ended = True
        super().close()

    def received(self, port: int, wish: CaptureWish) -> bytes:
        """The received frames of a port that match its filters, as a file. Raises EngineError if it is too large."""
        if not self.path.exists():
            return received(b"", port, wish.pcapng)
        if self.path.stat().st_size > MOST_BYTES:
            raise EngineError(f"the capture is longer than {MOST_BYTES >> 20} MiB; capture less, or cut the frames")
        wants = [one.wants for one in wish.filters]
        return received(self.path.read_bytes(), port, wish.pcapng, lambda frame: all(want(frame) for want in wants))

    def remove(self) -> None:
        """Deletes the file."""
        self._folder.remove()

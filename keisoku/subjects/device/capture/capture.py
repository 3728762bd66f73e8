"""`Capture`: what enters and leaves ports, written to a pcapng file while it is open.

It never changes a port, and says how many frames it could not write.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from keisoku._core import Capture as CoreCapture
from keisoku._core import CaptureRing
from keisoku.errors import PlanError
from keisoku.ground.host.namespace import run_in_namespace
from keisoku.subjects.device.capture.port import CapturePort

WHOLE_BYTES = 262_144
"""The snap length of captures of whole frames: more than any frame has."""
_LOOK_S = 0.05


@dataclass(frozen=True)
class CaptureCounts:
    """Frames of one port: in the file, and lost by the capture itself."""

    written: int
    dropped: int


class Capture:
    """A context manager: captures from entry to exit what `ports` send and receive into the file `path`.

    Stamps are CLOCK_REALTIME in ns. `snap_bytes` of each frame are kept (0: all); a test frame keeps its identity
    even when it is cut. `count` frames end it. What XDP programs send or consume is seen only through `rings`, those
    that an engine's ports give (`Wire.capture_rings`); without one, a port with an XDP program is refused.

    Raises PlanError for invalid ports and sizes, EngineError if a port cannot be opened or the file cannot be
    written.
    """

    def __init__(
        self,
        ports: Sequence[CapturePort],
        path: Path,
        *,
        rings: Sequence[CaptureRing] = (),
        snap_bytes: int = 0,
        count: int | None = None,
    ) -> None:
        if not ports:
            raise PlanError("port", "no port is given", "name at least one interface")
        if len(set(ports)) < len(ports):
            raise PlanError("port", "a port is given twice", "name each port once")
        if snap_bytes < 0:
            raise PlanError(
                "snap", f"{snap_bytes} is no number of bytes", "give 0 for whole frames, or a positive number"
            )
        if count is not None and count < 1:
            raise PlanError("count", f"{count} is no number of frames", "give at least 1")
        self.ports, self.path = tuple(ports), path
        self.counts: tuple[CaptureCounts, ...] = ()
        """Counts of each port; known after the end."""
        self._rings, self._count = list(rings), count
        self._snap_bytes = snap_bytes or WHOLE_BYTES
        self._core: CoreCapture | None = None

    def __enter__(self) -> Self:
        if not self._rings:
            for port in self.ports:
                _refuse_xdp(port)
        ports = json.dumps([{"place": port.place, "label": port.label} for port in self.ports])
        self._core = CoreCapture(str(self.path), ports, self._rings, self._snap_bytes, self._count)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def wait(self, seconds: float | None) -> None:
        """Return after `seconds` (None: no limit) or when the capture has ended by itself."""
        assert self._core is not None, "wait() belongs inside the with block"
        end_s = None if seconds is None else time.monotonic() + seconds
        while not self._core.has_ended():
            left_s = _LOOK_S if end_s is None else min(_LOOK_S, end_s - time.monotonic())
            if left_s <= 0:
                return
            time.sleep(left_s)

    def close(self) -> None:
        """End the capture and complete the file; doing it twice is no error. Raises EngineError if it failed."""
        core, self._core = self._core, None
        if core is not None:
            self.counts = tuple(CaptureCounts(written, dropped) for written, dropped in core.close())


def _refuse_xdp(port: CapturePort) -> None:
    """Frames that such a program consumes or sends itself would be missing, and nothing would show it."""

    def attached() -> bool:
        from pyroute2 import IPRoute  # it loads slowly, and few runs are captured

        with IPRoute() as ip:
            indices = ip.link_lookup(ifname=port.interface)
            link = ip.get_links(indices[0])[0] if indices else None
            xdp = link.get("xdp") if link else None
            return bool(xdp and xdp.get_attr("IFLA_XDP_PROG_ID"))

    if port.namespace is not None and not port.namespace.exists():
        raise PlanError("port", f"there is no namespace {port.namespace}", f"see the names in {port.namespace.parent}")
    if run_in_namespace(port.namespace, attached):
        problem = f"an XDP program is attached to {port}, and no packet socket sees what it consumes or sends"
        raise PlanError("port", problem, "capture at the other end of the cable, or by the command that measures")

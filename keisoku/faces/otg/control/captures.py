"""Captures of what ports receive. Not locked: the controller is."""

from __future__ import annotations

from typing import Any

from keisoku.errors import PlanError
from keisoku.faces.otg.capture.capture import TrafficCapture
from keisoku.faces.otg.control.ports import Ports
from keisoku.faces.otg.control.traffic import Traffic
from keisoku.faces.otg.reading.conformance import checked
from keisoku.faces.otg.reading.node import Node

Document = dict[str, Any]


class Captures:
    """The captures on these ports."""

    def __init__(self, ports: Ports, traffic: Traffic) -> None:
        self._ports, self._traffic = ports, traffic

    def set_state(self, state: Node, whole: Node) -> list[str]:
        """Captures all ports together: XDP programs keep frames for a capture only if they are opened with one. Raises
        PlanError for ports without a capture, and while traffic runs."""
        named = [str(name) for name in state.scalar("port_names") or []]
        wanted = str(state.scalar("state"))
        whole.check_all_read()
        wishes = self._ports.session.configuration.captures
        chosen = self._ports.session.ports(named, "port.capture.port_names") if named else list(wishes)
        if not chosen or any(port not in wishes for port in chosen):
            raise PlanError("port.capture.port_names", "not all of them have a capture", "name them in captures[]")
        if wanted == "stop":
            if self._ports.capture is not None:
                self._ports.capture.close()
            return []
        self._traffic.look()
        if self._ports.session.transmitting:
            raise PlanError("port.capture.state", "traffic is already running", "start the capture before the traffic")
        self._ports.close_engine()
        self._ports.drop_capture()
        self._ports.capture = TrafficCapture(next(iter(wishes.values())).snap_bytes)
        self._ports.open_engine(self._ports.session.configuration)
        self._ports.set_answers(self._ports.session.answers)
        return []

    def frames(self, document: Document) -> bytes:
        """A file of what a port received while its capture ran; while it still runs, of what was stored until now.
        Raises PlanError if there is no capture of the port."""
        node = checked(document, "CaptureRequest")
        name = str(node.scalar("port_name"))
        if node.child("packets").choice() != "all":
            node.refuse("only the whole capture can be read", "leave it out", "packets")
        node.check_all_read()
        (port,) = self._ports.session.ports([name], "port_name")
        wish = self._ports.session.configuration.captures.get(port)
        if wish is None or self._ports.capture is None:
            raise PlanError("port_name", f"there is no capture of {name}", "set a capture and start it")
        return self._ports.capture.received(port, wish)

"""The ports that a configuration opened, with their engine, capture and protocols. Not locked: the controller is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keisoku.faces.otg.capture.capture import TrafficCapture
from keisoku.faces.otg.configuration import Configuration
from keisoku.faces.otg.device.lag import Lag
from keisoku.faces.otg.metrics import lag_metrics, port_metrics
from keisoku.faces.otg.speaking.protocols import Protocols
from keisoku.faces.otg.traffic.session import TrafficSession
from keisoku.faces.otg.traffic.testbed import answer, engine_of
from keisoku.subjects.device.engine.engine import Engine
from keisoku.subjects.device.testbed.testbed import Testbed

Document = dict[str, Any]
NOTHING = Configuration((), (), (), {}, {})
"""The configuration of no ports."""


class Ports:
    """What is open for the configuration of a session."""

    def __init__(self) -> None:
        self.session = TrafficSession()
        self.testbed: Testbed | None = None
        self.locations: tuple[str, ...] = ()
        self.engine: Engine | None = None
        self.capture: TrafficCapture | None = None
        self.speakers = Protocols(NOTHING)

    def leave(self) -> None:
        """Closes the ports, if any are open."""
        testbed, self.testbed, self.locations = self.testbed, None, ()
        if testbed is not None:
            testbed.close()

    def open_engine(self, found: Configuration) -> None:
        """Opens the engine for the flows of a configuration; until then no host answers."""
        if self.testbed is not None:
            answer(self.testbed, ())
            self.engine = engine_of(self.testbed, found.flows, found.flow_bytes, self.capture)

    def close_engine(self) -> None:
        """Closes the engine, if one is open."""
        engine, self.engine = self.engine, None
        if engine is not None:
            engine.close()

    def drop_capture(self) -> None:
        """Ends the capture and removes what it stored."""
        capture, self.capture = self.capture, None
        if capture is not None:
            capture.close()
            capture.remove()

    def links(self, chosen: Sequence[int]) -> dict[int, bool]:
        """Whether the links of these ports are up, by index of the port."""
        testbed = self.testbed
        return {} if testbed is None else {port: testbed.link_is_up(port) for port in chosen}

    def rates(self) -> list[float | None]:
        """Line rates of all ports in bit/s; None: not known."""
        testbed = self.testbed
        count = len(self.session.configuration.ports)
        return [None if testbed is None else testbed.line_rate(port) for port in range(count)]

    def metrics(self) -> list[Document]:
        """The metrics of all ports."""
        chosen = self.session.ports([], "ports")
        found: list[Document] = port_metrics(self.session, chosen, (), self.rates(), self.links(chosen))
        return found

    def lag_metrics(self, lags: Sequence[Lag], ports_: Sequence[Document], wanted: Sequence[str]) -> list[Document]:
        """Metrics of LAGs, from those of all ports."""
        up = {lag: self.speakers.lags.ports_up(lag, self.testbed) for lag in lags if self.testbed is not None}
        return lag_metrics(up, ports_, wanted)

    def set_answers(self, on: bool) -> None:
        """The tester's own hosts answer by keisoku, those of its routers and LAGs by the kernel once these run."""
        if self.testbed is not None:
            hosts = self.session.configuration.interfaces if on else ()
            answer(self.testbed, [host for host in hosts if host.name not in self.speakers.interfaces])
        self.session.answers = on

    def set_protocols(self, start: bool) -> None:
        """Starts or stops the tester's hosts and all protocols."""
        self.set_answers(start)
        if self.testbed is not None and start:
            self.speakers.start(self.testbed)
        else:
            self.speakers.stop()

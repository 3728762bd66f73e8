"""The effect of requests on the session and on the ports. One request at a time; knows no transport.

Requests and answers are JSON values of OTG. Raises PlanError for errors that the script must correct, EngineError for
failures of the server.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from keisoku import __version__
from keisoku.errors import EngineError, Occupied, PlanError
from keisoku.faces.otg.configuration import NO_DEFAULTS, ConfiguredPort, Defaults, ports
from keisoku.faces.otg.control.access import Ownership
from keisoku.faces.otg.control.captures import Captures
from keisoku.faces.otg.control.config_change import appended, deleted, updated
from keisoku.faces.otg.control.gateways import Gateways
from keisoku.faces.otg.control.monitor import Monitor
from keisoku.faces.otg.control.ports import Ports
from keisoku.faces.otg.control.replacement import Accept, Replacement
from keisoku.faces.otg.control.traffic import Traffic
from keisoku.faces.otg.reading.conformance import checked
from keisoku.faces.otg.reading.node import Node
from keisoku.faces.otg.telemetry import SESSIONS, Telemetry
from keisoku.faces.otg.traffic.acceptance import accepted
from keisoku.faces.otg.traffic.convergence import EventKind
from keisoku.faces.service.configured import Configured
from keisoku.faces.service.document import RunStatus
from keisoku.faces.service.runs import Runs
from keisoku.faces.service.traffic import Last
from keisoku.ground.run.directory import RUNS
from keisoku.ground.statistics.seed import DEFAULT

Document = dict[str, Any]
_Answer = TypeVar("_Answer")
API_VERSIONS = ">=1.0.0,<2.0.0"
"""A client compares its own version with this text: with a plain version every other client would refuse to work."""


class Controller:
    """The ports of this server and the configuration on them. It may be called from different threads."""

    def __init__(
        self, seed: int = DEFAULT, runs: Path = RUNS, take_over: bool = False, defaults: Defaults = NO_DEFAULTS
    ) -> None:
        """`seed` is the random seed of simulated devices, `runs` the folder of runs of methods. With `take_over` a
        configuration ends traffic that runs, which may be another client's."""
        self._lock = threading.RLock()
        self._ports = Ports()
        self._gateways = Gateways(self._ports)
        self._traffic = Traffic(self._ports, self._gateways, seed)
        self._captures = Captures(self._ports, self._traffic)
        self._monitor = Monitor(self._ports, self._traffic, self._gateways)
        self._replacement = Replacement(self._ports, self._traffic)
        self._closed = False
        self._ownership, self._take_over, self._defaults = Ownership(), take_over, defaults
        self._runs = Runs(runs)

    def ask(
        self,
        who: str,
        call: Callable[..., _Answer],
        *documents: Document | str,
        changes: bool = False,
        connection: str | None = None,
        program: str | None = None,
    ) -> _Answer:
        """Carries out a call for the controller `who`, one at a time if it changes something; others lock what they
        read. `connection` is the one by which it came, and `program` what the client calls itself. Raises Occupied if
        it changes ports of another controller."""
        with self._lock:
            now_s = time.monotonic()
            self._ownership.note_request(who, now_s)
            if changes:
                with suppress(EngineError):  # a client that asks for the traffic is told that it failed
                    self._traffic.look()
                if not self._holds_ports():
                    self._ownership.freed()
                self._ownership.check(who, now_s, bool(self._ports.session.transmitting) or self._runs.active)
                self._traffic.connection = connection
                answer = call(*documents)
                self._ownership.changed(who, now_s, self._holds_ports(), program)
                return answer
        return call(*documents)

    @property
    def runs(self) -> Runs:
        """Runs of methods, which use the ports instead of a configuration."""
        return self._runs

    def start_run(self, document: Document) -> RunStatus:
        """Raises PlanError while a configuration has ports, for an invalid plan, and during another run."""
        with self._lock:
            self._check_free()
            return self._runs.start(document)

    def outline_run(self, document: Document) -> list[str]:
        """What a run would do, in sentences. Raises as `start_run` does."""
        with self._lock:
            self._check_free()
            return self._runs.outline(document)

    def configured(self) -> Configured:
        """The configuration with its owner and live counters, for whoever only looks."""
        with self._lock:
            session = self._ports.session
            counters = {}
            if session.configuration.ports:
                told = self._monitor.telemetry(SESSIONS)()
                counters = {"ports": told.ports, "flows": told.flows, "lags": told.lags, **told.protocols}
            return Configured(
                self._ownership.owner(time.monotonic()) if self._holds_ports() else None,
                self._runs.holder,
                bool(session.transmitting),
                session.configuration.document,
                counters,
            )

    def set_config(self, document: Document) -> Document:
        """Replaces everything. A refused configuration changes nothing, not even traffic; only if checked ports then
        fail to open is there no configuration afterwards. It ends traffic that the same connection started. Raises
        Occupied while other traffic runs."""
        with self._lock:
            own = self._traffic.connection is not None and self._traffic.connection == self._traffic.started_by
            if not (own or self._take_over):
                self._traffic.check_still("stop it first, or start the server with --take-over")
            return self._replace(document)

    def update_config(self, document: Document) -> Document:
        """Changes rates and sizes of flows; only while no traffic runs."""
        return self._change("ConfigUpdate", updated, document)

    def append_config(self, document: Document) -> Document:
        """Adds flows; only while no traffic runs."""
        return self._change("ConfigAppend", appended, document)

    def delete_config(self, document: Document) -> Document:
        """Removes flows; only while no traffic runs."""
        return self._change("ConfigDelete", deleted, document)

    def get_config(self) -> Document:
        """The configuration as it was set."""
        with self._lock:
            return self._ports.session.configuration.document

    def set_control_state(self, document: Document) -> Document:
        """Starts and stops traffic, the tester's hosts, ports' links and captures."""
        with self._lock:
            self._check_open()
            node = checked(document, "ControlState")
            choice = str(node.choice())
            state = node.child(choice)
            if choice == "traffic":
                warnings = self._traffic.set_state(state.child(str(state.choice())), node)
            elif choice == "protocol":
                warnings = []
                if state.choice() == "all":
                    wanted = str(state.child("all").scalar("state"))
                    node.check_all_read()
                    self._ports.set_protocols(wanted == "start")
                else:
                    begun_ns = time.monotonic_ns()
                    self._traffic.record(self._ports.speakers.set_state(state, node), begun_ns)
            elif choice == "port" and state.choice() == "capture":
                warnings = self._captures.set_state(state.child("capture"), node)
            elif choice == "port" and state.choice() == "link":
                warnings = self._set_link(state.child("link"), node)
            else:
                what = "use traffic.flow_transmit, protocol, port.capture or port.link"
                state.refuse("is not supported", what, str(state.choice()))
            return {"warnings": warnings}

    def get_metrics(self, document: Document) -> Document:
        """Metrics of ports, LAGs, flows, BGP peers, IS-IS or OSPFv2 routers, LLDP agents, or LAGs' members."""
        with self._lock:
            return self._monitor.metrics(document)

    def telemetry(self, parts: Collection[str]) -> Telemetry:
        """All metrics at one moment; those of `telemetry.PARTS` that are named."""
        with self._lock:
            told = self._monitor.telemetry(parts)
        return told()

    def get_states(self, document: Document) -> Document:
        """Neighbours: the gateways that the tester's hosts found; what BGP peers, routers and LLDP agents learned."""
        with self._lock:
            told = self._monitor.states(document)
        return told()

    def last_traffic(self) -> Last:
        """The last traffic with all counts; if none has ended, whether one runs. OTG has no call for it."""
        with self._lock:
            return self._monitor.last_traffic()

    def get_capture(self, document: Document) -> bytes:
        """A file of what a port received while its capture ran; while it still runs, of what was stored until now."""
        with self._lock:
            return self._captures.frames(document)

    def get_version(self) -> Document:
        """The API version, for a client's check of compatibility."""
        return {"api_spec_version": API_VERSIONS, "sdk_version": API_VERSIONS, "app_version": f"keisoku {__version__}"}

    def close(self) -> None:
        """Ends traffic and runs, closes ports, removes labs. May be called twice."""
        with self._lock:
            self._closed = True
            self._runs.close()
            self._traffic.end()
            self._ports.close_engine()
            self._ports.drop_capture()
            self._ports.speakers.stop()
            self._ports.leave()

    def _change(self, kind: str, make: Callable[[Document, Document], Document], document: Document) -> Document:
        with self._lock:
            checked(document, kind)
            self._traffic.check_still("stop it first")
            return self._replace(make(self._ports.session.configuration.document, document))

    def adopt(self, wanted: Sequence[ConfiguredPort], accept: Accept) -> Document:
        """Replaces everything by what another API than OTG configures: these ports, and what `accept` makes of them. It
        ends traffic; as `set_config` otherwise."""
        with self._lock:
            return self._adopt(wanted, accept)

    def _replace(self, document: Document) -> Document:
        self._check_open()
        node = checked(document)
        return self._adopt(ports(node), lambda testbed: accepted(node, document, testbed, self._defaults))

    def _adopt(self, wanted: Sequence[ConfiguredPort], accept: Accept) -> Document:
        self._check_open()
        if wanted:
            self._runs.check_idle()
        answer = self._replacement.adopt(wanted, accept)
        self._ownership.configured(time.monotonic())
        return answer

    def _check_open(self) -> None:
        if self._closed:
            raise EngineError("the server is shutting down")

    def _check_free(self) -> None:
        self._check_open()
        if self._ports.session.configuration.ports:
            raise Occupied("ports", "an OTG configuration holds them", "set an empty configuration first")

    def _holds_ports(self) -> bool:
        return bool(self._ports.session.configuration.ports) or self._runs.active

    def _set_link(self, state: Node, whole: Node) -> list[str]:
        """Works also while traffic runs: frames sent over a link that is down are lost."""
        chosen = self._ports.session.ports(
            [str(name) for name in state.scalar("port_names") or []], "port.link.port_names"
        )
        wanted = str(state.scalar("state"))
        whole.check_all_read()
        if self._ports.testbed is None:
            raise PlanError("port.link", "there is no port", "set a configuration first")
        for port in chosen:
            begun_ns = time.monotonic_ns()
            try:
                self._ports.testbed.set_link(port, wanted == "up")
            except PlanError as error:
                raise PlanError("port.link.state", error.problem, error.remedy) from error
            self._ports.speakers.link_changed(port, wanted == "up")
            became: EventKind = "link_up" if wanted == "up" else "link_down"
            self._traffic.record([(became, self._ports.session.configuration.ports[port].name)], begun_ns)
        return []

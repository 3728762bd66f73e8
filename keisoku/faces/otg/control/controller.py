"""The effect of requests on the session and on the ports. One request at a time; knows no transport.

Requests and answers are JSON values of OTG. Raises PlanError for errors that the script must correct, EngineError for
failures of the server.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from keisoku import __version__
from keisoku.errors import EngineError, Occupied, PlanError
from keisoku.faces.otg.capture.capture import TrafficCapture
from keisoku.faces.otg.configuration import NO_DEFAULTS, Configuration, ConfiguredPort, Defaults, ports
from keisoku.faces.otg.control.access import Ownership
from keisoku.faces.otg.control.config_change import appended, deleted, updated
from keisoku.faces.otg.device.device import Address, Interface
from keisoku.faces.otg.device.gateways import GatewayQuestion, macs, neighbour_states
from keisoku.faces.otg.device.lag import Lag
from keisoku.faces.otg.flow.flow import End, Flow
from keisoku.faces.otg.lacp.aggregation import PATIENCE_S
from keisoku.faces.otg.metrics import TagWish, convergence_metrics, flow_metrics, lag_metrics, port_metrics, untracked
from keisoku.faces.otg.reading.conformance import checked
from keisoku.faces.otg.reading.node import Node
from keisoku.faces.otg.routers import ROUTERS
from keisoku.faces.otg.speaking.protocols import Protocols
from keisoku.faces.otg.telemetry import Telemetry
from keisoku.faces.otg.traffic.acceptance import accepted
from keisoku.faces.otg.traffic.convergence import ControlEvent, EventKind
from keisoku.faces.otg.traffic.load import trial
from keisoku.faces.otg.traffic.session import TrafficSession, invalid_because
from keisoku.faces.otg.traffic.testbed import answer, engine_of, next_hop, opened
from keisoku.faces.service.document import RunStatus
from keisoku.faces.service.runs import Runs
from keisoku.faces.service.traffic import EndedTraffic, Last
from keisoku.ground.run.directory import RUNS
from keisoku.subjects.device.calibration.store import bias
from keisoku.subjects.device.engine.engine import Engine
from keisoku.subjects.device.testbed.testbed import Testbed

Document = dict[str, Any]
_Answer = TypeVar("_Answer")
Accept = Callable[[Testbed | None], Configuration]
"""Makes a configuration for opened ports, of which there may be none. Raises PlanError."""
API_VERSIONS = ">=1.0.0,<2.0.0"
"""A client compares its own version with this text: with a plain version every other client would refuse to work."""
_FIRST_STREAM = 1
_STREAMS = 0xFFFF - _FIRST_STREAM
"""Stream numbers that distinguish the frames of one traffic from late ones of another; 0 and 0xFFFF are unused
(`runner`)."""
_LOOK_S = 0.02
_DRAIN_S = 5.0
"""How long traffic may take from its last frame to its end."""
_SWITCH_S = 0.15
"""How long a command to single flows may take: an engine prepares frames so long in advance."""
_NOTHING = Configuration((), (), (), {}, {})


class Controller:
    """The ports of this server and the configuration on them. It may be called from different threads."""

    def __init__(
        self, seed: int = 0, runs: Path = RUNS, take_over: bool = False, defaults: Defaults = NO_DEFAULTS
    ) -> None:
        """`seed` is the random seed of simulated devices, `runs` the folder of runs of methods. With `take_over` a
        configuration ends traffic that runs, which may be another client's."""
        self._lock = threading.RLock()
        self._session = TrafficSession()
        self._testbed: Testbed | None = None
        self._locations: tuple[str, ...] = ()
        self._engine: Engine | None = None
        self._capture: TrafficCapture | None = None
        self._seed, self._stream, self._closed = seed, _FIRST_STREAM, False
        self._ownership, self._take_over, self._defaults = Ownership(), take_over, defaults
        self._connection: str | None = None
        self._started_by: str | None = None
        """Connections by which the present change came, and by which the last traffic was started; None: not known."""
        self._said = True
        """Whether a client was told if the last traffic is invalid."""
        self._runs = Runs(runs)
        self._speakers = Protocols(_NOTHING)

    def ask(
        self,
        who: str,
        call: Callable[..., _Answer],
        *documents: Document,
        changes: bool = False,
        connection: str | None = None,
    ) -> _Answer:
        """Carries out a call for the controller `who`, one at a time if it changes something; others lock what they
        read. `connection` is the one by which it came. Raises Occupied if it changes ports of another controller."""
        with self._lock:
            now_s = time.monotonic()
            self._ownership.heard(who, now_s)
            if changes:
                with suppress(EngineError):  # a client that asks for the traffic is told that it failed
                    self._look()
                if not self._holds_ports():
                    self._ownership.freed()
                self._ownership.check(who, now_s, bool(self._session.transmitting) or self._runs.active)
                self._connection = connection
                answer = call(*documents)
                self._ownership.configured(who, now_s, self._holds_ports())
                return answer
        return call(*documents)

    @property
    def runs(self) -> Runs:
        """Runs of methods, which use the ports instead of a configuration."""
        return self._runs

    def start_run(self, document: Document) -> RunStatus:
        """Raises PlanError while a configuration has ports, for an invalid plan, and during another run."""
        with self._lock:
            self._check_open()
            if self._session.configuration.ports:
                problem = "an OTG configuration holds them"
                raise Occupied("ports", problem, "set an empty configuration first")
            return self._runs.start(document)

    def set_config(self, document: Document) -> Document:
        """Replaces everything. A refused configuration changes nothing, not even traffic; only if checked ports then
        fail to open is there no configuration afterwards. It ends traffic that the same connection started. Raises
        Occupied while other traffic runs."""
        with self._lock:
            own = self._connection is not None and self._connection == self._started_by
            if not (own or self._take_over):
                self._check_still("stop it first, or start the server with --take-over")
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
            return self._session.configuration.document

    def set_control_state(self, document: Document) -> Document:
        """Starts and stops traffic, the tester's hosts, ports' links and captures."""
        with self._lock:
            self._check_open()
            node = checked(document, "ControlState")
            choice = str(node.choice())
            state = node.child(choice)
            if choice == "traffic":
                warnings = self._traffic(state.child(str(state.choice())), node)
            elif choice == "protocol":
                warnings = []
                if state.choice() == "all":
                    wanted = str(state.child("all").scalar("state"))
                    node.check_all_read()
                    self._protocols(wanted == "start")
                else:
                    begun_ns = time.monotonic_ns()
                    self._happened(self._speakers.set_state(state, node), begun_ns)
            elif choice == "port" and state.choice() == "capture":
                warnings = self._set_capture(state.child("capture"), node)
            elif choice == "port" and state.choice() == "link":
                warnings = self._set_link(state.child("link"), node)
            else:
                what = "use traffic.flow_transmit, protocol, port.capture or port.link"
                state.refuse("is not supported", what, str(state.choice()))
            return {"warnings": warnings}

    def get_metrics(self, document: Document) -> Document:
        """Metrics of ports, LAGs, flows, BGP peers, IS-IS or OSPFv2 routers, LLDP agents, or LAGs' members."""
        with self._lock:
            node = checked(document, "MetricsRequest")
            choice = str(node.choice())
            spoken = ("bgpv4", "bgpv6", *ROUTERS, "lldp", "lacp")
            if choice not in ("port", "lag", "flow", "convergence", *spoken):
                node.refuse("is not supported", f"ask for port, lag, flow, convergence, {', '.join(spoken)}", choice)
            asked = node.child(choice)
            if choice == "convergence":
                return self._convergence(node, asked)
            if choice in spoken:
                return {"choice": f"{choice}_metrics", f"{choice}_metrics": self._speakers.metrics(choice, node)}
            names = [str(name) for name in asked.scalar(f"{choice}_names") or []]
            wanted = asked.scalar("metric_names" if choice == "flow" else "column_names") or []
            tags = TagWish.of(asked.child("tagged_metrics")) if choice == "flow" else TagWish()
            node.check_all_read()
            self._look()
            session, rates = self._session, self._rates()
            if choice == "port":
                ports_ = session.ports(names, "port.port_names")
                found = port_metrics(session, ports_, wanted, rates, self._links(ports_))
            elif choice == "lag":
                found = self._lags(self._speakers.lags.named(names, "lag.lag_names"), self._ports(), wanted)
            else:
                found = flow_metrics(session, session.flows(names, "flow.flow_names"), wanted, rates, tags)
            return {"choice": f"{choice}_metrics", f"{choice}_metrics": found}

    def telemetry(self, parts: Collection[str]) -> Telemetry:
        """All metrics at one moment, by the same functions as `get_metrics` and `get_states`; those of
        `telemetry.PARTS` that are named. Gateways are asked for after that moment."""
        with self._lock:
            self._look()
            session, rates, found = self._session, self._rates(), self._ports()
            lags = self._speakers.lags.named([], "lags") if "lags" in parts else []
            told = Telemetry(
                found,
                flow_metrics(session, session.flows([], "flows"), (), rates, TagWish(), always_loss=True),
                self._lags(lags, found, ()),
                protocols={part: self._speakers.told(part) for part in parts if part not in ("neighbours", "lags")},
            )
            gateways = [*self._gateways(4), *self._gateways(6)] if "neighbours" in parts else []
        return replace(told, neighbours=neighbour_states(gateways))

    def _ports(self) -> list[Document]:
        """The metrics of all."""
        chosen = self._session.ports([], "ports")
        found: list[Document] = port_metrics(self._session, chosen, (), self._rates(), self._links(chosen))
        return found

    def _lags(self, lags: Sequence[Lag], ports_: Sequence[Document], wanted: Sequence[str]) -> list[Document]:
        up = {lag: self._speakers.lags.ports_up(lag, self._testbed) for lag in lags if self._testbed is not None}
        return lag_metrics(up, ports_, wanted)

    def _convergence(self, node: Node, asked: Node) -> Document:
        names = [str(name) for name in asked.scalar("flow_names") or []]
        node.check_all_read()
        self._look()
        session = self._session
        flows, wish = session.flows(names, "convergence.flow_names"), session.configuration.wish
        if self._engine is not None and session.transmitting:
            session.gaps = self._engine.longest_gaps()
        if not (wish.causes or wish.flows):
            raise PlanError("convergence", "no events were enabled", "set events.dp_events.enable or cp_events.enable")
        return {"choice": "convergence_metrics", "convergence_metrics": convergence_metrics(session, flows)}

    def get_states(self, document: Document) -> Document:
        """Neighbours: the gateways that the tester's hosts found; what BGP peers, routers and LLDP agents learned."""
        with self._lock:
            node = checked(document, "StatesRequest")
            choice = str(node.choice())
            if choice not in ("ipv4_neighbors", "ipv6_neighbors"):
                return {"choice": choice, choice: self._speakers.states(choice, node)}
            names = node.child(choice).scalar("ethernet_names") or []
            node.check_all_read()
            known = {host.name for host in self._session.configuration.interfaces}
            for unknown in (name for name in names if name not in known):
                raise PlanError(f"{choice}.ethernet_names", f"there is no interface {unknown}", "name a configured one")
            gateways = self._gateways(int(choice[3]), names)
        return {"choice": choice, choice: neighbour_states(gateways)}

    def get_capture(self, document: Document) -> bytes:
        """A file of what a port received while its capture ran; while it still runs, of what was stored until now."""
        with self._lock:
            node = checked(document, "CaptureRequest")
            name = str(node.scalar("port_name"))
            if node.child("packets").choice() != "all":
                node.refuse("only the whole capture can be read", "leave it out", "packets")
            node.check_all_read()
            (port,) = self._session.ports([name], "port_name")
            wish = self._session.configuration.captures.get(port)
            if wish is None or self._capture is None:
                raise PlanError("port_name", f"there is no capture of {name}", "set a capture and start it")
            return self._capture.received(port, wish)

    def get_version(self) -> Document:
        """The API version, for a client's check of compatibility."""
        return {"api_spec_version": API_VERSIONS, "sdk_version": API_VERSIONS, "app_version": f"keisoku {__version__}"}

    def last_traffic(self) -> Last:
        """The last traffic with all counts; if none has ended, whether one runs. OTG has no call for it."""
        with self._lock:
            self._look()
            session, engine = self._session, self._engine
            if session.trial is None or session.facts is None or engine is None:
                return bool(session.transmitting)
            return EndedTraffic(
                trial=session.trial,
                facts=session.facts,
                flows={name: list(range(part.start, part.stop)) for name, part in session.streams.items()},
                ports=[port.name for port in session.configuration.ports],
                rates=self._rates(),
                bias=bias(engine),
                context=engine.context(),
                invalid_because=self._spoilt(),
            )

    def close(self) -> None:
        """Ends traffic and runs, closes ports, removes labs. May be called twice."""
        with self._lock:
            self._closed = True
            self._runs.close()
            self._end_traffic()
            self._close_engine()
            self._drop_capture()
            self._speakers.stop()
            self._leave()

    def _change(self, kind: str, make: Callable[[Document, Document], Document], document: Document) -> Document:
        with self._lock:
            checked(document, kind)
            self._check_still("stop it first")
            return self._replace(make(self._session.configuration.document, document))

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
        locations = tuple(port.location for port in wanted)
        kept = locations == self._locations
        testbed = self._testbed if kept else opened(wanted) if wanted else None
        try:
            found = accept(testbed)
            speakers = Protocols(found)
            if testbed is not None:
                speakers.check(testbed)
        except BaseException:
            if testbed is not None and not kept:
                testbed.close()
            raise
        warnings = self._end_traffic() + self._unsaid()
        self._close_engine()
        self._drop_capture()
        self._speakers.stop()
        if not kept:
            self._leave()
            self._testbed, self._locations = testbed, locations
        self._session.configured(_NOTHING)
        self._open_engine(found)
        self._session.configured(found)
        self._speakers = speakers
        self._answer(True)
        return {"warnings": [*warnings, *found.warnings]}

    def _check_still(self, remedy: str) -> None:
        """Raises Occupied while traffic runs. Waits for one that has sent all frames: a script goes on when it has
        counted them."""
        with suppress(EngineError):  # a client that asks for the traffic is told that it failed
            self._look()
            until_s = time.monotonic() + _DRAIN_S
            while self._session.drains and time.monotonic() < until_s:
                self._look()
        if self._session.transmitting:
            raise Occupied("config", "traffic is running, and cannot be changed meanwhile", remedy)

    def _check_open(self) -> None:
        if self._closed:
            raise EngineError("the server is shutting down")

    def _holds_ports(self) -> bool:
        return bool(self._session.configuration.ports) or self._runs.active

    def _leave(self) -> None:
        testbed, self._testbed, self._locations = self._testbed, None, ()
        if testbed is not None:
            testbed.close()

    def _open_engine(self, found: Configuration) -> None:
        if self._testbed is not None:
            answer(self._testbed, ())
            self._engine = engine_of(self._testbed, found.flows, found.flow_bytes, self._capture)

    def _close_engine(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def _traffic(self, state: Node, whole: Node) -> list[str]:
        names = [str(name) for name in state.scalar("flow_names") or []]
        wanted = str(state.scalar("state"))
        whole.check_all_read()
        self._look()
        match wanted:
            case "stop":
                return self._stop(names)
            case "pause" | "resume":
                flows = self._session.to_switch(names, wanted)
                self._switch(flows, "paused" if wanted == "pause" else "going")
                return []
        flows = self._session.to_start(names)
        warnings = self._unsaid()
        if self._session.transmitting:
            if self._switch(flows, "going"):
                return warnings
            flows = self._session.to_start(names)  # the traffic has just ended: this starts the next one
            warnings += self._unsaid()
        return warnings + self._start(flows)

    def _start(self, flows: Sequence[Flow]) -> list[str]:
        engine, testbed = self._engine, self._testbed
        assert engine is not None and testbed is not None, "a configuration with flows has ports"
        switches = "switches" in engine.capabilities.abilities
        others = [flow for flow in self._session.configuration.flows if switches and flow not in flows]
        macs(self._receivers([*flows, *others]))
        until_s = time.monotonic() + PATIENCE_S
        outlets = partial(self._speakers.lags.outlets, testbed=testbed, until_s=until_s)
        load = trial(flows, outlets, self._next_hop, others if switches else None, testbed.drain_ns)
        count = len(load.trial.flows)
        if self._stream + count > _STREAMS:
            self._stream = _FIRST_STREAM
        engine.start(load.trial, self._stream, self._seed)
        self._stream += count
        self._started_by = self._connection
        self._session.started(load, [flow.name for flow in flows])
        if switches or len(load.streams) == 1:
            return []
        return ["counts of single flows are available when traffic ends; until then they are 0"]

    def _stop(self, names: Sequence[str]) -> list[str]:
        flows, is_all = self._session.to_stop(names)
        if not flows:
            return [] if names and self._session.transmitting else self._of_ended()
        if is_all:
            return self._end_traffic() + self._of_ended()
        self._switch(flows, "ended")
        return []

    def _switch(self, flows: Sequence[Flow], state: Literal["going", "paused", "ended"]) -> bool:
        """False if the traffic is over; its facts have then been read."""
        engine, session = self._engine, self._session
        assert engine is not None, "traffic runs"
        if "switches" not in engine.capabilities.abilities:
            problem = "the engine starts and ends all flows of a trial together"
            raise PlanError("traffic.flow_transmit.flow_names", problem, "name no flow, or all of them")
        streams = [
            stream for flow in flows for stream in range(session.streams[flow.name].stop)[session.streams[flow.name]]
        ]
        if engine.switch(streams, state):
            session.joined([flow.name for flow in flows])
            self._look(_SWITCH_S)
            return True
        self._finish()
        return False

    def _set_link(self, state: Node, whole: Node) -> list[str]:
        """Works also while traffic runs: frames sent over a link that is down are lost."""
        chosen = self._session.ports([str(name) for name in state.scalar("port_names") or []], "port.link.port_names")
        wanted = str(state.scalar("state"))
        whole.check_all_read()
        if self._testbed is None:
            raise PlanError("port.link", "there is no port", "set a configuration first")
        for port in chosen:
            begun_ns = time.monotonic_ns()
            try:
                self._testbed.set_link(port, wanted == "up")
            except PlanError as error:
                raise PlanError("port.link.state", error.problem, error.remedy) from error
            self._speakers.link_changed(port, wanted == "up")
            became: EventKind = "link_up" if wanted == "up" else "link_down"
            self._happened([(became, self._session.configuration.ports[port].name)], begun_ns)
        return []

    def _happened(self, causes: Sequence[tuple[EventKind, str]], begun_ns: int) -> None:
        """What a script did from this time until now, by kinds and sources, if traffic runs."""
        first_ns = self._engine.load_begun_ns() if self._engine and self._session.transmitting else None
        if first_ns is not None:
            times = begun_ns - first_ns, time.monotonic_ns() - first_ns
            self._session.causes += [ControlEvent(*cause, *times) for cause in causes]

    def _set_capture(self, state: Node, whole: Node) -> list[str]:
        """Captures all ports together: XDP programs keep frames for a capture only if they are opened with one."""
        named = [str(name) for name in state.scalar("port_names") or []]
        wanted = str(state.scalar("state"))
        whole.check_all_read()
        wishes = self._session.configuration.captures
        chosen = self._session.ports(named, "port.capture.port_names") if named else list(wishes)
        if not chosen or any(port not in wishes for port in chosen):
            raise PlanError("port.capture.port_names", "not all of them have a capture", "name them in captures[]")
        if wanted == "stop":
            if self._capture is not None:
                self._capture.close()
            return []
        self._look()
        if self._session.transmitting:
            raise PlanError("port.capture.state", "traffic is already running", "start the capture before the traffic")
        self._close_engine()
        self._drop_capture()
        self._capture = TrafficCapture(next(iter(wishes.values())).snap_bytes)
        self._open_engine(self._session.configuration)
        self._answer(self._session.answers)
        return []

    def _drop_capture(self) -> None:
        capture, self._capture = self._capture, None
        if capture is not None:
            capture.close()
            capture.remove()

    def _spoilt(self) -> list[str]:
        """Why the last traffic is invalid for the device, for the answer to a client."""
        self._said = True
        return invalid_because(self._session)

    def _of_ended(self) -> list[str]:
        """What a client must know of the last traffic."""
        return self._spoilt() + untracked(self._session)

    def _unsaid(self) -> list[str]:
        """The same, of traffic that ended by itself, if no client was told."""
        if self._said:
            return []
        return [f"the last traffic is invalid: {reason}" for reason in self._spoilt()] + untracked(self._session)

    def _protocols(self, start: bool) -> None:
        self._answer(start)
        if self._testbed is not None and start:
            self._speakers.start(self._testbed)
        else:
            self._speakers.stop()

    def _answer(self, on: bool) -> None:
        """The tester's own hosts answer by keisoku, those of its routers and LAGs by the kernel once these run."""
        if self._testbed is not None:
            hosts = self._session.configuration.interfaces if on else ()
            answer(self._testbed, [host for host in hosts if host.name not in self._speakers.interfaces])
        self._session.answers = on

    def _gateways(self, version: int, names: Collection[str] = ()) -> list[GatewayQuestion]:
        """Questions for the gateways of hosts, all without names; they are to be asked without the lock."""
        if self._testbed is None or not self._session.answers:
            return []
        hosts = [host for host in self._session.configuration.interfaces if not names or host.name in names]
        return [
            self._gateway(host, address)
            for host in hosts
            for address in host.addresses
            if address.version == version and not address.loopback
        ]

    def _receivers(self, flows: Sequence[Flow]) -> list[GatewayQuestion]:
        """Questions for the gateways of hosts that receive. A device that is asked knows the host's MAC address before
        the first frame; else it drops frames until the host has answered."""
        if not self._session.answers:
            return []
        ends = [receive for flow in flows for _, receive in flow.ways]
        hosts = {
            (end.interface.name, end.address.ip): (end.interface, end.address)
            for end in ends
            if end.interface is not None and end.address is not None and not end.address.loopback
        }
        return [self._gateway(host, address) for host, address in hosts.values()]

    def _gateway(self, host: Interface, address: Address) -> GatewayQuestion:
        ask = self._question(host, address) if self._speakers.is_there(host) else None
        return GatewayQuestion(host.name, address, ask)

    def _next_hop(self, end: End) -> str | None:
        assert end.interface is not None and end.address is not None
        return self._question(end.interface, end.address)()

    def _question(self, host: Interface, address: Address) -> Callable[[], str | None]:
        """Asks for the gateway of an address."""
        assert self._testbed is not None
        return self._speakers.question(host, address) or partial(next_hop, self._testbed, host, address)

    def _look(self, seconds: float = _LOOK_S) -> None:
        """Reads the engine's progress; a script that polls without a pause waits here for a moment."""
        if not self._session.transmitting or self._engine is None:
            return
        progress = self._engine.wait(seconds)
        if progress.finished:
            self._finish()
        else:
            self._session.looked(progress, time.monotonic())

    def _end_traffic(self) -> list[str]:
        """Stops traffic; returns warnings if it had not begun."""
        if not self._session.transmitting or self._engine is None:
            return []
        self._engine.stop()
        try:
            self._finish()
        except EngineError as error:
            return [str(error)]
        return []

    def _finish(self) -> None:
        assert self._engine is not None
        try:
            facts, _ = self._engine.finish()
        except EngineError:
            self._session.ended(None)
            raise
        self._session.ended(facts)
        self._said = False

    def _links(self, chosen: Sequence[int]) -> dict[int, bool]:
        testbed = self._testbed
        return {} if testbed is None else {port: testbed.link_is_up(port) for port in chosen}

    def _rates(self) -> list[float | None]:
        testbed = self._testbed
        count = len(self._session.configuration.ports)
        return [None if testbed is None else testbed.line_rate(port) for port in range(count)]

"""What clients are told of ports, traffic and neighbours: metrics, states, telemetry. Not locked: the controller is."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from keisoku.errors import PlanError
from keisoku.faces.otg.control.gateways import Gateways
from keisoku.faces.otg.control.ports import Ports
from keisoku.faces.otg.control.traffic import Traffic
from keisoku.faces.otg.device.gateways import neighbour_states
from keisoku.faces.otg.dhcp.parties import METRICS as DHCP_METRICS
from keisoku.faces.otg.metrics import TagWish, convergence_metrics, flow_metrics, port_metrics
from keisoku.faces.otg.reading.conformance import checked
from keisoku.faces.otg.reading.node import Node
from keisoku.faces.otg.routers import ROUTERS
from keisoku.faces.otg.telemetry import Telemetry
from keisoku.faces.service.traffic import EndedTraffic, Last
from keisoku.subjects.device.calibration.store import bias

Document = dict[str, Any]


class Monitor:
    """Answers from these ports, the traffic on them and their gateways."""

    def __init__(self, ports: Ports, traffic: Traffic, gateways: Gateways) -> None:
        self._ports, self._traffic, self._gateways = ports, traffic, gateways

    def metrics(self, document: Document) -> Document:
        """Metrics of ports, LAGs, flows, BGP peers, IS-IS or OSPFv2 routers, LLDP agents, LAGs' members, or DHCP.

        Raises PlanError for another kind, and for names that are not there.
        """
        node = checked(document, "MetricsRequest")
        choice = str(node.choice())
        spoken = ("bgpv4", "bgpv6", *ROUTERS, "lldp", "lacp", *DHCP_METRICS)
        if choice not in ("port", "lag", "flow", "convergence", *spoken):
            node.refuse("is not supported", f"ask for port, lag, flow, convergence, {', '.join(spoken)}", choice)
        asked = node.child(choice)
        if choice == "convergence":
            return self._convergence(node, asked)
        if choice in spoken:
            told = self._ports.speakers.metrics(choice, node)
            if choice in DHCP_METRICS:  # whose list OTG does not call as the choice
                return {"choice": choice, f"{choice.replace('_', '')}_metrics": told}
            return {"choice": f"{choice}_metrics", f"{choice}_metrics": told}
        names = [str(name) for name in asked.scalar(f"{choice}_names") or []]
        wanted = asked.scalar("metric_names" if choice == "flow" else "column_names") or []
        tags = TagWish.read(asked.child("tagged_metrics")) if choice == "flow" else TagWish()
        node.check_all_read()
        self._traffic.look()
        session, rates = self._ports.session, self._ports.rates()
        if choice == "port":
            ports_ = session.ports(names, "port.port_names")
            found = port_metrics(session, ports_, wanted, rates, self._ports.links(ports_))
        elif choice == "lag":
            lags = self._ports.speakers.lags.named(names, "lag.lag_names")
            found = self._ports.lag_metrics(lags, self._ports.metrics(), wanted)
        else:
            found = flow_metrics(session, session.flows(names, "flow.flow_names"), wanted, rates, tags)
        return {"choice": f"{choice}_metrics", f"{choice}_metrics": found}

    def telemetry(self, parts: Collection[str]) -> Callable[[], Telemetry]:
        """All metrics at one moment, by the same functions as `metrics` and `states`; those of `telemetry.PARTS` that
        are named. Gateways are waited for in the call of what is returned, after that moment."""
        self._traffic.look()
        session, rates, found = self._ports.session, self._ports.rates(), self._ports.metrics()
        speakers = self._ports.speakers
        lags = speakers.lags.named([], "lags") if "lags" in parts else []
        told = Telemetry(
            found,
            flow_metrics(session, session.flows([], "flows"), (), rates, TagWish(), always_loss=True),
            self._ports.lag_metrics(lags, found, ()),
            protocols={part: speakers.documents(part) for part in parts if part not in ("neighbours", "lags")},
        )
        gateways = [*self._gateways.questions(4), *self._gateways.questions(6)] if "neighbours" in parts else []
        return lambda: replace(told, neighbours=neighbour_states(gateways))

    def states(self, document: Document) -> Callable[[], Document]:
        """Neighbours: the gateways that the tester's hosts found; what BGP peers, routers and LLDP agents learned.

        Gateways are waited for in the call of what is returned. Raises PlanError for an interface that is not there.
        """
        node = checked(document, "StatesRequest")
        choice = str(node.choice())
        if choice not in ("ipv4_neighbors", "ipv6_neighbors"):
            told = self._ports.speakers.states(choice, node)
            return lambda: {"choice": choice, choice: told}
        names = node.child(choice).scalar("ethernet_names") or []
        node.check_all_read()
        known = {host.name for host in self._ports.session.configuration.interfaces}
        for unknown in (name for name in names if name not in known):
            raise PlanError(f"{choice}.ethernet_names", f"there is no interface {unknown}", "name a configured one")
        gateways = self._gateways.questions(int(choice[3]), names)
        return lambda: {"choice": choice, choice: neighbour_states(gateways)}

    def last_traffic(self) -> Last:
        """The last traffic with all counts; if none has ended, whether one runs. OTG has no call for it."""
        self._traffic.look()
        session, engine = self._ports.session, self._ports.engine
        if session.trial is None or session.facts is None or engine is None:
            return bool(session.transmitting)
        return EndedTraffic(
            trial=session.trial,
            facts=session.facts,
            flows={name: list(range(part.start, part.stop)) for name, part in session.streams.items()},
            ports=[port.name for port in session.configuration.ports],
            rates=self._ports.rates(),
            bias=bias(engine),
            context=engine.context(),
            invalid_because=self._traffic.invalid_because(),
        )

    def _convergence(self, node: Node, asked: Node) -> Document:
        names = [str(name) for name in asked.scalar("flow_names") or []]
        node.check_all_read()
        self._traffic.look()
        session = self._ports.session
        flows, wish = session.flows(names, "convergence.flow_names"), session.configuration.wish
        if self._ports.engine is not None and session.transmitting:
            session.gaps = self._ports.engine.longest_gaps()
        if not (wish.causes or wish.flows):
            raise PlanError("convergence", "no events were enabled", "set events.dp_events.enable or cp_events.enable")
        return {"choice": "convergence_metrics", "convergence_metrics": convergence_metrics(session, flows)}

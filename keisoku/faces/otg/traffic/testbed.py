"""The testbed for the ports and hosts of a configuration."""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.errors import PlanError
from keisoku.faces.otg.configuration import ConfiguredPort
from keisoku.faces.otg.device.device import Address, Interface
from keisoku.faces.otg.flow.flow import Flow
from keisoku.ground.frame.host_range import HostRange
from keisoku.ground.frame.stack import parse
from keisoku.subjects.device.engine.engine import Engine
from keisoku.subjects.device.engine.port_capture import PortCapture
from keisoku.subjects.device.testbed.opening import open_testbed
from keisoku.subjects.device.testbed.requirements import WantedPort, WantedTestbed, WantedTraffic
from keisoku.subjects.device.testbed.testbed import Testbed


def opened(ports: Sequence[ConfiguredPort], before: Testbed | None) -> Testbed:
    """The testbed that is to replace the one `before`, and may share interfaces with it. Raises PlanError, with the
    path, for ports that cannot be used; EngineError if making a lab fails."""
    wanted = tuple(WantedPort(port.location, f"{port.path}.location") for port in ports)
    try:
        return open_testbed(WantedTestbed(wanted, held={} if before is None else before.claims))
    except PlanError as error:
        if error.field in {port.field for port in wanted}:
            raise
        raise PlanError(wanted[0].field, error.problem, error.remedy) from error


def engine_of(testbed: Testbed, flows: Sequence[Flow], flow_bytes: int, capture: PortCapture | None) -> Engine | None:
    """An engine on the ports of these flows, with so much room for their frames; None if there is no flow. Raises
    PlanError, with the path, for what these ports cannot do."""
    pairs = dict.fromkeys(pair for flow in flows for pair in flow.pairs)
    if not pairs:
        return None
    arrivals = any(flow.egress is not None for flow in flows)
    engine = testbed.engine(WantedTraffic(tuple(pairs), changes=arrivals, flow_bytes=flow_bytes), capture)
    try:
        for flow in flows:
            _check(engine, flow)
    except PlanError:
        engine.close()
        raise
    return engine


def _check(engine: Engine, flow: Flow) -> None:
    found = engine.capabilities
    if flow.egress is not None and "compare" not in found.abilities:
        problem = "these ports do not read the headers of frames that arrive"
        raise PlanError(f"{flow.path}.egress_packet", problem, "leave it out")
    if any(len(flow.arrives_at(receive)) > 1 for _, receive in flow.ways) and "anywhere" not in found.abilities:
        problem = "these ports count a flow's frames at one receiving port"
        raise PlanError(f"{flow.path}.tx_rx", problem, "name one")
    tag_bytes = parse(flow.packet.headers).tag_bytes
    if found.max_frame_bytes is not None and max(flow.frame_bytes) > found.max_frame_bytes + tag_bytes:
        problem = f"the ports send {found.max_frame_bytes + tag_bytes} bytes at most"
        raise PlanError(f"{flow.path}.size", problem, "use smaller frames")


def answer(testbed: Testbed, interfaces: Sequence[Interface]) -> None:
    """Answers for the hosts of these interfaces, and for no others."""
    hosts: dict[int, list[HostRange]] = {}
    for interface in interfaces:
        for address in (one for one in interface.addresses if not one.loopback):
            hosts.setdefault(interface.port, []).append(_host(interface, address))
    testbed.answer(hosts)


def next_hop(testbed: Testbed, interface: Interface, address: Address) -> str | None:
    """MAC address of an address's gateway; None where it need not be resolved. EngineError if it does not answer."""
    if address.gateway_mac is not None:
        return address.gateway_mac
    return testbed.resolve(interface.port, _host(interface, address), address.gateway)


def _host(interface: Interface, address: Address) -> HostRange:
    return HostRange.parse(interface.mac, address.ip, address.path, interface.vlan)

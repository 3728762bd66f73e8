"""The tester's hosts at an instrument's ports: their addresses, who answers for them, where the DUT is.

ARP and neighbour discovery are spoken by this program through the ports' mailboxes, between and during trials.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

from keisoku.device.engine.fpga.tester import Tester
from keisoku.device.engine.traffic import Route, Way
from keisoku.errors import PlanError
from keisoku.fpga.neighbour import Hosts, Party, resolve, step
from keisoku.frame.headers import DESTINATION_IPV4, DESTINATION_IPV6, SOURCE_IPV4, SOURCE_IPV6

_UNADDRESSED = {4: (SOURCE_IPV4, DESTINATION_IPV4), 6: (SOURCE_IPV6, DESTINATION_IPV6)}
_RESOLVE_NS = 3_000_000_000
_SIMULATED_RESOLVE_NS = 5_000_000


@dataclass(frozen=True)
class _Mailbox:
    """Of one port."""

    tester: Tester
    port: int

    def receive(self) -> bytes | None:
        return self.tester.receive(self.port)

    def send(self, frame: bytes) -> None:
        self.tester.send(self.port, frame)


class FpgaHosts:
    """At `ports` of an instrument, in the plan's order.

    `addresses`: one a port, or none; 'FIRST-LAST' answers for all of a range and sends from its first. `gateways`: the
    DUT's, of the first ports in order. Raises PlanError for texts that are no such addresses.
    """

    def __init__(self, tester: Tester, ports: Sequence[int], addresses: Sequence[str], gateways: Sequence[str]) -> None:
        if addresses and len(addresses) != len(ports):
            problem = f"{len(addresses)} are given for {len(ports)} ports"
            raise PlanError("address", problem, "give one for each port, or none")
        if len(gateways) > len(ports):
            raise PlanError("gateway", f"{len(gateways)} are given for {len(ports)} ports", "give one for each port")
        if gateways and not addresses:
            problem = "a router delivers to addresses, and the ports have none"
            raise PlanError("gateway", problem, "give one for each port with --address")
        self._tester = tester
        self._mailboxes = [_Mailbox(tester, port) for port in ports]
        self._hosts = [_hosts(mac(place), text) for place, text in enumerate(addresses)]
        self._gateways = [_address("gateway", text) for text in gateways]

    def answer(self) -> None:
        """Answers what has come in at all ports."""
        for mailbox, hosts in zip(self._mailboxes, self._hosts, strict=False):
            step(mailbox, [hosts])

    def routes(self, pairs: Iterable[tuple[int, int]]) -> list[Route]:
        """Routes between the plan's ports. Raises EngineError if a gateway does not answer."""
        hops = {port: self._next_hop(port) for port in range(len(self._gateways))}

        def way(one: int, other: int, back: bool = False) -> Way:
            ips = {f"ipv{version}": (self._ip(one, version), self._ip(other, version)) for version in (4, 6)}
            next_hop = mac(other) if back else hops.get(one, mac(other))
            device_ip = str(self._gateways[one]) if one < len(self._gateways) else None
            return Way(mac(one), next_hop, mac(other), ips, device_ip=device_ip)

        return [Route(one, other, way(one, other), way(other, one, back=True)) for one, other in pairs]

    def _ip(self, port: int, version: int) -> str:
        own = self._hosts[port].first if port < len(self._hosts) else None
        return str(own) if own is not None and own.version == version else _UNADDRESSED[version][min(port, 1)]

    def _next_hop(self, port: int) -> str:
        """The gateway's MAC address."""
        hosts = self._hosts[port]
        asker = Party(hosts.mac, hosts.first)
        if hosts.first.version != self._gateways[port].version:
            raise PlanError("gateway", f"{self._gateways[port]} is of another IP version", "give one of the address's")
        patience_ns = _SIMULATED_RESOLVE_NS if self._tester.simulated else _RESOLVE_NS
        gateway = self._gateways[port]
        return resolve(self._mailboxes[port], [hosts], asker, gateway, patience_ns, self._tester.let_pass)


def mac(place: int) -> str:
    """Of the plan's port: locally administered."""
    return f"02:00:00:00:00:{place:02x}"


def _hosts(own_mac: str, text: str) -> Hosts:
    first, _, last = text.partition("-")
    begin = _address("address", first)
    end = _address("address", last) if last else begin
    if begin.version != end.version or int(end) < int(begin):
        raise PlanError("address", f"'{text}' is no range", "write FIRST-LAST, such as 198.18.1.2-198.18.1.99")
    return Hosts(own_mac, begin, end)


def _address(field: str, text: str) -> IPv4Address | IPv6Address:
    try:
        return ip_address(text.strip())
    except ValueError:
        raise PlanError(field, f"'{text}' is no IP address", "write it as 198.18.1.1 or 2001:2::1") from None

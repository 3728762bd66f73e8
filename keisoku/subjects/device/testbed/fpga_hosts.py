"""The tester's hosts at an instrument's ports.

This program sends and answers ARP and neighbour discovery through the ports' mailboxes, between and during trials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keisoku.errors import PlanError
from keisoku.ground.fpga.neighbour import Party, resolve, step
from keisoku.subjects.device.engine.fpga.tester import Tester
from keisoku.subjects.device.engine.traffic import local_mac
from keisoku.subjects.device.testbed.tester_hosts import TesterHosts

_RESOLVE_NS = 3_000_000_000
_SIMULATED_RESOLVE_NS = 5_000_000


@dataclass(frozen=True)
class _Mailbox:
    """The hosts of one port."""

    tester: Tester
    port: int

    def receive(self) -> bytes | None:
        return self.tester.receive(self.port)

    def send(self, frame: bytes) -> None:
        self.tester.send(self.port, frame)


class FpgaHosts(TesterHosts):
    """Hosts at `ports` of an instrument, in the order of the testbed; the ports have only the given addresses."""

    def __init__(self, tester: Tester, ports: Sequence[int], addresses: Sequence[str], gateways: Sequence[str]) -> None:
        super().__init__([local_mac(place) for place in range(len(ports))], addresses, gateways)
        if gateways and not addresses:
            problem = "a router needs the addresses of its destinations, and the ports have none"
            raise PlanError("gateway", problem, "give one for each port with --address")
        self._tester = tester
        self._mailboxes = [_Mailbox(tester, port) for port in ports]

    def answer(self) -> None:
        """Answers the requests that have arrived at all ports."""
        for mailbox, own in zip(self._mailboxes, self.ranges, strict=False):
            step(mailbox, [own])

    def gateway_mac(self, port: int) -> str:
        """Resolves it from the port's first address. Raises PlanError if that is of another version of IP."""
        own, gateway = self.ranges[port], self.gateways[port]
        if own.first.version != gateway.version:
            raise PlanError(
                "gateway", f"{gateway} has another IP version than the address", "use the same version for both"
            )
        patience_ns = _SIMULATED_RESOLVE_NS if self._tester.simulated else _RESOLVE_NS
        asker = Party(own.mac, own.first)
        return resolve(self._mailboxes[port], [own], asker, gateway, patience_ns, self._tester.let_pass)

    def own_ip(self, port: int, version: int) -> str | None:
        """None."""
        return None

"""The testbed for the ports and hosts of a configuration."""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.device.testbed.opening import open_testbed
from keisoku.device.testbed.testbed import Testbed
from keisoku.device.testbed.wanted import WantedPort, WantedTestbed
from keisoku.errors import PlanError
from keisoku.frame.host_range import HostRange
from keisoku.otg.configuration import ConfiguredPort
from keisoku.otg.device import Address, Interface


def opened(ports: Sequence[ConfiguredPort]) -> Testbed:
    """Raises PlanError, with the path, for ports that cannot be used; EngineError if making a lab fails."""
    wanted = tuple(WantedPort(port.location, f"{port.path}.location") for port in ports)
    try:
        return open_testbed(WantedTestbed(wanted))
    except PlanError as error:
        if error.field in {port.field for port in wanted}:
            raise
        raise PlanError(wanted[0].field, error.problem, error.remedy) from error


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

"""Flows of DHCP clients, with the addresses that they have been given. Asks nobody itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from ipaddress import ip_address, ip_interface

from keisoku.errors import EngineError
from keisoku.faces.otg.device.device import Address
from keisoku.faces.otg.dhcp.clients import DhcpClient
from keisoku.faces.otg.dhcp.states import Lease
from keisoku.faces.otg.flow.flow import End, Flow

LeaseOf = Callable[[DhcpClient], Lease | None]


def leased(flow: Flow, lease_of: LeaseOf) -> Flow:
    """The flow with the addresses that its clients have now. Raises EngineError for a client without one."""
    if not any(end.client for way in flow.ways for end in way):
        return flow
    ways = []
    for transmit, receive in flow.ways:
        one, other = _leased(transmit, lease_of), _leased(receive, lease_of)
        ways.append((_facing(one, other), _facing(other, one)))
    return replace(flow, ways=tuple(ways))


def _leased(end: End, lease_of: LeaseOf) -> End:
    if end.client is None:
        return end
    found = lease_of(end.client)
    if found is None:
        raise EngineError(f"{end.client.name} has no lease; start the protocols, and wait until it has one")
    named = end.client.name, found.ip, found.router or ""
    return replace(end, address=Address(*named, found.prefix, None, end.client.path))


def _facing(end: End, other: End) -> End:
    """A host asks for the other end itself where that is in its network, and where it was told of no router."""
    if end.address is None or (end.client is None and other.client is None):
        return end
    if other.address is None and other.interface is not None:
        return replace(end, address=replace(end.address, gateway_mac=other.interface.mac))
    if other.address is not None and not other.behind:
        own, far = ip_interface(f"{end.address.ip}/{end.address.prefix}"), ip_address(other.address.ip)
        if far in own.network or not end.address.gateway:
            return replace(end, address=replace(end.address, gateway=str(far)))
    if not end.address.gateway:
        raise EngineError(f"{end.address.name} was told of no router; give the flow an end in its network")
    return end

"""Random destination networks (RFC 2544 §12): their addresses, without routes.

RFC 2544 appendix C.2.2.2 has 198.19.65.0 to 198.19.254.0 for networks behind an output port, which are 190 and not
the 256 of §12: here they are the networks of 198.19.0.0/16, of which none is a lab port's own. More than 256 networks
share it in smaller pieces.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network

MOST_NETWORKS = 4096
_RANGE = IPv4Network("198.19.0.0/16")
_WIDE, _NARROW = 24, 28
_MOST_WIDE = 256


def ipv4_network(number: int, count: int) -> IPv4Network:
    """Network `number` of `count`: /24, or /28 of more than 256."""
    bits = _WIDE if count <= _MOST_WIDE else _NARROW
    return IPv4Network((int(_RANGE.network_address) + (number << (32 - bits)), bits))


def ipv4_host(network: IPv4Network) -> IPv4Address:
    """The first host of a network."""
    return network.network_address + 1


def ipv6_network(number: int) -> str:
    """IPv6 network `number` (/64), inside the range for benchmarks of RFC 5180 §8; without prefix length."""
    return f"2001:2:0:{0x8000 + number:x}::"

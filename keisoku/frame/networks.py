"""Random destination networks (RFC 2544 §12): their addresses, without routes.

RFC 2544 appendix C.2.2.2 has 198.19.65.0 to 198.19.254.0 for networks behind an output port, which are 190 and not
the 256 of §12: here they are the networks of 198.19.0.0/16, of which none is a lab port's own.
"""

from __future__ import annotations


def ipv4_network(number: int) -> str:
    """Network `number` of up to 256, without prefix length (/24)."""
    return f"198.19.{number}.0"


def ipv6_network(number: int) -> str:
    """IPv6 network `number` (/64), inside the range for benchmarks of RFC 5180 §8."""
    return f"2001:2:0:{0x8000 + number:x}::"

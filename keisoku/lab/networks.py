"""Destination networks at random: RFC 2544 §12. Knows addresses, no routes.

RFC 2544 appendix C.2.2.2 has 198.19.65.0 to 198.19.254.0 for networks behind an output port, which are 190 and not
the 256 of §12: here they are the networks of 198.19.0.0/16, of which none is a lab port's own.
"""

from __future__ import annotations

from keisoku.device.plan.content import Content
from keisoku.errors import PlanError


def ipv4_network(number: int) -> str:
    """Network `number` of up to 256, without prefix length (/24)."""
    return f"198.19.{number}.0"


def ipv6_network(number: int) -> str:
    """Likewise (/64), inside the range for benchmarks of RFC 5180 §8."""
    return f"2001:2:0:{0x8000 + number:x}::"


def to_networks(content: Content, count: int) -> Content:
    """The same frames to hosts in `count` networks, evenly distributed. Raises PlanError for frames without IP."""
    match content.ip_version:
        case "ipv4":
            first, last = ipv4_network(0), ipv4_network(count - 1).removesuffix("0") + "255"
            modifier = f"IP.dst=random({first}-{last})"
        case "ipv6":
            first, last = ipv6_network(0), ipv6_network(count - 1).removesuffix("::") + ":ffff:ffff:ffff:ffff"
            modifier = f"IPv6.dst=random({first}-{last})"
        case _:
            raise PlanError("networks", f"{content.headers} frames have no IP address", "use ipv4 or ipv6 headers")
    return content.model_copy(update={"modify": (*content.modify, modifier)})

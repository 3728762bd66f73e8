"""Frames to random destination networks: RFC 2544 §12."""

from __future__ import annotations

from keisoku.errors import PlanError
from keisoku.ground.frame.networks import ipv4_host, ipv4_network, ipv6_network
from keisoku.subjects.device.plan.content import Content


def to_networks(content: Content, count: int) -> Content:
    """The same frames to hosts in `count` networks, evenly distributed; as many streams have a network each. Raises
    PlanError for frames without IP."""
    if content.streams == count and content.ip_version == "ipv4" and not content.modify:
        network = ipv4_network(0, count)
        each = f"IP.dst=increment({ipv4_host(network)}, step={network.num_addresses}, count={count})"
        return content.model_copy(update={"modify": (each,)})
    match content.ip_version:
        case "ipv4":
            whole = ipv4_network(0, count).network_address, ipv4_network(count - 1, count).broadcast_address
            modifier = f"IP.dst=random({whole[0]}-{whole[1]})"
        case "ipv6":
            first, last = ipv6_network(0), ipv6_network(count - 1).removesuffix("::") + ":ffff:ffff:ffff:ffff"
            modifier = f"IPv6.dst=random({first}-{last})"
        case _:
            raise PlanError("networks", f"{content.headers} frames have no IP address", "use ipv4 or ipv6 headers")
    return content.model_copy(update={"modify": (*content.modify, modifier)})

"""What an interface's driver can do with XDP, by the kernel's `netdev` generic-netlink family (Linux 6.3)."""

from __future__ import annotations

from pyroute2 import NetlinkError
from pyroute2.netlink import NLM_F_REQUEST, genlmsg
from pyroute2.netlink.generic import GenericNetlinkSocket

# include/uapi/linux/netdev.h
_DEV_GET = 1
_FEATURES = (
    "native",
    "redirect",
    "transmit",
    "zero-copy",
    "hardware offload",
    "multi-buffer receive",
    "multi-buffer transmit",
)


class _Device(genlmsg):  # type: ignore[misc]
    """`NETDEV_A_DEV_*`."""

    nla_map = (
        ("NETDEV_A_DEV_UNSPEC", "none"),
        ("NETDEV_A_DEV_IFINDEX", "uint32"),
        ("NETDEV_A_DEV_PAD", "hex"),
        ("NETDEV_A_DEV_XDP_FEATURES", "uint64"),
    )


def xdp_features(index: int) -> tuple[str, ...] | None:
    """Names of the features of an interface in this thread's namespace; None if the kernel cannot say."""
    try:
        with GenericNetlinkSocket() as netlink:
            netlink.bind("netdev", _Device)
            question = _Device()
            question["cmd"], question["version"] = _DEV_GET, 1
            question["attrs"] = [("NETDEV_A_DEV_IFINDEX", index)]
            answers = netlink.nlm_request(question, msg_type=netlink.prid, msg_flags=NLM_F_REQUEST)
            bits = next(iter(answers)).get_attr("NETDEV_A_DEV_XDP_FEATURES")
    except (NetlinkError, OSError):
        return None
    return tuple(name for place, name in enumerate(_FEATURES) if bits >> place & 1)

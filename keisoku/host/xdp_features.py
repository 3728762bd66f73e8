"""XDP features of an interface's driver, from the kernel's `netdev` generic-netlink family (Linux 6.3)."""

from __future__ import annotations

from dataclasses import dataclass

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
# NETDEV_XDP_RX_METADATA_*: what an XDP program can ask of a received frame.
_RECEIVE_METADATA = ("timestamp", "hash", "VLAN tag")
# NETDEV_XSK_FLAGS_*: what an AF_XDP socket can ask for a frame that it sends.
_SOCKET_FEATURES = ("transmit timestamp", "transmit checksum", "launch time")


@dataclass(frozen=True)
class XdpFeatures:
    """Names of a driver's features; empty where it has none of a kind (or the kernel is too old to report them)."""

    xdp: tuple[str, ...] = ()
    receive_metadata: tuple[str, ...] = ()
    socket: tuple[str, ...] = ()


class _Device(genlmsg):  # type: ignore[misc]
    """`NETDEV_A_DEV_*`."""

    nla_map = (
        ("NETDEV_A_DEV_UNSPEC", "none"),
        ("NETDEV_A_DEV_IFINDEX", "uint32"),
        ("NETDEV_A_DEV_PAD", "hex"),
        ("NETDEV_A_DEV_XDP_FEATURES", "uint64"),
        ("NETDEV_A_DEV_XDP_ZC_MAX_SEGS", "uint32"),
        ("NETDEV_A_DEV_XDP_RX_METADATA_FEATURES", "uint64"),
        ("NETDEV_A_DEV_XSK_FEATURES", "uint64"),
    )


def xdp_features(index: int) -> XdpFeatures | None:
    """Features of the driver of an interface in this thread's namespace; None if the kernel cannot report them."""
    try:
        with GenericNetlinkSocket() as netlink:
            netlink.bind("netdev", _Device)
            question = _Device()
            question["cmd"], question["version"] = _DEV_GET, 1
            question["attrs"] = [("NETDEV_A_DEV_IFINDEX", index)]
            answers = netlink.nlm_request(question, msg_type=netlink.prid, msg_flags=NLM_F_REQUEST)
            answer = next(iter(answers))
    except (NetlinkError, OSError):
        return None

    def named(attribute: str, names: tuple[str, ...]) -> tuple[str, ...]:
        bits = answer.get_attr(attribute) or 0
        return tuple(name for place, name in enumerate(names) if bits >> place & 1)

    return XdpFeatures(
        xdp=named("NETDEV_A_DEV_XDP_FEATURES", _FEATURES),
        receive_metadata=named("NETDEV_A_DEV_XDP_RX_METADATA_FEATURES", _RECEIVE_METADATA),
        socket=named("NETDEV_A_DEV_XSK_FEATURES", _SOCKET_FEATURES),
    )

"""What a lab sets on its interfaces: no offloads, no frames of the kernel's own, a core that handles received frames.

Every function acts on the namespace of the calling thread (see `Namespace.run`). Only the lab calls
them, and only on interfaces that it made: they must never be used on an interface of the host.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyroute2 import Ethtool, IPRoute
from pyroute2.ethtool.ioctl import NotSupportedError

from keisoku.ground.host.ethtool import OFFLOADS, set_offload

_QUIET = {
    "ipv4/conf/{}/arp_ignore": "1",
    "ipv4/conf/{}/arp_announce": "2",
    "ipv4/conf/{}/rp_filter": "0",
    "ipv4/conf/{}/send_redirects": "0",
    "ipv6/conf/{}/accept_dad": "0",
    "ipv6/conf/{}/accept_ra": "0",
    "ipv6/conf/{}/addr_gen_mode": "1",
    "ipv6/conf/{}/autoconf": "0",
    "ipv6/conf/{}/dad_transmits": "0",
    # The kernel reports the groups it joins twice; without delay, so that both reports precede the first trial.
    "ipv6/conf/{}/mldv1_unsolicited_report_interval": "1",
    "ipv6/conf/{}/mldv2_unsolicited_report_interval": "1",
    "ipv6/conf/{}/router_solicitations": "0",
}

_FIRST_NUMBER = 1000
_SERVICE_TAGS = ("tx-vlan-stag-hw-insert", "rx-vlan-stag-hw-parse")


def quiet_defaults() -> None:
    """Make future interfaces send nothing by themselves, and answer ARP for their own addresses only."""
    for name in ("all", "default"):
        for key, value in _QUIET.items():
            set_sysctl(key.format(name), value)


def withhold_errors() -> None:
    """Stop the kernel from sending ICMP errors about received test frames, for which the host has no socket.

    A NAT or tunnel end sends them from its own address, to which there is a route, so the kernel would answer.
    """
    # A message is allowed once so many ms have passed since the last, or since 60 s before the first.
    for key in ("ipv4/icmp_ratelimit", "ipv6/icmp/ratelimit"):
        set_sysctl(key, str(24 * 3600 * 1000))


def unlimited_errors() -> None:
    """Let the kernel send every ICMP error that a rule asks for (all of them since Linux 6.13)."""
    for key, value in (
        ("ipv4/icmp_ratelimit", 0),
        ("ipv4/icmp_msgs_per_sec", 1 << 30),
        ("ipv4/icmp_msgs_burst", 1 << 20),
    ):
        set_sysctl(key, str(value))


def set_sysctl(key: str, value: str) -> None:
    """Write `net/<key>` of the calling thread's namespace; a key that the kernel lacks is left out."""
    path = Path("/proc/sys/net") / key
    if path.exists():
        path.write_text(value)


def disable_ipv6() -> None:
    """Disable the kernel's IPv6 on all interfaces of the namespace, present and future."""
    for name in ("all", "default"):
        set_sysctl(f"ipv6/conf/{name}/disable_ipv6", "1")


def make_pair(near: Mapping[str, object], far: Mapping[str, object], place: Path | None) -> None:
    """Make a veth pair from here to the namespace at `place` (None: here); `near` and `far` are the ends' attributes.

    The kernel tells of a carrier at once where the numbers of both ends differ, and elsewhere up to a second later
    (net/core/link_watch.c). Each namespace numbers its interfaces from 1, so that the first pair between two of them
    has the same number at both ends, if the kernel chooses it.
    """
    there = {"net_ns_fd": str(place)} if place else {}
    with IPRoute() as ip:
        number = max(_FIRST_NUMBER, *(link["index"] for link in ip.get_links())) + 1
        ip.link("add", kind="veth", index=number, peer={**far, **there}, **near)


def whole_frames(interface: str) -> dict[str, str]:
    """Switch off all offloads that merge, split, change or delay frames; but switch GRO on.

    GRO switches NAPI on, and without NAPI a veth silently drops the XDP frames that its peer sends;
    `topology.MERGED_BYTES` ensures that GRO merges nothing. Returns each setting: 'on', 'off', or
    'fixed' if it was refused.
    """
    wanted = {name: name == "GRO" for name in OFFLOADS}
    settings = {
        name: ("on" if on else "off") if set_offload(interface, name, on) else "fixed" for name, on in wanted.items()
    }
    return settings | {"service VLAN tags": _leave_service_tags(interface)}


def _leave_service_tags(interface: str) -> str:
    """802.1ad tags stay in the frame: an XDP program would not see them outside it. They have no flag of their own."""
    with Ethtool() as ethtool:
        features = ethtool.get_features(interface)
        for name in _SERVICE_TAGS:
            if name in features.features:
                features.features[name].enable = False
        try:
            ethtool.set_features(interface, features)
        except (OSError, NotSupportedError):
            return "fixed"
    return "off"


def receive_on_core(interface: str, core: int) -> str:
    """Handle received frames of the interface on `core` instead of in the sender's softirq.

    Returns how: 'RPS', or 'shared' where the kernel lacks it. Why RPS and not a NAPI thread: docs/how-we-know.
    Needs the namespace's own /sys.
    """
    queues = list((Path("/sys/class/net") / interface / "queues").glob("rx-*/rps_cpus"))
    # Groups of 32 CPUs, the highest first, separated by commas.
    groups = [0] * (core // 32) + [1 << core % 32]
    mask = ",".join(f"{group:08x}" for group in reversed(groups))
    try:
        for queue in queues:
            queue.write_text(mask)
    except OSError:
        return "shared"
    return "RPS" if queues else "shared"

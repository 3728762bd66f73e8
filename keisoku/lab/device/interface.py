"""What a lab sets on its interfaces: no offloads, no chatter, a core to handle what arrives.

Every function acts on the namespace of the calling thread (see `Namespace.run`). Only the lab calls
them, and only on interfaces it made: they must never meet an interface of the host.
"""

from __future__ import annotations

from pathlib import Path

from pyroute2 import Ethtool
from pyroute2.ethtool.ioctl import NotSupportedError

from keisoku.host.ethtool import OFFLOADS, set_offload

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
    # The kernel tells the groups it joins twice; at once, so that it is over before the first trial.
    "ipv6/conf/{}/mldv1_unsolicited_report_interval": "1",
    "ipv6/conf/{}/mldv2_unsolicited_report_interval": "1",
    "ipv6/conf/{}/router_solicitations": "0",
}

_SERVICE_TAGS = ("tx-vlan-stag-hw-insert", "rx-vlan-stag-hw-parse")


def quiet_defaults() -> None:
    """Make interfaces yet to come send nothing by themselves, and answer ARP for themselves only."""
    for name in ("all", "default"):
        for key, value in _QUIET.items():
            set_sysctl(key.format(name), value)


def withhold_errors() -> None:
    """Have the kernel send no ICMP errors about frames that a tester's port receives and nobody waits for.

    A NAT or tunnel end sends them from its own address, to which there is a route, so the kernel would answer.
    """
    # A message is allowed once so many ms have passed since the last, or since 60 s before the first.
    for key in ("ipv4/icmp_ratelimit", "ipv6/icmp/ratelimit"):
        set_sysctl(key, str(24 * 3600 * 1000))


def set_sysctl(key: str, value: str) -> None:
    """Write `net/<key>` of the calling thread's namespace; a key that the kernel lacks is left out."""
    path = Path("/proc/sys/net") / key
    if path.exists():
        path.write_text(value)


def disable_ipv6() -> None:
    """Take the kernel's IPv6 off all interfaces of the namespace, present and to come."""
    for name in ("all", "default"):
        set_sysctl(f"ipv6/conf/{name}/disable_ipv6", "1")


def whole_frames(interface: str) -> dict[str, str]:
    """Switch off whatever merges, splits, strips or defers, for it would falsify frames; but GRO on.

    With GRO comes NAPI, and without NAPI a veth silently drops the XDP frames that its peer sends; that
    GRO merges nothing is seen to by `topology.MERGED_BYTES`. Returns each setting: 'on', 'off', or
    'fixed' if it was refused.
    """
    wanted = {name: name == "GRO" for name in OFFLOADS}
    settings = {
        name: ("on" if on else "off") if set_offload(interface, name, on) else "fixed" for name, on in wanted.items()
    }
    return settings | {"service VLAN tags": _leave_service_tags(interface)}


def _leave_service_tags(interface: str) -> str:
    """802.1ad tags stay in the frame: beside it an XDP program would not see them. They have no flag of their own."""
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
    """Have what arrives at the interface handled on `core` instead of in its sender's softirq.

    Returns how: 'RPS', or 'shared' where the kernel lacks it. Why RPS and not a NAPI thread: docs/lab.md.
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

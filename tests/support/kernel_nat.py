"""NATs and firewalls of the kernel at the router of a path of the lab: rules of nftables, and how long it keeps UDP."""

from __future__ import annotations

from dataclasses import dataclass

from pyroute2 import IPRoute

from keisoku.ground.host.namespace import Namespace
from keisoku.ground.lab.device.interface import set_sysctl
from keisoku.ground.lab.device.nftables import NFT
from keisoku.ground.lab.path.lab import PathLab

OTHER = "198.18.2.7"
"""Of the far end, beside its 198.18.2.2."""
OUTER = "198.18.2.1"


@dataclass(frozen=True)
class Kind:
    """Rules of nftables at the router, how long its kernel keeps UDP, and what that is in the words of RFC 4787.

    The kernel keeps bindings without an answer for 2.5 s at least, after which those with answers are used again.
    """

    rules: str
    unanswered_s: int
    answered_s: int
    expected: dict[str, object]


def after_routing(rules: str) -> str:
    return f"table ip nat {{ chain out {{ type nat hook postrouting priority srcnat; {rules}; }}; }}"


KINDS = {
    "masquerade": Kind(
        after_routing('oifname "down" masquerade'),
        3,
        4,
        {"translation": "address", "mapping": "independent", "filtering": "address-and-port", "ports": "preserved"},
    ),
    "masquerade random": Kind(
        after_routing('oifname "down" masquerade random'),
        3,
        60,
        {"translation": "address", "mapping": "address-and-port", "filtering": "address-and-port", "ports": "changed"},
    ),
    "masquerade fully-random": Kind(
        after_routing('oifname "down" masquerade fully-random'),
        60,
        3,
        {"translation": "address", "mapping": "address-and-port", "filtering": "address-and-port", "ports": "changed"},
    ),
    "fixed ports": Kind(
        after_routing(f'oifname "down" meta l4proto {{ tcp, udp }} snat to {OUTER}:10000-10999'),
        4,
        2,
        {"translation": "address", "mapping": "independent", "filtering": "address-and-port", "ports": "changed"},
    ),
    "ports by address": Kind(
        after_routing(
            f'oifname "down" ip daddr {OTHER} meta l4proto {{ tcp, udp }} snat to {OUTER}:10000-10999; '
            f'oifname "down" meta l4proto {{ tcp, udp }} snat to {OUTER}:20000-20999'
        ),
        3,
        3,
        {"translation": "address", "mapping": "address", "filtering": "address-and-port", "ports": "changed"},
    ),
    "full cone with a hairpin": Kind(
        "table ip nat { "
        "chain out { type nat hook postrouting priority srcnat; "
        'oifname "down" masquerade; ip saddr 198.18.1.0/24 ip daddr 198.18.1.0/24 masquerade; }; '
        "chain in { type nat hook prerouting priority dstnat; "
        f"ip daddr {OUTER} meta l4proto udp dnat to 198.18.1.1; }}; }}",
        60,
        60,
        {"translation": "address", "mapping": "independent", "filtering": "independent", "hairpins": True},
    ),
    "firewall": Kind(
        "table ip filter { chain forward { type filter hook forward priority filter; "
        'ct state established,related accept; iifname "down" meta l4proto udp drop; }; }',
        4,
        3,
        {"translation": "firewall", "mapping": "independent", "filtering": "address-and-port", "hairpins": None},
    ),
    "nothing": Kind("", 2, 3, {"translation": "none", "filtering": "independent"}),
}
NEVER = {"full cone with a hairpin", "nothing"}
"""That forget no binding: what comes in makes it again."""


def prepare(kind: Kind, lab: PathLab) -> None:
    """Makes the first router of a path of two hops such a one, and gives the target its other address."""

    def of_router() -> None:
        if kind.rules:
            NFT.run("-f", "-", text=kind.rules)
            set_sysctl("netfilter/nf_conntrack_udp_timeout", str(kind.unanswered_s))
            set_sysctl("netfilter/nf_conntrack_udp_timeout_stream", str(kind.answered_s))

    def of_target() -> None:
        with IPRoute() as ip:
            ip.addr("add", index=ip.link_lookup(ifname="up")[0], address=OTHER, prefixlen=24)

    Namespace(lab.nodes[1].namespace).run(of_router)
    lab.run_in_target(of_target)

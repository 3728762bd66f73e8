"""`KernelPart`: a part of the kernel that a device is made of and that not every kernel has.

Whether it is there is tried in a namespace without a name, because a kernel loads the module at its first use.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from keisoku.errors import EngineError
from keisoku.ground.host.namespace import apart
from keisoku.ground.lab.device import iproute

MODULES = Path("/lib/modules", platform.release())
"""Where the modules of this kernel are."""
_PAIR = "link add name a numtxqueues 2 numrxqueues 2 type veth peer name b numtxqueues 2 numrxqueues 2"


@dataclass(frozen=True)
class KernelPart:
    """A module with the option that builds it, and the commands that need it."""

    module: str
    option: str
    links: tuple[str, ...] = ()
    """Commands of `ip`, after a veth pair `a`, `b` was made."""
    queues: tuple[str, ...] = ()
    """Commands of `tc`, afterwards."""


def loadable(modules: Path) -> frozenset[str]:
    """Names of the modules in the folder of a kernel; none where there is none."""
    try:
        lines = (modules / "modules.dep").read_text(encoding="utf-8").splitlines()
    except OSError:
        return frozenset()
    return frozenset(Path(line.partition(":")[0]).name.partition(".")[0].replace("-", "_") for line in lines)


@cache
def absence(part: KernelPart) -> str | None:
    """None if this kernel has the part and iproute2 knows it, else what was said when it was tried."""

    def attempt() -> None:
        iproute.ip(_PAIR, *part.links)
        iproute.tc(*part.queues)

    try:
        apart(attempt)
    except (EngineError, OSError) as error:
        return str(error)
    return None


def _device(module: str, option: str, kind: str, before: str = "") -> KernelPart:
    return KernelPart(module, option, (f"link add {before}name probe type {kind}",))


def _queue(name: str, words: str = "") -> KernelPart:
    option = f"CONFIG_NET_SCH_{name.upper()}"
    return KernelPart(f"sch_{name}", option, queues=(f"qdisc add dev a root handle 1: {name} {words}",))


def _action(name: str, words: str) -> KernelPart:
    lines = ("qdisc add dev a clsact", f"filter add dev a ingress protocol all matchall action {words}")
    return KernelPart(f"act_{name}", f"CONFIG_NET_ACT_{name.upper()}", queues=lines)


ESP_KEY = "0x" + "6b" * 20
"""Of no worth: the tunnel leads from a namespace of this host to another."""
WIRE_SIZES = "stab overhead 24"
"""taprio counts what a frame takes of a link: with preamble, FCS and gap."""
_TWO_CLASSES = "num_tc 2 map 0 1 queues 1@0 1@1"
_STATE = f"src 198.19.0.1 dst 198.19.0.2 proto esp spi 1 mode tunnel aead rfc4106(gcm(aes)) {ESP_KEY} 128"

BONDING = _device("bonding", "CONFIG_BONDING", "bond")
TEAM = _device("team", "CONFIG_NET_TEAM", "team")
VLAN = _device("8021q", "CONFIG_VLAN_8021Q", "vlan id 7", "link a ")
MACVLAN = _device("macvlan", "CONFIG_MACVLAN", "macvlan mode passthru", "link a ")
VRF = _device("vrf", "CONFIG_NET_VRF", "vrf table 7")
HSR = _device("hsr", "CONFIG_HSR", "hsr slave1 a slave2 b")
WIREGUARD = _device("wireguard", "CONFIG_WIREGUARD", "wireguard")
MACSEC = _device("macsec", "CONFIG_MACSEC", "macsec", "link a ")
ESP = KernelPart("esp4", "CONFIG_INET_ESP, with CONFIG_XFRM_USER and CONFIG_CRYPTO_GCM", (f"xfrm state add {_STATE}",))
XFRM_INTERFACE = _device("xfrm_interface", "CONFIG_XFRM_INTERFACE", "xfrm dev a if_id 7")
MPLS = KernelPart(
    "mpls_iptunnel",
    "CONFIG_MPLS_ROUTING and CONFIG_MPLS_IPTUNNEL",
    (
        "link set dev a up",
        "link set dev b up",
        "addr add 198.19.0.1/24 dev a",
        "route add 198.18.0.0/24 encap mpls 104 via inet 198.19.0.2 dev a",
    ),
)

NETEM = _queue("netem")
TBF = _queue("tbf", "rate 8mbit burst 4000 limit 4000")
CODEL = _queue("codel")
FQ_CODEL = _queue("fq_codel")
PIE = _queue("pie")
RED = _queue("red", "limit 100000 min 10000 max 30000 avpkt 1000 burst 20 bandwidth 8mbit")
CAKE = _queue("cake")
HTB = _queue("htb")
HFSC = _queue("hfsc", "default 1")
ETS = _queue("ets", "bands 2")
CBS = _queue("cbs", "idleslope 8000 sendslope -92000 hicredit 2000 locredit -2000")
MQPRIO = _queue("mqprio", f"{_TWO_CLASSES} hw 0")
TAPRIO = KernelPart(
    "sch_taprio",
    "CONFIG_NET_SCH_TAPRIO",
    queues=(
        f"qdisc add dev a root handle 1: {WIRE_SIZES} taprio {_TWO_CLASSES} "
        "base-time 0 sched-entry S 03 1000000 clockid CLOCK_TAI",
    ),
)
ETF = KernelPart(
    "sch_etf",
    "CONFIG_NET_SCH_ETF",
    queues=(
        f"qdisc add dev a root handle 1: mqprio {_TWO_CLASSES} hw 0",
        "qdisc add dev a parent 1:1 etf clockid CLOCK_TAI delta 1000000 skip_sock_check",
    ),
)

MATCHALL = KernelPart(
    "cls_matchall",
    "CONFIG_NET_CLS_MATCHALL",
    queues=("qdisc add dev a clsact", "filter add dev a ingress protocol all matchall flowid 1:1"),
)
FLOWER = KernelPart(
    "cls_flower",
    "CONFIG_NET_CLS_FLOWER",
    queues=("qdisc add dev a clsact", "filter add dev a ingress protocol ip flower ip_proto udp"),
)
POLICE = _action("police", "police rate 8mbit burst 4000 conform-exceed drop/pipe")
GATE = _action("gate", "gate clockid CLOCK_TAI sched-entry open 1000000")
SKBEDIT = _action("skbedit", "skbedit priority 1")
PEDIT = _action("pedit", "pedit ex munge ip tos set 0xb8 retain 0xfc")
CSUM = _action("csum", "csum ip4h")

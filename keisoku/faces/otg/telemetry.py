"""OTG's metrics and states as leaves of the `open-traffic-generator` YANG models, for gNMI. Pure; counts nothing.

Leaves come from the same metrics as `/monitor/metrics` gives, so that both say the same at the same moment. Containers
without any entry exist and are empty.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from keisoku.faces.otg.bgp.leaves import bgp_leaves
from keisoku.faces.otg.dhcp.leaves import dhcp_leaves
from keisoku.faces.otg.dhcp.leaves import root as _dhcp_root
from keisoku.faces.otg.lacp.leaves import lacp_leaves
from keisoku.faces.otg.leaf import Entries, Leaves, Path, Value
from keisoku.faces.otg.leaf import plain as _plain
from keisoku.faces.otg.lldp.leaves import lldp_leaves
from keisoku.faces.otg.routers import ROUTERS

_DHCP = tuple((version, role) for version in (4, 6) for role in ("client", "server"))
_GIVEN = {"client": ("interfaces", "interface"), "server": ("leases", "leases")}
"""OTG's name of the states of each role, and their place."""


def _dhcp_parts(version: int, role: str) -> dict[str, tuple[str, ...]]:
    state = (_dhcp_root(version, role), f"dhcpv{version}-{role}", "state")
    name, place = _GIVEN[role]
    return {f"dhcpv{version}_{role}": (*state, "counters"), f"dhcpv{version}_{name}": (*state, place)}


_MODULES = {
    "flows": "flow",
    "ports": "port",
    "interfaces": "discovery",
    "bgp-peers": "bgp",
    **{protocol.root: name for name, protocol in ROUTERS.items()},
    "lags": "lag",
    "lacp": "lacp",
    "lldps": "lldp",
    **{_dhcp_root(version, role): f"dhcpv{version}{role}" for version, role in _DHCP},
}
ROOTS = tuple(_MODULES)
MODELS = dict.fromkeys(_MODULES.values(), "0.1.0")
"""Revisions of the models, by the end of their names."""
MODULE = "open-traffic-generator-"
_LLDP_STATE = ("lldps", "lldp-interface", "state")
PARTS = {
    "neighbours": ("interfaces",),
    "lags": ("lags",),
    "lacp": ("lacp",),
    "bgp": ("bgp-peers", "bgp-peer", "state"),
    "prefixes": ("bgp-peers", "bgp-peer", "unicast-*"),
    **{part: place for protocol in ROUTERS.values() for part, place in protocol.parts.items()},
    "lldp": (*_LLDP_STATE, "counters"),
    "lldp_neighbours": (*_LLDP_STATE, "lldp-neighbor-database"),
    **{part: place for one in _DHCP for part, place in _dhcp_parts(*one).items()},
}
"""What is only asked for where somebody wants it, and where it is."""
SESSIONS = (
    *("lags", "lacp", "bgp", *(name for name in ROUTERS), "lldp"),
    *(f"dhcpv{version}_{role}" for version, role in _DHCP),
)
"""Of these the parts that count, and list no routes and no neighbours."""
_LEAVES: tuple[tuple[Callable[..., Leaves], Collection[str]], ...] = (
    (bgp_leaves, ("bgp", "prefixes")),
    *((protocol.leaves, protocol.parts) for protocol in ROUTERS.values()),
    (lldp_leaves, ("lldp", "lldp_neighbours")),
    (lacp_leaves, ("lacp",)),
    *((dhcp_leaves(*one), tuple(_dhcp_parts(*one))) for one in _DHCP),
)
"""What makes leaves of protocols, and of which parts."""


@dataclass(frozen=True)
class Telemetry:
    """What is known at one moment, as OTG's documents."""

    ports: Sequence[Mapping[str, Any]] = ()
    flows: Sequence[Mapping[str, Any]] = ()
    lags: Sequence[Mapping[str, Any]] = ()
    neighbours: Sequence[Mapping[str, Any]] = ()
    protocols: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """By their names in `PARTS`."""

    def leaves(self) -> dict[Path, Value]:
        """Every leaf."""
        found: dict[Path, Value] = {}
        for root, name, entries in (
            ("flows", "flow", {str(flow["name"]): _flow(flow) for flow in self.flows}),
            ("ports", "port", {str(port["name"]): _port(port) for port in self.ports}),
            ("lags", "lag", {str(lag["name"]): _lag(lag) for lag in self.lags}),
        ):
            for key, leaves in entries.items():
                entry: Path = ((root, ()), (name, (("name", key),)))
                found[(*entry, ("name", ()))] = key
                found |= {entry + path: value for path, value in leaves}
        for leaves_of, parts in _LEAVES:
            found |= dict(leaves_of(*(self.protocols.get(part, ()) for part in parts)))
        return found | dict(_neighbours(self.neighbours))


def module(root: str) -> str:
    """The YANG module of a container at the top."""
    return MODULE + _MODULES[root]


def _flow(metric: Mapping[str, Any]) -> Iterator[tuple[Path, Value]]:
    state: dict[str, Value] = {"name": metric["name"], "transmit": metric["transmit"] != "stopped"}
    if "loss" in metric:
        state["loss-pct"] = float(metric["loss"])
    for way, side in (("tx", "out"), ("rx", "in")):
        state[f"{side}-frame-rate"] = float(metric[f"frames_{way}_rate"])
        state[f"{side}-rate"] = float(metric[f"{way}_rate_bps"])
        state[f"{side}-l1-rate"] = float(metric[f"{way}_l1_rate_bps"])
    for name in ("minimum", "maximum", "average"):
        if "latency" in metric:
            state[f"{name}-latency"] = max(0, round(metric["latency"][f"{name}_ns"]))
    for name in ("first", "last"):
        if "timestamps" in metric:
            state[f"{name}-timestamp"] = Decimal(metric["timestamps"][f"{name}_timestamp_ns"]).quantize(Decimal("0.01"))
    yield from ((_plain("state", name), value) for name, value in state.items())
    yield from ((_plain("state", "counters", name), value) for name, value in _counters(metric, "pkts").items())
    for tagged in metric.get("tagged_metrics", ()):
        yield from _tagged(tagged)


def _tagged(metric: Mapping[str, Any]) -> Iterator[tuple[Path, Value]]:
    tags = {str(tag["name"]): tag["value"] for tag in metric["tags"]}
    texts = {name: _tag_text(value) for name, value in tags.items()}
    pairs = "&".join(f"{name}={text}" for name, text in sorted(texts.items()))
    entry: Path = (("tagged-metrics", ()), ("tagged-metric", (("name-value-pairs", pairs),)))
    yield (*entry, ("name-value-pairs", ())), pairs
    yield entry + _plain("state", "name-value-pairs"), pairs
    named = ((name, text, "hex" if tags[name]["choice"] == "hex" else "string") for name, text in texts.items())
    yield (
        entry + _plain("state", "tags"),
        Entries(
            {"tag-name": name, "tag-value": {"value-type": kind.upper(), f"value-as-{kind}": text}}
            for name, text, kind in named
        ),
    )
    for counter, count in _counters(metric, "pkts").items():
        yield entry + _plain("state", "counters", counter), count


def _tag_text(value: Mapping[str, Any]) -> str:
    return str(value["hex"]).lower() if value["choice"] == "hex" else str(value["str"])


def _port(metric: Mapping[str, Any]) -> Iterator[tuple[Path, Value]]:
    state: dict[str, Value] = {"name": metric["name"], "link": str(metric["link"]).upper(), **_rates(metric)}
    if "speed" in metric:
        state["speed"] = int(metric["speed"])
    yield from ((_plain("state", name), value) for name, value in state.items())
    yield from ((_plain("state", "counters", name), value) for name, value in _counters(metric, "frames").items())


def _lag(metric: Mapping[str, Any]) -> Iterator[tuple[Path, Value]]:
    state: dict[str, Value] = {"name": metric["name"], "oper-status": str(metric["oper_status"]).upper()}
    yield from ((_plain("state", name), value) for name, value in (state | _rates(metric)).items())
    counters = {"member-ports-up": int(metric["member_ports_up"]), **_counters(metric, "frames")}
    yield from ((_plain("state", "counters", name), value) for name, value in counters.items())


def _rates(metric: Mapping[str, Any]) -> dict[str, Value]:
    return {"out-rate": 8.0 * metric["bytes_tx_rate"], "in-rate": 8.0 * metric["bytes_rx_rate"]}


def _counters(metric: Mapping[str, Any], frames: str) -> dict[str, int]:
    sides = (("tx", "out"), ("rx", "in"))
    found = {f"{side}-octets": int(metric[f"bytes_{way}"]) for way, side in sides}
    return found | {f"{side}-{frames}": int(metric[f"frames_{way}"]) for way, side in sides}


def _neighbours(states: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Path, Value]]:
    for state in states:
        version = "ipv4" if "ipv4_address" in state else "ipv6"
        name, address = str(state["ethernet_name"]), str(state[f"{version}_address"])
        interface: Path = (("interfaces", ()), ("interface", (("name", name),)))
        yield (*interface, ("name", ())), name
        yield interface + _plain("state", "name"), name
        entry: Path = (
            *interface,
            (f"{version}-neighbors", ()),
            (f"{version}-neighbor", ((f"{version}-address", address),)),
        )
        yield (*entry, (f"{version}-address", ())), address
        yield entry + _plain("state", f"{version}-address"), address
        if "link_layer_address" in state:
            yield entry + _plain("state", "link-layer-address"), str(state["link_layer_address"])

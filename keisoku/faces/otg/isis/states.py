"""What FRR says of IS-IS routers, in the words of OTG: metrics, adjacencies, and learned LSPs. Asks nobody.

FRR does not restart gracefully in IS-IS, so these counters are 0. Adds no field that OTG does not have.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from keisoku.faces.otg.isis.routers import IsisRouter

Document = dict[str, Any]
_PDUS = {"broadcast_hellos": "l{level}-iih", "psnp": "l{level}-psnp", "csnp": "l{level}-csnp", "lsp": "l{level}-lsp"}
_HELLO_OF_TWO = "p2p-iih"
_RESTARTS = ("gr_initiated", "gr_succeeded", "neighbor_gr_initiated", "neighbor_gr_succeeded")
_LEVEL = re.compile(r"IS-IS Level-([12]) link-state database:")
_LSP = re.compile(
    r"(?P<id>\S+)-(?P<part>[0-9a-f]{2}) +(?P<own>\*?) +(?P<bytes>\d+) +0x(?P<number>[0-9a-f]{8}) +0x[0-9a-f]{4} +"
    r"(?P<left>\d+|\(\d+\)) +(?P<attached>\d)/(?P<repair>\d)/(?P<overload>\d)"
)
_PREFIX = re.compile(r"(\S+)/(\d+) \(Metric: (\d+)\)(.*)")
_SYSTEM = re.compile(r"([0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4})\.[0-9a-f]{2} \(Metric: \d+\)")
_REACHES = {
    "IS Reachability": "is_reachability_tlvs",
    "Extended Reachability": "extended_is_reachability_tlvs",
    "MT Reachability": "extended_is_reachability_tlvs",
    "IP Reachability": "ipv4_internal_reachability_tlvs",
    "IP External Reachability": "ipv4_external_reachability_tlvs",
    "Extended IP Reachability": "extended_ipv4_reachability_tlvs",
    "IPv6 Reachability": "ipv6_reachability_tlvs",
    "MT IPv6 Reachability": "ipv6_reachability_tlvs",
}
_TYPES = {1: "level_1", 2: "level_2", 3: "level_1_2"}
_SECOND = 2
_OF_LEVEL_TWO = 3
"""Type of such a router (ISO/IEC 10589, clause 9.8)."""


def isis_metric(
    router: IsisRouter, summary: Mapping[str, Any], neighbours: Mapping[str, Any], database: str, log: str
) -> Document:
    """A metric of a router; the rest is FRR's account, empty before the protocols are started, and its log."""
    (area,) = summary.get("areas") or [{}]
    sent, received = area.get("tx-pdu-type", {}), area.get("rx-pdu-type", {})
    up = [adjacency["level"] for adjacency in _adjacencies(neighbours) if adjacency["interface"]["state"] == "Up"]
    sizes = {level: 0 for level in (1, 2)}
    for level, _, _ in _lsps(database):
        sizes[level] += 1
    metric: Document = {"name": router.name}
    for level in (1, 2):
        metric[f"l{level}_sessions_up"] = sum(bool(own & level) for own in up)
        # The log has each change of an adjacency; FRR itself forgets those that are gone.
        metric[f"l{level}_session_flap"] = len(re.findall(rf"for level-{level} changed from Up to", log))
        metric[f"l{level}_database_size"] = sizes[level]
        for way, counts in (("sent", sent), ("received", received)):
            for name, key in _PDUS.items():
                metric[f"l{level}_{name}_{way}"] = int(counts.get(key.format(level=level), 0))
            # A hello between two routers is of all levels of the interface.
            both = int(counts.get(_HELLO_OF_TWO, 0)) if level in router.levels else 0
            metric[f"l{level}_point_to_point_hellos_{way}"] = both
    return metric | dict.fromkeys(_RESTARTS, 0)


def adjacency_state(router: IsisRouter, neighbours: Mapping[str, Any], names: Mapping[str, str]) -> Document:
    """The adjacencies that are up. `names`: OTG's names of interfaces by the kernel's."""
    holds = {
        one.interface.name: {level: hello.interval_s * hello.multiplier for level, hello in one.levels.items()}
        for one in router.interfaces
    }
    found = []
    for adjacency in _adjacencies(neighbours):
        if adjacency["interface"]["state"] != "Up":
            continue
        name, level = names[adjacency["interface"]["name"]], int(adjacency["level"])
        running = {"state": "running"}
        own = {"level_type": _TYPES[level], "restarting_status": running}
        found.append(
            {
                "neighbor_system_id": _plain(adjacency["adj"]),
                "interface_name": name,
                "local_state": own | {"hold_timer": min(holds[name].values())},
                "neighbor_state": own | {"hold_timer": int(str(adjacency["expires-in"]).rstrip("s"))},
            }
        )
    return {"isis_router_name": router.name, "adjacency_states": found}


def lsp_state(router: IsisRouter, database: str, hostnames: str) -> Document:
    """The LSPs that a router learned of others, as FRR prints them; none unless the script wants to read them."""
    ids = dict(reversed(pair) for pair in re.findall(r"([0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}) +(\S+)", hostnames))
    whole = list(_lsps(database))
    second = {_router_of(head) for level, head, _ in whole if level == _SECOND}
    lsps = [_lsp(level, head, lines, ids, second) for level, head, lines in whole if not head["own"]]
    return {"isis_router_name": router.name, "lsps": lsps if router.learns else []}


def _adjacencies(neighbours: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for area in neighbours.get("areas", ()):
        yield from (circuit for circuit in area.get("circuits", ()) if "adj" in circuit)


def _lsps(database: str) -> Iterator[tuple[int, re.Match[str], list[str]]]:
    """Level, first line and further lines of each LSP."""
    level, head, lines = 0, None, []
    for line in [*database.splitlines(), ""]:
        found, begins = _LEVEL.match(line), _LSP.match(line)
        if (found or begins or not line) and head is not None:
            yield level, head, lines
            head, lines = None, []
        if found:
            level = int(found[1])
        elif begins and level:
            head = begins
        elif head is not None:
            lines.append(line.strip())


def _router_of(head: re.Match[str]) -> str:
    return head["id"].rpartition(".")[0]


def _lsp(
    level: int, head: re.Match[str], lines: Sequence[str], ids: Mapping[str, str], second: Collection[str]
) -> Document:
    """`second`: routers with an LSP of level 2, which are of level 2. Of others FRR does not show what they say."""
    router, pseudonode = _router_of(head), head["id"].rpartition(".")[2]
    tlvs: Document = {}
    for line in lines:
        name, _, text = line.partition(": ")
        if name == "Hostname":
            tlvs["hostname_tlvs"] = [{"hostname": text}]
        elif name in _REACHES:
            kind = _REACHES[name]
            inside = "neighbors" if "is_reachability" in kind else "prefixes"
            entry = _neighbour(text) if inside == "neighbors" else _prefix(kind, text)
            if entry is not None:
                tlvs.setdefault(kind, [{inside: []}])[0][inside].append(entry)
    return {
        "lsp_id": f"{_plain(ids.get(router, router))}-{pseudonode}-{head['part']}",
        "pdu_type": f"level_{level}",
        **({"is_type": _OF_LEVEL_TWO} if router in second else {}),
        # In brackets: how long it has been over.
        "remaining_lifetime": 0 if head["left"].startswith("(") else int(head["left"]),
        "sequence_number": int(head["number"], 16),
        "pdu_length": int(head["bytes"]),
        "flags": {
            "partition_repair": head["repair"] == "1",
            "attached_default": head["attached"] == "1",
            "overload": head["overload"] == "1",
        },
        "tlvs": tlvs,
    }


def _neighbour(text: str) -> Document | None:
    found = _SYSTEM.match(text)
    return None if found is None else {"system_id": _plain(found[1])}


def _prefix(kind: str, text: str) -> Document | None:
    found = _PREFIX.match(text)
    if found is None:
        return None
    version = "ipv6" if kind.startswith("ipv6") else "ipv4"
    entry: Document = {
        f"{version}_address": found[1],
        "prefix_length": int(found[2]),
        "redistribution_type": "down" if "Down" in found[4] else "up",
    }
    if kind in ("extended_ipv4_reachability_tlvs", "ipv6_reachability_tlvs"):
        entry["metric"] = int(found[3])
    else:
        entry["default_metric"] = int(found[3])
        entry["origin_type"] = "external" if "external" in kind else "internal"
    if version == "ipv6":
        entry["origin_type"] = "external" if "External" in found[4] else "internal"
    return entry


def _plain(system_id: str) -> str:
    return system_id.replace(".", "")

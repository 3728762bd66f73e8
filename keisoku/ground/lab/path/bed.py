"""`PathBed`: the links of a path in the form of the engine in core/, and the engine's counts as the path's truth.

It makes nothing. Ports are numbered in pairs, near and far, in the order of the hops.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from keisoku.ground.host.namespace import Namespace
from keisoku.ground.lab.path.cross_path import CrossPath
from keisoku.ground.lab.path.cross_traffic import CrossTruth
from keisoku.ground.lab.path.hop import Hop
from keisoku.ground.lab.path.truth import DirectionTruth, HopTruth
from keisoku.ground.statistics.seed import mixed


class PathBed:
    """The links of `hops` between the namespaces `places` (from the tester to the target), and the UDP of `crossings`.

    Hops with a token bucket are left to the kernel; TCP comes from the kernels of its hosts.
    """

    def __init__(
        self,
        hops: Sequence[Hop],
        crossings: Sequence[CrossPath],
        places: Sequence[Namespace],
        seed: int,
        core: int | None,
    ) -> None:
        self._ports: list[dict[str, str]] = []
        self._lanes: list[dict[str, object]] = []
        self._sources: list[dict[str, object]] = []
        self._first_lane: dict[int, int] = {}
        self._exits: dict[int, tuple[int, int]] = {}
        self._core = core
        for number, hop in enumerate(hops, 1):
            if hop.bucket_bytes is None:
                self._add_link(number, hop, places, seed)
        for crossing in crossings:
            if crossing.traffic.kind != "tcp":
                self._add_source(crossing, hops[crossing.traffic.hop - 1], places)

    def to_json(self) -> str:
        """The links in the form that `SerialLinks` takes."""
        return json.dumps({"ports": self._ports, "lanes": self._lanes, "sources": self._sources, "core": self._core})

    def hop_truth(self, counted: Mapping[str, Any], number: int) -> HopTruth:
        """The engine's counts of a hop (from 1) that is a link."""
        first = self._first_lane[number]
        forward, reverse = (DirectionTruth(**lane) for lane in counted["lanes"][first : first + 2])
        return HopTruth(forward, reverse)

    def cross_truth(self, counted: Mapping[str, Any], crossing: CrossPath) -> CrossTruth:
        """The engine's counts of cross traffic that is UDP."""
        source, exit_port = self._exits[crossing.index]
        sent, came = counted["sources"][source], counted["hosts"][exit_port]
        return CrossTruth(
            crossing.traffic, sent["packets"], sent["bytes"], came["packets"], came["bytes"], sent["skipped"]
        )

    def _add_link(self, number: int, hop: Hop, places: Sequence[Namespace], seed: int) -> None:
        near = self._add_port(places[number - 1], "down")
        far = self._add_port(places[number], "up")
        self._first_lane[number] = len(self._lanes)
        for way, ends in enumerate([(near, far), (far, near)]):
            lane_seed = mixed(seed, 2 * number + way)
            self._lanes.append({"from": ends[0], "to": ends[1], **_traits(hop, hop.rates_bps[way], lane_seed)})

    def _add_source(self, crossing: CrossPath, hop: Hop, places: Sequence[Namespace]) -> None:
        traffic = crossing.traffic
        ports = [
            self._add_port(places[node], device) for node, device in zip(crossing.nodes, crossing.devices, strict=True)
        ]
        self._exits[crossing.index] = len(self._sources), ports[1]
        rate_bps = hop.rates_bps[0 if traffic.way == "forward" else 1]
        sender, receiver = crossing.addresses
        self._sources.append(
            {
                "port": ports[0],
                "from": sender,
                "to": receiver,
                "pacing": {"kind": traffic.kind},
                "packets_per_second": traffic.packets_per_second(rate_bps, hop.overhead_bytes),
                "sizes_bytes": traffic.sizes_bytes,
                "seed": traffic.seed,
            }
        )

    def _add_port(self, place: Namespace, interface: str) -> int:
        self._ports.append({"namespace": str(place.path), "interface": interface})
        return len(self._ports) - 1


_AQM = {
    "codel": {"by": "codel", "target_ns": 5_000_000, "interval_ns": 100_000_000},
    "pie": {"by": "pie", "target_ns": 15_000_000, "interval_ns": 15_000_000},
}
"""With the values of RFC 8289 §4 and RFC 8033 §4."""


def _traits(hop: Hop, rate_bps: int, seed: int) -> dict[str, object]:
    curve = {"least_bytes": 0, "most_bytes": 0, "most_ratio": 0.0}
    return {
        "marking": {**_AQM[hop.aqm], **curve, "action": "drop"} if hop.aqm in _AQM else None,
        "stages_bps": [rate_bps, *hop.stages],
        "overhead_bytes": hop.overhead_bytes,
        "propagation_ns": hop.propagation_ns,
        "queue_bytes": hop.queue_bytes,
        "jitter_ns": hop.jitter_ns,
        "loss": hop.loss,
        "seed": seed,
    }

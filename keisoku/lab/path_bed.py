"""`PathBed`: the links of a path as the engine in core/ wants them, and its counts as the path's truth.

Pure: it makes nothing. Ports are numbered in pairs, near and far, in the order of the hops.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from keisoku.lab.cross_traffic import CrossTraffic
from keisoku.lab.hop import Hop
from keisoku.lab.namespace import Namespace
from keisoku.lab.path_truth import DirectionTruth, HopTruth, PathTruth

_SEEDS_APART = 1000


class PathBed:
    """The bed of `hops` between the namespaces `places`, one more than hops, from the tester to the target."""

    def __init__(
        self,
        hops: Sequence[Hop],
        cross: Sequence[CrossTraffic],
        places: Sequence[Namespace],
        seed: int,
        core: int | None,
    ) -> None:
        self._hops, self._cross = hops, cross
        self._ports: list[dict[str, str]] = []
        self._lanes: list[dict[str, object]] = []
        self._sources: list[dict[str, object]] = []
        self._lanes_of: dict[int, tuple[int, int]] = {}
        self._core = core
        for number, hop in enumerate(hops):
            near = self._add_port(places[number], "down")
            far = self._add_port(places[number + 1], "up")
            first = len(self._lanes)
            self._lanes_of[number] = first, first + 1
            for way, ends in enumerate([(near, far), (far, near)]):
                lane_seed = seed * _SEEDS_APART + 2 * number + way
                self._lanes.append({"from": ends[0], "to": ends[1], **_traits(hop, hop.rates_bps[way], lane_seed)})

    def to_json(self) -> str:
        """As `SerialLinks` takes it."""
        return json.dumps({"ports": self._ports, "lanes": self._lanes, "sources": self._sources, "core": self._core})

    def truth(self, counted: Mapping[str, Any]) -> PathTruth:
        """What the engine's counts say of the path."""
        lanes = [DirectionTruth(**lane) for lane in counted["lanes"]]
        hops = (HopTruth(lanes[forward], lanes[reverse]) for forward, reverse in self._lanes_of.values())
        return PathTruth(counted["elapsed_ns"], tuple(hops), ())

    def _add_port(self, place: Namespace, interface: str) -> int:
        self._ports.append({"namespace": str(place.path), "interface": interface})
        return len(self._ports) - 1


def _traits(hop: Hop, rate_bps: int, seed: int) -> dict[str, object]:
    return {
        "stages_bps": [rate_bps, *hop.stages],
        "overhead_bytes": hop.overhead_bytes,
        "propagation_ns": hop.propagation_ns,
        "queue_bytes": hop.queue_bytes,
        "jitter_ns": hop.jitter_ns,
        "loss": hop.loss,
        "seed": seed,
    }

"""`PathLab`: a tester, routers and a target in a row, joined by links whose truth is known.

It makes, holds and removes; the links themselves are core/src/serial_link. Packets on it are IPv4.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from keisoku._core import SerialLinks
from keisoku.errors import EngineError, PlanError
from keisoku.lab.cross_traffic import CrossTraffic
from keisoku.lab.hop import Hop
from keisoku.lab.lifetime import Lifetime
from keisoku.lab.path_bed import PathBed
from keisoku.lab.path_node import Answer, Foot, Icmp, PathNode
from keisoku.lab.path_truth import PathTruth

MOST_HOPS = 16


class PathLab(Lifetime):
    """A path of `hops` links: tester, routers 1 to n - 1, target; a context manager, removed on any exit.

    `icmp` says how routers and target answer: as Linux limits it by default (each peer a burst of 6, then one error a
    second), without limit, or never; `silent` are the numbers of single routers that never do. `target` answers,
    drops all that is addressed to it, or resets (TCP reset, ICMP 3/13 for all else). With `own_core` the links' thread
    keeps to the last CPU of this process, if it has two.

    Raises PlanError for what cannot be, and where labs are not possible; EngineError if making it fails, after
    removing what there was of it.
    """

    kind = "path"

    def __init__(
        self,
        hops: Sequence[Hop],
        *,
        icmp: Icmp = "default",
        silent: Sequence[int] = (),
        target: Answer = "answers",
        cross_traffic: Sequence[CrossTraffic] = (),
        seed: int = 1,
        own_core: bool = True,
    ) -> None:
        super().__init__()
        self.hops = tuple(hops)
        self.cross_traffic = tuple(cross_traffic)
        _check(self.hops, self.cross_traffic, silent)
        self._icmp, self._silent, self._answer = icmp, frozenset(silent), target
        self._seed = seed
        cores = sorted(os.sched_getaffinity(0))
        self.core = cores[-1] if own_core and len(cores) > 1 else None
        """The CPU that the links' thread keeps to; tools do well to leave it to it."""
        self.nodes: list[PathNode] = []
        self._bed: PathBed | None = None
        self._links: SerialLinks | None = None

    @property
    def tester_namespace(self) -> str:
        """The name of the namespace to probe from (its path is /run/netns/NAME)."""
        return self.nodes[0].namespace

    @property
    def target_namespace(self) -> str:
        """The name of the namespace at the far end, for servers and receivers."""
        return self.nodes[-1].namespace

    @property
    def tester_address(self) -> str:
        """The tester's IPv4 address."""
        return near_address(1)

    @property
    def target_address(self) -> str:
        """The target's IPv4 address."""
        return far_address(len(self.hops))

    @property
    def hop_addresses(self) -> list[str]:
        """Who answers at TTL 1, 2, …: each router's address towards the tester, and the target's."""
        return [far_address(hop) for hop in range(1, len(self.hops) + 1)]

    def namespace_path(self, name: str) -> Path:
        """Where a namespace of this lab is. Raises EngineError if it has none of that name."""
        for namespace in self._namespaces:
            if namespace.name == name:
                return namespace.path
        raise EngineError(f"the path has no namespace {name}")

    def truth(self) -> PathTruth:
        """All counts so far, those of the links at one moment. Raises EngineError if the lab is closed."""
        if self._links is None or self._bed is None:
            raise EngineError("the path is closed")
        return self._bed.truth(json.loads(self._links.truth()))

    def context(self) -> dict[str, object]:
        """What a record must keep of the lab, ready for JSON."""
        return {
            "device": self.kind,
            "hops": [asdict(hop) for hop in self.hops],
            "cross_traffic": [asdict(traffic) for traffic in self.cross_traffic],
            "icmp": self._icmp,
            "silent": sorted(self._silent),
            "target": self._answer,
            "seed": self._seed,
            "links_core": self.core,
            "addresses": [self.tester_address, *self.hop_addresses],
            "namespaces": [namespace.name for namespace in self._namespaces],
        }

    def _create(self, prefix: str) -> None:
        self.nodes = self._plan_nodes(prefix)
        places = [self._add_namespace(node.namespace) for node in self.nodes]
        bed = self._bed = PathBed(self.hops, self.cross_traffic, places, self._seed, self.core)
        self._links = SerialLinks(bed.to_json())
        for node, place in zip(self.nodes, places, strict=True):
            place.run(node.build)

    def _plan_nodes(self, prefix: str) -> list[PathNode]:
        last = len(self.hops)
        nodes = [PathNode(f"{prefix}-tester", "default")]
        nodes += [
            PathNode(f"{prefix}-router{number}", "silent" if number in self._silent else self._icmp)
            for number in range(1, last)
        ]
        nodes.append(PathNode(f"{prefix}-target", self._icmp, self._answer))
        for number, hop in enumerate(self.hops, 1):
            near, far = near_address(number), far_address(number)
            nodes[number - 1].feet.append(Foot("down", near, far, hop.mtu))
            nodes[number].feet.append(Foot("up", far, near, hop.mtu))
        for number, node in enumerate(nodes):
            node.routes |= {f"198.18.{hop}.0/24": far_address(number + 1) for hop in range(number + 2, last + 1)}
            node.routes |= {f"198.18.{hop}.0/24": near_address(number) for hop in range(1, number)}
        return nodes

    def _end(self) -> None:
        if self._links is not None:
            self._links.close()
            self._links = None


def near_address(hop: int) -> str:
    """The address at the tester's end of a hop (from 1), of the benchmark nets (RFC 2544 C.2.2)."""
    return f"198.18.{hop}.1"


def far_address(hop: int) -> str:
    """The address at the target's end of a hop (from 1)."""
    return f"198.18.{hop}.2"


def _check(hops: tuple[Hop, ...], cross: tuple[CrossTraffic, ...], silent: Sequence[int]) -> None:
    if not 1 <= len(hops) <= MOST_HOPS:
        raise PlanError("hops", f"a path cannot have {len(hops)} hops", f"give 1 to {MOST_HOPS}")
    for number, hop in enumerate(hops, 1):
        hop.check(number)
    for traffic in cross:
        traffic.check(len(hops), hops[min(max(traffic.hop, 1), len(hops)) - 1].mtu)
    if any(not 1 <= number < len(hops) for number in silent):
        raise PlanError("silent", f"there are routers 1 to {len(hops) - 1} only", "give their numbers")

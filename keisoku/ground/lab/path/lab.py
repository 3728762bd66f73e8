"""`PathLab`: a tester, routers and a target in a row, joined by links whose truth is known.

The links themselves are in core/src/lab/serial_link. Packets on the path are IPv4.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import TypeVar

from keisoku._core import BulkFlow, SerialLinks
from keisoku.errors import EngineError, PlanError
from keisoku.ground.host.namespace import Namespace
from keisoku.ground.lab.lifetime import Lifetime
from keisoku.ground.lab.path.bed import PathBed
from keisoku.ground.lab.path.bucket import Bucket, plug
from keisoku.ground.lab.path.cross_path import TCP_PORT, CrossPath
from keisoku.ground.lab.path.cross_traffic import CrossTraffic, CrossTruth
from keisoku.ground.lab.path.hop import Hop
from keisoku.ground.lab.path.node import Foot, Icmp, PathNode, TargetReply
from keisoku.ground.lab.path.truth import PathTruth
from keisoku.ground.statistics.seed import DEFAULT

MOST_HOPS = 16
CONGESTION = "cubic"
"""The congestion control of TCP cross traffic, whatever the host's is."""

_Outcome = TypeVar("_Outcome")


class PathLab(Lifetime):
    """A path of `hops` links: tester, routers 1 to n - 1, target; a context manager, removed on any exit.

    `icmp` sets how routers and target answer: with the default limit of Linux (for each peer a burst of 6, then one
    error a second), without limit, or never; `silent` are the numbers of single routers that never answer. `target`
    answers, drops all packets to it, or resets (TCP reset, ICMP 3/13 for other packets). With `own_core` the links'
    thread stays on the last CPU of this process, if it has two.

    Raises PlanError for invalid settings, and where labs are not possible; EngineError if making it fails, after
    removing all that was made.
    """

    kind = "path"

    def __init__(
        self,
        hops: Sequence[Hop],
        *,
        icmp: Icmp = "default",
        silent: Sequence[int] = (),
        target: TargetReply = "answers",
        cross_traffic: Sequence[CrossTraffic] = (),
        seed: int = DEFAULT,
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
        """The CPU of the links' thread; other tools should not use it."""
        self.nodes: list[PathNode] = []
        mtus = [self.hops[traffic.hop - 1].mtu for traffic in self.cross_traffic]
        self._crossings = [CrossPath(*one) for one in zip(itertools.count(), self.cross_traffic, mtus, strict=False)]
        self._bed: PathBed | None = None
        self._links: SerialLinks | None = None
        self._buckets: dict[int, Bucket] = {}
        self._flows: dict[int, BulkFlow] = {}

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
        """Addresses that answer at TTL 1, 2, …: each router's address towards the tester, and the target's."""
        return [far_address(hop) for hop in range(1, len(self.hops) + 1)]

    def run_in_tester(self, work: Callable[[], _Outcome]) -> _Outcome:
        """Call `work` on a thread in the tester's namespace; sockets that it makes stay in that namespace."""
        return Namespace(self.tester_namespace).run(work)

    def run_in_target(self, work: Callable[[], _Outcome]) -> _Outcome:
        """Call `work` on a thread in the target's namespace."""
        return Namespace(self.target_namespace).run(work)

    def truth(self) -> PathTruth:
        """All counts so far, those of the links at one moment. Raises EngineError if the lab is closed."""
        if self._links is None or self._bed is None:
            raise EngineError("the path is closed")
        counted = json.loads(self._links.truth())
        hops = [
            self._buckets[number].truth() if number in self._buckets else self._bed.hop_truth(counted, number)
            for number in range(1, len(self.hops) + 1)
        ]
        cross = [
            self._flow_truth(crossing) if crossing.index in self._flows else self._bed.cross_truth(counted, crossing)
            for crossing in self._crossings
        ]
        return PathTruth(counted["elapsed_ns"], tuple(hops), tuple(cross))

    def _flow_truth(self, crossing: CrossPath) -> CrossTruth:
        sent, received = self._flows[crossing.index].bytes()
        return CrossTruth(crossing.traffic, None, sent, None, received)

    def context(self) -> dict[str, object]:
        """The lab as a record must state it, ready for JSON."""
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
        for number, hop in enumerate(self.hops, 1):
            if hop.bucket_bytes is not None:
                self._buckets[number] = bucket = Bucket(hop, places[number - 1], places[number])
                bucket.plug()
        hosts = {crossing: self._plug_hosts(crossing, prefix, places) for crossing in self._tcp()}
        bed = self._bed = PathBed(self.hops, self._crossings, places, self._seed, self.core)
        self._links = SerialLinks(bed.to_json())
        for node, place in zip(self.nodes, places, strict=True):
            place.run(node.build)
        for number, bucket in self._buckets.items():
            bucket.limit(near_address(number), far_address(number))
        self._links.begin()
        for crossing, (sender, receiver) in hosts.items():
            self._flows[crossing.index] = self._flow(crossing, sender, receiver)

    def _tcp(self) -> list[CrossPath]:
        return [crossing for crossing in self._crossings if crossing.traffic.kind == "tcp"]

    def _plug_hosts(self, crossing: CrossPath, prefix: str, places: list[Namespace]) -> list[Namespace]:
        made = []
        for host, node, device in zip(crossing.hosts(prefix), crossing.nodes, crossing.devices, strict=True):
            place = self._add_namespace(host.namespace)
            places[node].run(partial(plug, device, "host", place, crossing.mtu))
            place.run(host.build)
            made.append(place)
        return made

    def _flow(self, crossing: CrossPath, sender: Namespace, receiver: Namespace) -> BulkFlow:
        traffic = crossing.traffic
        rate_bps = self.hops[traffic.hop - 1].rates_bps[0 if traffic.way == "forward" else 1]
        pace = round(traffic.share * rate_bps / 8) if traffic.share < 1 else None
        address = f"{crossing.addresses[1]}:{TCP_PORT}"
        return BulkFlow(str(sender.path), str(receiver.path), address, pace, CONGESTION)

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
        for crossing in self._crossings:
            crossing.join(nodes, near_address(crossing.traffic.hop), far_address(crossing.traffic.hop))
        return nodes

    def _end(self) -> None:
        while self._flows:
            self._flows.popitem()[1].close()
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
        hop = hops[min(max(traffic.hop, 1), len(hops)) - 1]
        traffic.check(len(hops), hop.mtu)
        traffic.check_rate(hop.rates_bps[0 if traffic.way == "forward" else 1], hop.overhead_bytes)
    if any(not 1 <= number < len(hops) for number in silent):
        raise PlanError("silent", f"there are only routers 1 to {len(hops) - 1}", "give their numbers")

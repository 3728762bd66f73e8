"""Makes of the points of the kernel that frames passed the parts of their ways, and how long they were in each.

A frame is followed by its number. A copy of it, as a bridge makes for each port that it floods, is another packet, by
which its points are told from those of the one that arrived.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keisoku.subjects.device.record.waits import WaitingFrames, WaitKind, WaitPlace, Waits

BACKLOG, POLLED, RECEIVED, QUEUED, STARTED = range(1, 6)
"""Points, as `core/bpf/hops.c` has them."""
OF_SOCKET = 128
_ARRIVALS = (BACKLOG, POLLED, RECEIVED)
_TIME_BITS = 48
_FRAME, _HOP = 6, 5

Interface = tuple[int, int]
"""Namespace and number."""


@dataclass(frozen=True)
class Hop:
    """A point that a frame passed, so many ns after it was sent."""

    after_ns: int
    packet: int
    interface: Interface
    point: int
    of_socket: bool = False


@dataclass(frozen=True)
class KernelInterface:
    """An interface as the kernel describes it."""

    name: str
    namespace: str
    qdisc: str
    handler: str
    of_tester: bool


@dataclass(frozen=True)
class Passed:
    """What the kernel and the account kept of a trial (`core/src/hops.rs`)."""

    interfaces: Mapping[Interface, KernelInterface]
    frames: bytes
    hops: bytes
    unread: int
    absent: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Port:
    """A port of the tester: its interface, and the device's end of the same cable where that is known."""

    interface: Interface | None
    name: str
    namespace: str
    peer: Interface | None = None


_Part = tuple[WaitPlace, int]
"""A place, and for how many ns."""


def waits_of(passed: Passed, ports: Sequence[Port], first_stream: int, start_ns: int) -> Waits:
    """Where the slowest frames of a trial were, whose first frame was due at `start_ns` (CLOCK_MONOTONIC).

    `first_stream` is the number of the first stream in its frames."""
    frames = np.frombuffer(passed.frames, np.int64).reshape(-1, _FRAME)
    slow = frames[:, 0] > 0
    ways = _ways(frames, np.frombuffer(passed.hops, np.int64).reshape(-1, _HOP))
    apart_ns = 0
    parts: list[list[_Part]] = []
    for frame, way in zip(frames, ways, strict=True):
        port, latency_ns = ports[int(frame[3])], int(frame[5])
        way = _of_arrival(way, port)
        # The tester's program or socket may stamp a frame before an event at its own port.
        seen = passed.interfaces
        while way and way[-1].after_ns > latency_ns and way[-1].interface == port.interface:
            way = way[:-1]
        if way:
            apart_ns = max(apart_ns, -way[0].after_ns, way[-1].after_ns - latency_ns)
        parts.append(_parts(way, latency_ns, seen, port))
    order: dict[WaitPlace, int] = {}
    for own in parts:
        for place, _ in own:
            order.setdefault(place, len(order))
    rows: list[tuple[int, ...]] = []
    samples: dict[WaitPlace, list[int]] = {}
    for is_slow, frame, own in zip(slow, frames, parts, strict=True):
        if not is_slow:
            stay: dict[WaitPlace, int] = {}
            for place, waited_ns in own:
                stay[place] = stay.get(place, 0) + waited_ns
            for place, waited_ns in stay.items():
                samples.setdefault(place, []).append(waited_ns)
            continue
        at_ns = int(frame[4]) - start_ns
        for place, waited_ns in own:
            rows.append((int(frame[1]) - first_stream, int(frame[2]), order[place], at_ns, waited_ns))
            at_ns += waited_ns
    return Waits(
        places=tuple(_with_median(place, samples.get(place, [])) for place in order),
        frames=WaitingFrames(rows),
        slowest=int(slow.sum()),
        not_followed=sum(not way for way, is_slow in zip(ways, slow, strict=True) if is_slow),
        sampled=int((~slow).sum()),
        median_ns=_median([int(latency) for latency in frames[~slow, 5]]),
        apart_ns=apart_ns,
        unread=passed.unread,
        absent=tuple(passed.absent),
    )


def _ways(frames: NDArray[np.int64], hops: NDArray[np.int64]) -> list[list[Hop]]:
    """The points of each frame, in the order of their times."""
    ways: list[list[Hop]] = [[] for _ in frames]
    for row, time_ns, packet, namespace, point in hops.tolist():
        # Times are cut to 48 bits: their difference from the transmit time is not.
        after_ns = (time_ns - int(frames[row, 4])) % (1 << _TIME_BITS)
        if after_ns >= 1 << _TIME_BITS - 1:
            after_ns -= 1 << _TIME_BITS
        flags = point & 0xFF
        ways[row].append(Hop(after_ns, packet, (namespace, point >> 8), flags & ~OF_SOCKET, flags >= OF_SOCKET))
    for way in ways:
        way.sort(key=lambda hop: hop.after_ns)
    return ways


def _of_arrival(way: list[Hop], port: Port) -> list[Hop]:
    """Without the points of copies that went elsewhere than the frame that arrived at `port`."""
    if len({hop.packet for hop in way}) < 2:
        return way
    ends = [place for place, hop in enumerate(way) if hop.point == STARTED and hop.interface == port.peer]
    last = ends[0] if ends else len(way) - 1
    kept = [hop for hop in way[last + 1 :] if hop.interface == port.interface]
    at: int | None = last
    while at is not None:
        packet = way[at].packet
        own = [place for place in range(at + 1) if way[place].packet == packet]
        kept = [way[place] for place in own] + kept
        at = _origin(way, own[0])
    return kept


def _origin(way: list[Hop], first: int) -> int | None:
    """The point at which another packet became the one that passed `first`."""
    if not first:
        return None
    sends = way[first].point in (QUEUED, STARTED)
    likely = [place for place in range(first) if (way[place].point in _ARRIVALS) == sends]
    return likely[-1] if likely else first - 1


def _parts(way: Sequence[Hop], latency_ns: int, seen: Mapping[Interface, KernelInterface], port: Port) -> list[_Part]:
    """The parts of a way from the transmit time to the arrival at `port`."""
    parts: list[_Part] = []
    before: Hop | None = None
    for hop in way:
        parts.append((_place(before, hop, seen), hop.after_ns - (before.after_ns if before else 0)))
        before = hop
    rest_ns = latency_ns - (before.after_ns if before else 0)
    if before is None:
        parts.append((WaitPlace(kind="unseen"), rest_ns))
    elif before.interface == port.interface:
        parts.append((_at("tester", before, seen), rest_ns))
    else:
        kind: WaitKind = "ring" if before.point == STARTED else "unseen"
        came_from = _name(before, seen)
        arrived = WaitPlace(
            kind=kind, interface=port.name, namespace=port.namespace, came_from=came_from, of_tester=True
        )
        parts.append((arrived, rest_ns))
    return parts


def _place(before: Hop | None, hop: Hop, seen: Mapping[Interface, KernelInterface]) -> WaitPlace:
    made = _at(_kind(before, hop, seen), hop, seen)
    if before is not None and before.interface != hop.interface:
        made = made.model_copy(update={"came_from": _name(before, seen)})
    if before is not None and made.kind == "stack" and before.interface in seen:
        made = made.model_copy(update={"handler": seen[before.interface].handler})
    if before is not None and made.kind == "driver":
        return _at("driver", before, seen)
    return made


def _kind(before: Hop | None, hop: Hop, seen: Mapping[Interface, KernelInterface]) -> WaitKind:
    own = hop.interface in seen and seen[hop.interface].of_tester
    if before is None:
        if hop.point in _ARRIVALS and not own:
            return "ring"
        return "tester" if own else "unseen"
    if before.point == STARTED:
        return "ring" if hop.point in _ARRIVALS else "driver"
    if before.interface == hop.interface and hop.point == RECEIVED:
        return "gro" if before.point == POLLED else "backlog"
    if before.interface == hop.interface and (before.point, hop.point) == (QUEUED, STARTED):
        return "queue"
    # A bridge leaves a packet with the socket that sent it to its port.
    sent = hop.of_socket and (not before.of_socket or hop.packet != before.packet)
    return "program" if sent and hop.point in (QUEUED, STARTED) else "stack"


def _at(kind: WaitKind, hop: Hop, seen: Mapping[Interface, KernelInterface]) -> WaitPlace:
    interface = seen.get(hop.interface)
    if interface is None:
        return WaitPlace(kind=kind)
    return WaitPlace(
        kind=kind,
        interface=interface.name,
        namespace=interface.namespace,
        qdisc=interface.qdisc if kind == "queue" else "",
        of_tester=interface.of_tester,
    )


def _name(hop: Hop, seen: Mapping[Interface, KernelInterface]) -> str:
    return seen[hop.interface].name if hop.interface in seen else ""


def _with_median(place: WaitPlace, waits_ns: list[int]) -> WaitPlace:
    return place.model_copy(update={"sampled": len(waits_ns), "median_ns": _median(waits_ns)})


def _median(values: list[int]) -> int | None:
    return int(np.median(values)) if values else None

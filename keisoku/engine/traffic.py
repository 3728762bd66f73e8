"""How the ports of a tester share a trial's load: routes between ports, and what each route carries.

Turns a trial into the streams and frames that a core carries out. It knows addresses because it was
told; it opens nothing and sends nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from keisoku.errors import PlanError
from keisoku.frame.headers import Ends, Headers
from keisoku.frame.stack import parse
from keisoku.frame.variants import Frames, frames
from keisoku.plan.content import Content
from keisoku.record.trial import Flow, Stream, Trial

FIRST_SOURCE_PORT = 49_152
"""Streams of one content differ by their source port, from here on (RFC 6335 §6: dynamic ports)."""
_SOURCE_PORTS = 16_384
_LEARNED = 256
"""Of a content whose destination varies, so many frames are shown to the DUT before the load: it must resolve them."""
LEAST_FRAME_BYTES = {"ethernet": 64, "ipv4": 64, "ipv6": 84}
"""Of the short names, so that a simulated run need not wait a second for Scapy to tell."""


@dataclass(frozen=True)
class Way:
    """What leads a frame from one port to another."""

    source_mac: str
    next_hop_mac: str
    receiver_mac: str
    ips: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)
    """Source and destination by 'ipv4' and 'ipv6', as far as they are known."""
    stacks: Mapping[str, str] = field(default_factory=dict)
    """For short names of headers, the whole stacks that this device forwards; empty: any stack will do."""

    def ends(self, content: Content) -> Ends:
        """The addresses that the content's headers leave open."""
        source, destination = self.ips.get(content.ip_version or "", (None, None))
        return Ends(self.source_mac, self.next_hop_mac, source, destination, self.receiver_mac)

    def headers(self, named: str) -> str:
        """The stack to send. Raises PlanError for a short name that the device does not forward."""
        if named in self.stacks or not self.stacks or "(" in named:
            return self.stacks.get(named, named)
        raise PlanError(
            "headers", f"the device forwards no plain {named} frames", f"use {' or '.join(sorted(self.stacks))}"
        )


@dataclass(frozen=True)
class Route:
    """The way of frames from one port of the tester to another; ports are indices."""

    transmit: int
    receive: int
    way: Way
    back: Way
    """For learning frames that the receiving port sends."""
    growth_bytes: int = 0
    """How much longer the device makes a frame on this way."""


@dataclass(frozen=True)
class _Lot:
    """One content on one route: what a stream or some are made of."""

    route: Route
    content: Content
    share: float
    """Of its port's load, for each of its streams."""
    flow: Flow | None = None


class Traffic:
    """Every content on every route, or the flows that a trial names. The load of a trial is that of a port.

    Raises PlanError for headers that a device does not forward.
    """

    def __init__(self, routes: Sequence[Route], contents: Sequence[Content], seed: int = 0) -> None:
        self.routes, self.contents, self.seed = list(routes), list(contents), seed
        self._made: dict[tuple[int, int, int, Content, tuple[int, ...], int], list[Frames]] = {}
        self.least_frame_bytes = max(_least(route.way, content) for route in self.routes for content in self.contents)

    @cached_property
    def transmitting(self) -> list[int]:
        """Ports that send, in order."""
        return sorted({route.transmit for route in self.routes})

    @cached_property
    def receiving(self) -> list[int]:
        """Ports that frames are meant for, in order."""
        return sorted({route.receive for route in self.routes})

    def streams(self, trial: Trial) -> list[Stream]:
        """The trial's streams; each has a table of its own of the same number."""
        found: list[Stream] = []
        for lot in self._lots(trial.flows):
            flow = lot.flow
            for _ in range(lot.content.streams):
                found.append(
                    Stream(
                        transmit=lot.route.transmit,
                        receive=lot.route.receive,
                        table=len(found),
                        frame_bytes=_sizes(lot.content, trial.frame_bytes),
                        frames_per_second=trial.frames_per_second * lot.share,
                        pacing=lot.content.pacing,
                        frames=max(1, round(trial.frames * lot.share)) if flow is None else trial.frames_in(flow),
                        start_ns=0 if flow is None else flow.start_ns,
                        tag=trial.tag,
                        growth_bytes=lot.route.growth_bytes,
                    )
                )
        return found

    def tables(self, trial: Trial) -> list[Frames]:
        """The frames of each stream. Raises PlanError for headers, modifiers or sizes that cannot be."""
        lots = self._lots(trial.flows)
        return [table for number in range(len(lots)) for table in self._frames(number, lots, trial.frame_bytes)]

    def learning(self) -> list[tuple[int, bytes]]:
        """Frames by which a DUT learns who is where (RFC 2544 §23 c), each with the port that sends it.

        First those of the receiving ends, so that the DUT knows where to send what comes along the routes.
        """
        named = self.contents[0].headers
        back: dict[tuple[int, bytes], None] = {}
        for route in self.routes:
            short = named if named in route.back.stacks else next(iter(route.back.stacks), "ethernet")
            headers = Headers(parse(route.back.headers(short)), route.back.ends(Content(headers=short)))
            back[route.receive, headers.frame(headers.least_frame_bytes)] = None
        lots = self._lots(())
        forward = {
            (lot.route.transmit, frames.frame(variant))
            for number, lot in enumerate(lots)
            for frames in self._frames(number, lots, self.least_frame_bytes)[:1]
            for variant in range(min(frames.count, _LEARNED) if _leads_elsewhere(lot.content) else 1)
        }
        return [*back, *sorted(forward)]

    def summary(self) -> dict[str, object]:
        """What a record must say of it; JSON values only."""
        return {
            "routes": [f"{route.transmit + 1} to {route.receive + 1}" for route in self.routes],
            "contents": [content.model_dump(mode="json") for content in self.contents],
        }

    def _lots(self, flows: Sequence[Flow]) -> list[_Lot]:
        """Each flow; without any, each content on each route."""
        if flows:
            return [_Lot(self._route(flow), _content(self.contents[0], flow), flow.share, flow) for flow in flows]
        routes = {port: sum(route.transmit == port for route in self.routes) for port in self.transmitting}
        weights = sum(content.weight for content in self.contents)
        return [
            _Lot(route, content, content.weight / weights / content.streams / routes[route.transmit])
            for route in self.routes
            for content in self.contents
        ]

    def _route(self, flow: Flow) -> Route:
        return next(route for route in self.routes if (route.transmit, route.receive) == (flow.transmit, flow.receive))

    def _frames(self, number: int, lots: Sequence[_Lot], frame_bytes: int) -> list[Frames]:
        lot = lots[number]
        sizes = _sizes(lot.content, frame_bytes)
        beside = sum(other.route.transmit == lot.route.transmit for other in lots)
        key = (number, lot.route.transmit, lot.route.receive, lot.content, sizes, beside)
        if key not in self._made:
            self._made[key] = _split(lot.route, lot.content, sizes, self.seed + number, beside)
        return self._made[key]


def _least(way: Way, content: Content) -> int:
    headers = way.headers(content.headers)
    return LEAST_FRAME_BYTES.get(headers) or Headers(parse(headers), way.ends(content)).least_frame_bytes


def _leads_elsewhere(content: Content) -> bool:
    """Whether a modifier changes a frame's destination."""
    return any(modifier.partition("=")[0].strip().endswith(".dst") for modifier in content.modify)


def _content(content: Content, flow: Flow) -> Content:
    """What a flow says itself, and the plan's content for the rest."""
    own = flow.model_dump(include={"frame_bytes", "pacing", "headers", "modify"}, exclude_none=True)
    return Content.model_validate(content.model_dump(exclude={"streams"}) | own)


def _sizes(content: Content, frame_bytes: int) -> tuple[int, ...]:
    return content.frame_bytes or (frame_bytes,)


def _split(route: Route, content: Content, sizes: tuple[int, ...], seed: int, beside: int) -> list[Frames]:
    """The frames of each of a content's streams on a route."""
    headers, count, ends = route.way.headers(content.headers), content.streams, route.way.ends(content)
    if count == 1:
        return [frames(headers, sizes, ends, content.modify, seed, streams=beside)]
    layer = next((name for name in ("UDP", "TCP") if f"{name}(" in parse(headers).text), None)
    if layer is None:
        return [frames(headers, sizes, ends, content.modify, seed, streams=beside)] * count
    if len(sizes) > 1 or content.modify:
        problem = f"{count} streams of one content differ by their source port only"
        raise PlanError("streams", problem, "leave out the mix and the modifiers, or write a [[stream]] for each")
    own = f"{layer}.sport=increment({FIRST_SOURCE_PORT}, count={min(count, _SOURCE_PORTS)})"
    whole = frames(headers, sizes, ends, (own,), seed, streams=beside)
    one = whole.lengths[:1]
    return [Frames(whole.frame(stream), one, whole.checked_from, whole.stack) for stream in range(count)]

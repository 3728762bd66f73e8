"""How the ports of a tester share a trial's load: routes between ports, and what each route carries.

Turns a trial into the streams and frames that a core carries out. Addresses are given to it; it opens nothing and
sends nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil

from keisoku.errors import PlanError
from keisoku.ground.frame.headers import Ends, Headers
from keisoku.ground.frame.modifying import Modifying, ModifyingFrames, kind
from keisoku.ground.frame.stack import parse
from keisoku.ground.frame.variants import MOST_BYTES, Frames, frames, variants
from keisoku.ground.statistics.seed import DEFAULT, mixed
from keisoku.subjects.device.engine.connecting import Connecting
from keisoku.subjects.device.plan.content import Content
from keisoku.subjects.device.record.trial import NS_PER_S, Connections, Flow, Stream, Trial

FIRST_SOURCE_PORT = 49_152
"""Streams of one content differ by their source port, from here on (RFC 6335 §6: dynamic ports)."""
_SOURCE_PORTS = 16_384
_LEARNED = 256
"""Where a content's destination varies, so many of its frames are sent before the load: the DUT must resolve them."""
_UNADDRESSED = "198.18.1.2", "198.18.1.1"
"""IP addresses of a host and of the device at its port, where frames need no real ones (RFC 2544 appendix C.2.2.1)."""
LEAST_FRAME_BYTES = {"ethernet": 64, "ipv4": 64, "ipv6": 84}
"""IP version of the short names, so that a simulated run need not load Scapy, which takes a second."""


@dataclass(frozen=True)
class Addressing:
    """The addresses and headers that lead a frame from one port to another."""

    source_mac: str
    next_hop_mac: str
    receiver_mac: str
    ips: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)
    """Source and destination addresses by 'ipv4' and 'ipv6', as far as they are known."""
    stacks: Mapping[str, str] = field(default_factory=dict)
    """For short names of headers, the whole stacks that this device forwards; empty: it forwards any stack."""
    device_ip: str | None = None
    """The device's own IPv4 address at the sending port, if it has one that answers."""

    def ends(self, content: Content) -> Ends:
        """The addresses that the content's headers leave open."""
        version, stack = content.ip_version or "", self.stacks.get(content.headers, "")
        if "IPv6(" in stack and "IP(" not in stack:  # what a NAT64 translates is called ipv4 on both sides
            version = "ipv6"
        source, destination = self.ips.get(version, (None, None))
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
    """From one port of the tester to another; ports are indices."""

    transmit: int
    receive: int
    forward: Addressing
    back: Addressing
    """Addresses of learning frames that the receiving port sends."""
    growth_bytes: int = 0
    """How much longer the device makes a frame on this route."""
    arrives: Mapping[str, str] = field(default_factory=dict)
    """For each of `forward.stacks`, the same headers as they arrive, where they are known."""
    last_hop_mac: str | None = None
    """From which a router's frames arrive; None if it is not known, or nobody compares it."""


def local_mac(port: int) -> str:
    """A locally administered address for a port of the tester, by index."""
    return f"02:00:00:00:{port >> 8:02x}:{port & 0xFF:02x}"


@dataclass(frozen=True)
class _Lot:
    """One content on one route, of which one or several streams are made."""

    route: Route
    content: Content
    share: float
    """Share of its port's load, for each of its streams."""
    flow: Flow | None = None
    kind: ModifyingFrames | None = None
    """Frames beside the test frames (RFC 2544 §11)."""

    def frames_per_second(self, trial: Trial) -> float:
        if self.kind is None or self.kind.share is not None:
            return trial.frames_per_second * self.share
        return 1 / self.kind.period_s

    def frames(self, trial: Trial) -> int:
        if self.flow is not None:
            return max(1, round(trial.frames_in(self.flow) / self.flow.streams))
        if self.kind is None or self.kind.share is not None:
            return max(1, round(trial.frames * self.share))
        # §11.2 and §11.3: the first of them is the first frame of the trial.
        return ceil(trial.duration_ns / NS_PER_S / self.kind.period_s)


class Traffic:
    """Every content on every route, or the flows that a trial names. The load of a trial is that of a port.

    Raises PlanError for headers that a device does not forward.
    """

    def __init__(
        self,
        routes: Sequence[Route],
        contents: Sequence[Content],
        seed: int = DEFAULT,
        modifiers: Sequence[Modifying] = (),
        listening: Sequence[int] = (),
        flow_bytes: int = 0,
    ) -> None:
        """`listening` are ports that receive although no frame is meant for them. `flow_bytes`: of all different frames
        of the flows of a trial, which then have so much room; 0: streams of a port share its own."""
        self._listening, self._flow_bytes = listening, flow_bytes
        self.routes, self.contents, self.seed = list(routes), list(contents), seed
        self._beside = [_beside(route, name) for route in self._first_routes() for name in modifiers]
        self._made: dict[tuple[int, int, int, Content, tuple[int, ...], int], list[Frames]] = {}
        self._opens: dict[bool, tuple[object, Frames]] = {}
        self.least_frame_bytes = max(
            _least(route.forward, content) for route in self.routes for content in self.contents
        )

    @property
    def tag_bytes(self) -> int:
        """What of each frame is a VLAN tag that no MTU counts."""
        ways = ((route.forward, content) for route in self.routes for content in self.contents)
        return min(parse(way.headers(content.headers)).tag_bytes for way, content in ways)

    def check(self, sizes: Sequence[int]) -> None:
        """Raises PlanError where a trial of these sizes could not have its frames because of what varies in them."""
        route = self.routes[0]
        beside = len(self.contents) * sum(other.transmit == route.transmit for other in self.routes)
        beside += sum(lot.route.transmit == route.transmit for lot in self._beside)
        for content in self.contents:
            if content.modify or (content.streams > 1 and content.frame_bytes):
                for own in {_sizes(content, size) for size in sizes}:
                    modify = _stepping(route, content, own, beside)
                    headers, ends = route.forward.headers(content.headers), route.forward.ends(content)
                    variants(headers, own, ends, modify, beside)

    @cached_property
    def transmitting(self) -> list[int]:
        """Ports that send, in order."""
        return sorted({route.transmit for route in self.routes})

    @cached_property
    def receiving(self) -> list[int]:
        """Ports that frames are meant for, and those that listen, in order."""
        return sorted({route.receive for route in self.routes} | {*self._listening})

    def streams_beside(self, trial: Trial) -> int:
        """How many streams, the last ones of a trial, are no test frames."""
        return sum(flow.message for flow in trial.flows) + len(self._beside)

    def streams(self, trial: Trial, connecting: Connecting | None = None) -> list[Stream]:
        """The trial's streams, test frames first; each has a table of its own of the same number. `connecting`: what is
        known of the trial's connections.

        Raises PlanError for frames with errors, which this engine cannot send.
        """
        defect = next((flow.defect for flow in trial.flows if flow.defect), None)
        if defect is not None:
            raise PlanError("errors", f"this engine sends no {defect} frames", "leave them out")
        found: list[Stream] = []
        for lot in self._lots(trial.flows):
            flow = lot.flow
            for _ in range(lot.content.streams):
                found.append(
                    Stream(
                        transmit=lot.route.transmit,
                        receive=lot.route.receive,
                        also=() if flow is None else flow.also,
                        among=self._among(lot, trial),
                        timed=flow is not None and flow.timed,
                        table=len(found),
                        frame_bytes=_sizes(lot.content, trial.frame_bytes),
                        frames_per_second=lot.frames_per_second(trial),
                        pacing=lot.content.pacing,
                        frames=lot.frames(trial),
                        start_ns=0 if flow is None else flow.start_ns,
                        tag=_tag(trial, lot),
                        growth_bytes=lot.route.growth_bytes,
                        connections=_belonging(flow, connecting),
                    )
                )
        return found

    def tables(self, trial: Trial, connecting: Connecting | None = None) -> list[Frames]:
        """The frames of each stream. Raises PlanError for invalid headers, modifiers or sizes."""
        lots = self._lots(trial.flows)
        found: list[Frames] = []
        for number, lot in enumerate(lots):
            if connecting is not None and lot.flow is not None and lot.flow.connections is not None:
                found.append(self._connected(lot, trial.frame_bytes, connecting))
            else:
                found += self._frames(number, lots, trial.frame_bytes)
        return found

    def ways(self, trial: Trial) -> list[tuple[Route, str]]:
        """Of each stream of the trial: its route, and the kind of its frames ('ipv4', 'ipv6', 'ethernet')."""
        lots = self._lots(trial.flows)
        return [(lot.route, lot.content.ip_version or "ethernet") for lot in lots for _ in range(lot.content.streams)]

    def learning(self) -> list[tuple[int, bytes]]:
        """Frames by which a DUT learns addresses (RFC 2544 §23 b), each with the port that sends it.

        Those of the receiving ends come first, so that the DUT knows the destinations of all routes.
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
            if lot.kind is None
            for frames in self._frames(number, lots, self.least_frame_bytes)[:1]
            for variant in range(min(frames.count, _LEARNED) if _leads_elsewhere(lot.content) else 1)
        }
        return [*back, *sorted(forward)]

    def summary(self) -> dict[str, object]:
        """The traffic as the record must state it; JSON values only."""
        return {
            "routes": [f"{route.transmit + 1} to {route.receive + 1}" for route in self.routes],
            "contents": [content.model_dump(mode="json") for content in self.contents],
            "beside": [lot.content.model_dump(mode="json") for lot in self._beside],
        }

    def _lots(self, flows: Sequence[Flow]) -> list[_Lot]:
        """Each flow, or without flows each content on each route; and the frames beside them."""
        if flows:
            own = [(self._route(flow), _content(self.contents[0], flow), flow.share / flow.streams) for flow in flows]
            return [_Lot(*lot, flow) for lot, flow in zip(own, flows, strict=True)] + self._beside
        routes = {port: sum(route.transmit == port for route in self.routes) for port in self.transmitting}
        weights = sum(content.weight for content in self.contents)
        return [
            _Lot(route, content, content.weight / weights / content.streams / routes[route.transmit])
            for route in self.routes
            for content in self.contents
        ] + self._beside

    def _among(self, lot: _Lot, trial: Trial) -> tuple[int, ...]:
        """Where frames may arrive beside the port that they are meant for."""
        if trial.anywhere:
            return tuple(port for port in self.receiving if port not in (lot.route.transmit, lot.route.receive))
        return () if lot.flow is None else lot.flow.among

    def _first_routes(self) -> list[Route]:
        """One of each transmitting port."""
        return [next(route for route in self.routes if route.transmit == port) for port in self.transmitting]

    def _route(self, flow: Flow) -> Route:
        return next(route for route in self.routes if (route.transmit, route.receive) == (flow.transmit, flow.receive))

    def _connected(self, lot: _Lot, size: int, connecting: Connecting) -> Frames:
        """A frame of each connection. Those of the initiator are kept for further trials."""
        stack, ends = lot.route.forward.headers(lot.content.headers), lot.route.forward.ends(lot.content)
        if lot.flow is not None and lot.flow.connections == "answer":
            return connecting.answers(stack, size, ends)
        key = connecting.opening.model_copy(update={"frames_per_second": 1.0}), lot.route, size
        kept = self._opens.get(connecting.established)
        if kept is None or kept[0] != key:
            kept = self._opens[connecting.established] = key, connecting.opens(stack, size, ends)
        return kept[1]

    def _frames(self, number: int, lots: Sequence[_Lot], frame_bytes: int) -> list[Frames]:
        lot = lots[number]
        sizes = _sizes(lot.content, frame_bytes)
        room = max(MOST_BYTES, self._flow_bytes)
        # That of all flows is as large as they need it, so they need not share it evenly.
        beside = 1 if self._flow_bytes else sum(other.route.transmit == lot.route.transmit for other in lots)
        key = (number, lot.route.transmit, lot.route.receive, lot.content, sizes, beside)
        if key not in self._made:
            self._made[key] = _split(lot.route, lot.content, sizes, mixed(self.seed, number), beside, room)
        return self._made[key]


def _belonging(flow: Flow | None, connecting: Connecting | None) -> Connections | None:
    if connecting is None or flow is None or flow.connections is None:
        return None
    return connecting.belonging(opens=flow.connections == "open")


def _beside(route: Route, name: Modifying) -> _Lot:
    """Frames beside the port's test frames. A query to a device without an address is refused."""
    ips = route.forward.ips
    source, device = ips.get("ipv4", (None, None))[0] or _UNADDRESSED[0], route.forward.device_ip
    if name == "management" and device is None and ips:
        problem = "the device has no IP address for management queries"
        raise PlanError("modifiers", problem, "leave management out, or use a router (lab:router, or --gateway)")
    made = kind(name, source, device or _UNADDRESSED[1])
    sizes = None if made.frame_bytes is None else (made.frame_bytes,)
    content = Content(headers=made.headers, frame_bytes=sizes, modify=made.modify)
    # Shares of all frames; the rest is the load of the trial.
    share = 0.0 if made.share is None else made.share / (1 - made.share)
    return _Lot(route, content, share, kind=made)


def _tag(trial: Trial, lot: _Lot) -> int | None:
    """The tagged frame's number in its stream, which has a share of the frames that the trial counts."""
    if trial.tag is None or lot.kind is not None:
        return None
    return trial.tag if lot.flow is not None else round(trial.tag * lot.share)


def _least(addressing: Addressing, content: Content) -> int:
    headers = addressing.headers(content.headers)
    return LEAST_FRAME_BYTES.get(headers) or Headers(parse(headers), addressing.ends(content)).least_frame_bytes


def _leads_elsewhere(content: Content) -> bool:
    """Whether a modifier changes a frame's destination."""
    return any(modifier.partition("=")[0].strip().endswith(".dst") for modifier in content.modify)


def _content(content: Content, flow: Flow) -> Content:
    """The flow's own settings, and the plan's content for the others."""
    own = flow.model_dump(include={"frame_bytes", "pacing", "headers", "modify", "streams"}, exclude_none=True)
    return Content.model_validate(content.model_dump() | own)


def _sizes(content: Content, frame_bytes: int) -> tuple[int, ...]:
    return content.frame_bytes or (frame_bytes,)


def _split(
    route: Route, content: Content, sizes: tuple[int, ...], seed: int, beside: int, room_bytes: int
) -> list[Frames]:
    """The frames of each of a content's streams on a route."""
    headers, count, ends = route.forward.headers(content.headers), content.streams, route.forward.ends(content)
    modify = _stepping(route, content, sizes, beside)
    whole = frames(headers, sizes, ends, modify, seed, beside, room_bytes)
    if count > 1 and (modify != content.modify or (len(sizes) == 1 and modify and whole.count == count)):
        return _apart(whole, count)
    return [whole] * count


def _stepping(route: Route, content: Content, sizes: tuple[int, ...], beside: int) -> tuple[str, ...]:
    """The modifiers of a content's frames: its own, or one by which its streams differ. Raises PlanError if it would
    need both."""
    headers, count, ends = route.forward.headers(content.headers), content.streams, route.forward.ends(content)
    if count == 1:
        return content.modify
    one_size = len(sizes) == 1 and content.modify
    if one_size and variants(headers, sizes, ends, content.modify, beside) == count:
        return content.modify
    layer = next((name for name in ("UDP", "TCP") if f"{name}(" in parse(headers).text), None)
    if layer is None:
        return content.modify
    if len(sizes) > 1 or content.modify:
        problem = f"{count} streams of one content differ by their source port only"
        raise PlanError("streams", problem, "leave out the mix and the modifiers, or write a [[stream]] for each")
    return (f"{layer}.sport=increment({FIRST_SOURCE_PORT}, count={min(count, _SOURCE_PORTS)})",)


def _apart(whole: Frames, count: int) -> list[Frames]:
    """A table of one frame for each of the first variants."""
    one = whole.lengths[:1]
    return [
        Frames(whole.frame(stream), one, whole.checked_from, whole.stack, whole.room_bytes) for stream in range(count)
    ]

"""OTG's metrics of ports, LAGs and flows from a session's counts. It adds no field that OTG does not have.

Counts of a flow come from the account of its frames when traffic ends, and from the engine's progress while it runs. If
an engine reports only totals, they are given to the only flow, or the only port; with several, counts stay at zero
until the end. Latencies and times are available at the end only. Every counter is in every answer, also in the first:
clients that are generated from the model take that for granted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from typing import Any, Self

from keisoku.faces.otg.device.lag import Lag
from keisoku.faces.otg.flow.egress import Egress
from keisoku.faces.otg.flow.flow import Flow
from keisoku.faces.otg.flow.tag import TagKey
from keisoku.faces.otg.reading.node import Node
from keisoku.faces.otg.traffic.convergence import Interruption, convergence_metric, interruptions, loss_duration_ms
from keisoku.faces.otg.traffic.session import TrafficSession
from keisoku.ground.frame.payload import FCS_BYTES
from keisoku.ground.frame.rates import OVERHEAD_BYTES, frame_time_ns
from keisoku.subjects.device.engine.engine import Progress, StreamProgress
from keisoku.subjects.device.record.changes import Kind
from keisoku.subjects.device.record.facts import Facts, StreamFacts
from keisoku.subjects.device.record.gaps import Gap
from keisoku.subjects.device.record.trial import Flow as TrialFlow
from keisoku.subjects.device.record.trial import Trial


@dataclass(frozen=True)
class _Count:
    """Frames and bytes, with FCS, that were sent and received."""

    frames_tx: int = 0
    frames_rx: int = 0
    bytes_tx: int = 0
    bytes_rx: int = 0

    def __add__(self, other: _Count) -> _Count:
        return _Count(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def __sub__(self, other: _Count) -> _Count:
        return _Count(*(a - b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def counts(self) -> dict[str, int]:
        """As OTG names them, of a port or a flow."""
        return asdict(self)

    def port_rates(self, span_s: float) -> dict[str, float]:
        """A second, in a time of so long, as OTG names them of a port."""
        return {f"{name}_rate": value / span_s for name, value in self.counts().items()}

    def flow_rates(self, span_s: float) -> dict[str, float]:
        """A second, in a time of so long, as OTG names them of a flow."""
        found = {"frames_tx_rate": self.frames_tx / span_s, "frames_rx_rate": self.frames_rx / span_s}
        for way, frames, octets in (("tx", self.frames_tx, self.bytes_tx), ("rx", self.frames_rx, self.bytes_rx)):
            found[f"{way}_rate_bytes"] = octets / span_s
            for unit, size in (("bps", 1.0), ("kbps", 1e3), ("mbps", 1e6)):
                found[f"{way}_rate_{unit}"] = 8 * octets / span_s / size
            found[f"{way}_l1_rate_bps"] = 8 * (octets + OVERHEAD_BYTES * frames) / span_s
        return found


_NOTHING = _Count()
_RECEIVER = "rx_name"
"""Name of the tag that is the port at which frames arrived, as OTG names it in the configuration."""


@dataclass(frozen=True)
class TagWish:
    """Which tagged metrics a request wants."""

    include: bool = True
    empty: bool = False
    """Whether metrics of values without any frame yet are included."""
    columns: tuple[str, ...] = ()
    filters: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Names of tags, and the requested values; all must match."""

    @classmethod
    def read(cls, node: Node) -> Self:
        """As a request says it. Raises PlanError for a value that is not hexadecimal."""
        filters = []
        for each in node.children("filters"):
            values = tuple(str(value) for value in each.scalar("values") or [])
            for value in values if each.scalar("name") != _RECEIVER else ():
                try:
                    int(value, 16)
                except ValueError:
                    each.refuse(f"'{value}' is not hexadecimal", "write it as 0x2e", "values")
            filters.append((str(each.scalar("name")), values))
        return cls(
            bool(node.scalar("include")),
            bool(node.scalar("include_empty_metrics")),
            tuple(node.scalar("metric_names") or ()),
            tuple(filters),
        )

    def wants(self, key: TagKey) -> bool:
        """Whether the metric of such frames is wanted."""
        own = dict(key)
        return all(
            name in own and (not values or any(_same(name, own[name], value) for value in values))
            for name, values in self.filters
        )


def _same(name: str, one: str, other: str) -> bool:
    return one == other if name == _RECEIVER else int(one, 16) == int(other, 16)


def flow_metrics(
    session: TrafficSession,
    flows: Sequence[Flow],
    wanted: Sequence[str],
    rates: Sequence[float | None],
    tags: TagWish,
    always_loss: bool = False,
) -> Any:
    """A metric of each measured flow; `wanted` names its columns, all if empty. `rates`: line rates in bit/s by port.
    `always_loss`: also of flows for which the script does not ask for it."""
    found = []
    for flow in flows:
        if not flow.measured:
            continue
        flow = replace(flow, loss=flow.loss or always_loss)
        metric = chosen(_flow(session, flow, rates), wanted, {"name"})
        if tags.include and (flow.tagged[0].key or flow.egress is not None or flow.by_receiver):
            metric["tagged_metrics"] = _tagged(session, flow, rates, tags)
        found.append(metric)
    return found


def port_metrics(
    session: TrafficSession,
    ports: Sequence[int],
    wanted: Sequence[str],
    rates: Sequence[float | None],
    links: Mapping[int, bool],
) -> Any:
    """A metric of each port, by index; `links` are up or not, and `rates` are line rates in bit/s."""
    found = [_port(session, port, rates[port]) | {"link": "up" if links[port] else "down"} for port in ports]
    return [chosen(metric, wanted, {"name"}) for metric in found]


def lag_metrics(
    up: Mapping[Lag, Sequence[int]], ports: Sequence[Mapping[str, Any]], wanted: Sequence[str]
) -> list[dict[str, Any]]:
    """A metric of each LAG, of which the members that carry frames are given; `ports`: the metrics of all ports."""
    found = []
    for lag, carrying in up.items():
        own = [ports[port] for port in lag.ports]
        counts = (*_NOTHING.counts(), *_NOTHING.port_rates(1.0))
        metric: dict[str, Any] = {
            "name": lag.name,
            "oper_status": "up" if len(carrying) >= max(1, lag.min_links) else "down",
            "member_ports_up": len(carrying),
            **{name: sum(port[name] for port in own) for name in counts},
        }
        found.append(chosen(metric, wanted, {"name"}))
    return found


def bytes_of(sizes: Sequence[int], frames: int) -> int:
    """Bytes, with FCS, of the first frames of a stream with a cycle of sizes."""
    rounds, rest = divmod(frames, len(sizes))
    return rounds * sum(sizes) + sum(sizes[:rest])


def convergence_metrics(session: TrafficSession, flows: Sequence[Flow]) -> Any:
    """A convergence metric of each measured flow, while traffic runs by what is known of its longest interruption."""
    wish = session.configuration.wish
    causes = session.causes if wish.causes else []
    return [
        convergence_metric(flow.name, _interruptions(session, flow), causes, wish.flows)
        for flow in flows
        if flow.measured and (session.facts is not None or session.gaps) and flow.name in session.streams
    ]


def _interruptions(session: TrafficSession, flow: Flow, key: TagKey | None = None) -> list[list[Interruption]]:
    """Of each stream of a flow, or of those with these tags."""
    if session.trial is None or flow.name not in session.streams:
        return []
    part = session.streams[flow.name]
    numbers = [number for number in range(part.start, part.stop) if key is None or session.tags[number] == key]
    if session.facts is not None:
        return [interruptions(session.trial, each, session.facts.streams[each].tracked.lost) for each in numbers]
    longest = [(each, session.gaps[each]) for each in numbers if each < len(session.gaps)]
    return [interruptions(session.trial, each, () if gap is None else (gap,)) for each, gap in longest]


@dataclass(frozen=True)
class _Part:
    """Counts of one stream of a flow."""

    frame_bytes: tuple[int, ...]
    offered: int
    received: int
    forwarded: int
    ports: tuple[int, ...]
    """Where its frames may arrive; that which they are meant for first."""
    arrived: tuple[int, ...]
    """How many did at each."""
    facts: StreamFacts | None
    """The whole account, once the traffic is over."""

    def at(self, port: int) -> _Part:
        """What arrived at one of the ports. Only where a stream may arrive at one port has it several sizes."""
        if self.ports == (port,):
            return self
        count = sum(count for own, count in zip(self.ports, self.arrived, strict=True) if own == port)
        return replace(self, received=count, facts=None)


def _parts(session: TrafficSession, flow: Flow) -> list[_Part]:
    part = session.streams.get(flow.name)
    if part is None or session.trial is None:
        return []
    streams = session.trial.flows[part]
    if session.facts is not None:
        return [_ended_part(stream, each) for stream, each in zip(streams, session.facts.streams[part], strict=True)]
    return [_live_part(stream, each) for stream, each in zip(streams, session.live(flow.name), strict=False)]


def _ended_part(stream: TrialFlow, each: StreamFacts) -> _Part:
    ports, tracked = (stream.receive, *stream.among), each.tracked
    arrived = tuple(each.received_at(port) for port in ports)
    sizes = stream.frame_bytes or (0,)
    return _Part(sizes, each.offered_frames, tracked.received_frames, tracked.forwarded_frames, ports, arrived, each)


def _live_part(stream: TrialFlow, each: StreamProgress) -> _Part:
    ports, arrived = (stream.receive, *stream.among), each.arrived_frames or (each.received_frames,)
    sizes = stream.frame_bytes or (0,)
    return _Part(sizes, each.offered_frames, each.received_frames, each.forwarded_frames, ports, arrived, None)


def _flow(session: TrafficSession, flow: Flow, rates: Sequence[float | None]) -> dict[str, Any]:
    transmit, receive = flow.ways[0]
    arrives = [_receiver(session, flow, port) for port in flow.arrives_at(receive)]
    metric: dict[str, Any] = {
        "name": flow.name,
        "port_tx": session.configuration.ports[transmit.port].name if transmit.lag is None else transmit.lag.name,
        "port_rx": ", ".join(dict.fromkeys(arrives)),
        "transmit": session.state(flow),
        **_NOTHING.counts(),
        **_NOTHING.flow_rates(1.0),
    }
    parts = _parts(session, flow)
    if parts:
        metric |= _columns(session, flow, rates, parts) | _part_rates(session, flow, lambda key: True)
        return metric | _loss_duration(session, flow)
    if session.transmitting == (flow.name,) and session.progress is not None:
        now, before = (_total(flow, one) for one in (session.progress, session.progress_before))
        metric |= now.counts()
        if (span_s := _span_s(session)) is not None:
            metric |= (now - before).flow_rates(span_s)
    return metric


def _tagged(session: TrafficSession, flow: Flow, rates: Sequence[float | None], wish: TagWish) -> list[dict[str, Any]]:
    """A metric of the frames of each combination of values, in the order of their first frames."""
    parts = _parts(session, flow)
    keys = session.tags[session.streams[flow.name]] if flow.name in session.streams else ()
    found = []
    for key in dict.fromkeys(each.key for each in flow.tagged):
        own = [part for part, other in zip(parts, keys, strict=False) if other == key]
        if flow.egress is not None:
            arrived = _arrived(flow.egress, own)
            found += [
                _tagged_metric(key + seen, wish, each) for seen, each in arrived.items() if wish.wants(key + seen)
            ]
        if flow.by_receiver:
            found += _by_receiver(session, flow, key, own, wish)
        if not key or not wish.wants(key) or not (wish.empty or any(part.offered for part in own)):
            continue
        metric = _columns(session, flow, rates, own) | _part_rates(session, flow, key.__eq__)
        metric |= _loss_duration(session, flow, key)
        found.append(_tagged_metric(key, wish, metric))
    return found


def _receiver(session: TrafficSession, flow: Flow, port: int) -> str:
    """The name of the port or LAG of which a flow's frames arrive by a port."""
    own = next((lag.name for lag in flow.receiving_lags if port in lag.ports), None)
    return own or session.configuration.ports[port].name


def _by_receiver(
    session: TrafficSession, flow: Flow, key: TagKey, parts: Sequence[_Part], wish: TagWish
) -> list[dict[str, Any]]:
    """Counters of frames by the port or LAG at which they arrived. None was sent with such a value, which is the
    device's doing."""
    found = []
    arrived_at: dict[str, _Count] = {}
    for part in parts:
        for number in part.ports:
            name = _receiver(session, flow, number)
            arrived_at[name] = arrived_at.get(name, _NOTHING) + _count(part.at(number))
    for name, count in arrived_at.items():
        own = (*key, (_RECEIVER, name))
        if wish.wants(own) and (wish.empty or count.frames_rx):
            arrived = replace(count, frames_tx=0, bytes_tx=0)
            found.append(_tagged_metric(own, wish, arrived.counts() | _NOTHING.flow_rates(1.0)))
    return found


def _tagged_metric(key: TagKey, wish: TagWish, metric: dict[str, Any]) -> dict[str, Any]:
    kinds = [(name, "str" if name == _RECEIVER else "hex", value) for name, value in key]
    tags = [{"name": name, "value": {"choice": kind, kind: value}} for name, kind, value in kinds]
    return chosen(metric | {"tags": tags}, wish.columns, {"tags"})


def _arrived(egress: Egress, parts: Sequence[_Part]) -> dict[TagKey, dict[str, Any]]:
    """Counters of intact frames by what is tagged in them as they arrived, once the traffic is over. No frame was sent
    with such a value, which is the device's doing."""
    found: dict[TagKey, _Count] = {}
    for part in parts:
        for kind in _kinds(part):
            key = egress.key(kind)
            if key is not None and kind.length is not None and not kind.corrupt:
                count = _Count(frames_rx=kind.frames, bytes_rx=kind.frames * (kind.length + FCS_BYTES))
                found[key] = found.get(key, _NOTHING) + count
    return {key: count.counts() | _NOTHING.flow_rates(1.0) for key, count in found.items()}


def _kinds(part: _Part) -> Sequence[Kind]:
    return part.facts.arrivals.kinds if part.facts is not None and part.facts.arrivals is not None else ()


def untracked(session: TrafficSession) -> list[str]:
    """For each flow, what its `egress_packet` does not say of frames that arrived."""
    found = []
    for flow in session.configuration.flows:
        parts = _parts(session, flow) if flow.egress is not None else []
        others = sum(
            kind.frames for part in parts for kind in _kinds(part) if flow.egress and not flow.egress.key(kind)
        )
        facts = [part.facts.arrivals for part in parts if part.facts is not None and part.facts.arrivals is not None]
        others += sum(each.further_frames for each in facts)
        if others:
            why = "arrived with other headers than it names, or with more different ones than are kept"
            found.append(f"{flow.path}.egress_packet: {others} frames {why}")
    return found


def _loss_duration(session: TrafficSession, flow: Flow, key: TagKey | None = None) -> dict[str, Any]:
    if not session.configuration.wish.loss_duration or session.facts is None:
        return {}
    return {"packet_loss_duration": {"value": loss_duration_ms(_interruptions(session, flow, key))}}


def _columns(
    session: TrafficSession, flow: Flow, rates: Sequence[float | None], parts: Sequence[_Part]
) -> dict[str, Any]:
    """Counts of some of a flow's streams, and the other metrics that the script wants."""
    sent = sum(part.offered for part in parts)
    found: dict[str, Any] = sum((_count(part) for part in parts), _NOTHING).counts()
    if flow.loss and session.state(flow) != "started":
        # Frames that were sent and did not arrive: a duplicate replaces none, and one that may still arrive is not
        # lost.
        lost = sent - sum(part.forwarded for part in parts)
        found["loss"] = 100.0 * lost / sent if sent else 0.0
    facts = [part.facts for part in parts if part.facts is not None]
    latency = _latency(flow, facts, rates)
    if latency is not None:
        found["latency"] = latency
    times = _timestamps(facts)
    if flow.timestamps and times is not None:
        found["timestamps"] = times
    return found


def _part_rates(session: TrafficSession, flow: Flow, wanted: Callable[[TagKey], object]) -> dict[str, float]:
    """Rates of a flow's streams with requested tags while traffic runs: means of about a second."""
    span_s = _span_s(session)
    if span_s is None or session.progress is None or not session.progress.streams:
        return _NOTHING.flow_rates(1.0)
    part = session.streams[flow.name]
    chosen = [
        number for number, key in zip(range(part.start, part.stop), session.tags[part], strict=True) if wanted(key)
    ]
    return _sent_since(session, chosen, chosen).flow_rates(span_s)


def _span_s(session: TrafficSession) -> float | None:
    """Time between the last two readings of an engine that tells them; None without two."""
    now, before = session.progress, session.progress_before
    if now is None or before is None or bool(now.streams) != bool(before.streams):
        return None
    return now.elapsed_s - before.elapsed_s if now.elapsed_s > before.elapsed_s else None


def _sent_since(
    session: TrafficSession, sending: Sequence[int], receiving: Sequence[int], port: int | None = None
) -> _Count:
    """What some streams sent, and others received, between the last two readings; received at one port only, if it is
    given."""
    assert session.trial is not None and session.progress is not None and session.progress_before is not None
    now, before = (
        _streamed(session.trial, reading, sending, receiving, port)
        for reading in (session.progress, session.progress_before)
    )
    return now - before


def _streamed(
    trial: Trial, reading: Progress, sending: Sequence[int], receiving: Sequence[int], port: int | None = None
) -> _Count:
    """What some streams had sent, and others received, at a reading; received at one port only, if it is given."""
    parts = {number: _live_part(trial.flows[number], reading.streams[number]) for number in {*sending, *receiving}}
    sent = [parts[number] for number in sending]
    received = [parts[number] if port is None else parts[number].at(port) for number in receiving]
    return _Count(
        sum(part.offered for part in sent),
        sum(part.received for part in received),
        sum(bytes_of(part.frame_bytes, part.offered) for part in sent),
        sum(bytes_of(part.frame_bytes, part.received) for part in received),
    )


def _timestamps(parts: Sequence[StreamFacts]) -> dict[str, int] | None:
    """Times of the first and the last frame that arrived, in ns since the traffic began; None if none did."""
    first = [part.first_received_ns for part in parts if part.first_received_ns is not None]
    last = [part.last_received_ns for part in parts if part.last_received_ns is not None]
    return {"first_timestamp_ns": min(first), "last_timestamp_ns": max(last)} if first and last else None


def _count(part: _Part) -> _Count:
    return _Count(part.offered, part.received, bytes_of(part.frame_bytes, part.offered), _received_bytes(part))


def _received_bytes(part: _Part) -> int:
    """Bytes of the frames that arrived, as they were sent.

    Where it is not known which of several sizes did (while traffic runs, after duplicates, and after more losses than
    are kept by their numbers), as if they were the first of the stream.
    """
    if part.facts is not None and part.received == part.forwarded:
        lost = part.facts.tracked.lost
        known = part.facts.tracked.lost_kept_as != "intervals"
        if known and int(lost.counts.sum()) == part.offered - part.forwarded:
            return bytes_of(part.frame_bytes, part.offered) - sum(_gap_bytes(part.frame_bytes, gap) for gap in lost)
    return bytes_of(part.frame_bytes, part.received)


def _gap_bytes(sizes: Sequence[int], gap: Gap) -> int:
    if gap.bitmap is not None:
        return sum(sizes[number % len(sizes)] for number in gap.numbers())
    return bytes_of(sizes, gap.last + 1) - bytes_of(sizes, gap.first)


def _latency(flow: Flow, parts: Sequence[StreamFacts], rates: Sequence[float | None]) -> dict[str, float] | None:
    found = [part.tracked.latency for part in parts if part.tracked.latency is not None]
    if flow.latency is None or not found:
        return None
    # On a port without a line a frame takes no time, so that both latencies are the same.
    rate = rates[flow.ways[0][0].port]
    off_ns = frame_time_ns(rate, flow.frame_bytes[0]) if flow.latency == "store_forward" and rate is not None else 0.0
    count = sum(one.count for one in found)
    return {
        "minimum_ns": min(one.min_ns for one in found) - off_ns,
        "maximum_ns": max(one.max_ns for one in found) - off_ns,
        "average_ns": sum(one.mean_ns * one.count for one in found) / count - off_ns,
    }


def _port(session: TrafficSession, number: int, rate: float | None) -> dict[str, Any]:
    port = session.configuration.ports[number]
    going = [flow for flow in session.configuration.flows if flow.name in session.transmitting]
    sending = {transmit for flow in going for transmit, _ in flow.pairs}
    receiving = {receive for flow in going for _, receive in flow.pairs}
    metric: dict[str, Any] = {
        "name": port.name,
        "location": port.location,
        "capture": "stopped",
        **_NOTHING.counts(),
        **_NOTHING.port_rates(1.0),
        "transmit": "started" if number in sending else "stopped",
    }
    if rate is not None:
        metric["speed"] = round(rate / 8_000)  # OTG has it in KBps
    if session.trial is not None and session.progress is not None and session.progress.streams:
        metric |= _port_live(session, number)
    elif session.transmitting and session.progress is not None:
        metric |= _port_total(session, sending == {number}, receiving == {number})
    if session.facts is not None:
        metric |= _counted(session, session.facts, number)
    return metric


def _port_live(session: TrafficSession, number: int) -> dict[str, Any]:
    """Frames of all flows at a port while traffic runs; foreign frames are counted at the end."""
    assert session.trial is not None and session.progress is not None
    flows = list(enumerate(session.trial.flows))
    sending = [place for place, flow in flows if flow.transmit == number]
    receiving = [place for place, flow in flows if number in (flow.receive, *flow.among)]
    found: dict[str, Any] = _streamed(session.trial, session.progress, sending, receiving, number).counts()
    if (span_s := _span_s(session)) is not None:
        found |= _sent_since(session, sending, receiving, number).port_rates(span_s)
    return found


def _port_total(session: TrafficSession, sends: bool, receives: bool) -> dict[str, Any]:
    """Of the only port that sends or receives, where an engine reports totals alone."""
    (flow, *_) = [flow for flow in session.configuration.flows if flow.name in session.transmitting]
    now, before = (_total(flow, one) for one in (session.progress, session.progress_before))
    found: dict[str, Any] = now.counts()
    if (span_s := _span_s(session)) is not None:
        found |= (now - before).port_rates(span_s)
    return {name: value for name, value in found.items() if ("_tx" in name and sends) or ("_rx" in name and receives)}


def _counted(session: TrafficSession, facts: Facts, number: int) -> dict[str, int]:
    strangers = sum(each.foreign_frames + each.misdirected_frames for each in facts.receivers if each.port == number)
    parts = [
        (each, part)
        for flow in session.configuration.flows
        for part in _parts(session, flow)
        if (each := part.facts) is not None
    ]
    own = [part.at(number) for _, part in parts if number in part.ports]
    sent = [part for each, part in parts if each.transmit == number]
    count = _Count(
        sum(part.offered for part in sent),
        sum(part.received for part in own) + strangers,
        sum(bytes_of(part.frame_bytes, part.offered) for part in sent),
        sum(_received_bytes(part) for part in own),
    )
    return count.counts()


def _total(flow: Flow, reading: Progress | None) -> _Count:
    """An engine's totals, of the only flow."""
    if reading is None:
        return _NOTHING
    sent, received = reading.offered_frames, reading.forwarded_frames
    return _Count(sent, received, bytes_of(flow.frame_bytes, sent), bytes_of(flow.frame_bytes, received))


def chosen(metric: dict[str, Any], wanted: Sequence[str], always: set[str]) -> dict[str, Any]:
    """The columns of a metric that are wanted, all if none is named, and those that it always has."""
    return {name: value for name, value in metric.items() if name in always or name in wanted} if wanted else metric

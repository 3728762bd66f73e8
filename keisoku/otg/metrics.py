"""OTG's metrics of ports and flows from a session's counts. It adds no field that OTG does not have.

Counts of a flow come from the account of its frames when traffic ends, and from the engine's progress while it runs. If
an engine reports only totals, they are given to the only flow, or the only port; with several, counts stay at zero
until the end. Latencies and times are available at the end only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keisoku.device.engine.engine import Progress
from keisoku.device.record.trial import Facts, StreamFacts
from keisoku.frame.rates import frame_time_ns
from keisoku.otg.convergence import Interruption, convergence_metric, interruptions, loss_duration_ms
from keisoku.otg.flow import Flow
from keisoku.otg.session import TrafficSession
from keisoku.otg.tag import TagKey


@dataclass(frozen=True)
class TagWish:
    """Which tagged metrics a request wants."""

    include: bool = True
    empty: bool = False
    """Whether metrics of values without any frame yet are included."""
    columns: tuple[str, ...] = ()
    filters: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Names of tags, and the requested values; all must match."""

    def wants(self, key: TagKey) -> bool:
        """Whether the metric of such frames is wanted."""
        own = dict(key)
        return all(
            name in own and (not values or int(own[name], 16) in {int(value, 16) for value in values})
            for name, values in self.filters
        )


def flow_metrics(
    session: TrafficSession,
    flows: Sequence[Flow],
    wanted: Sequence[str],
    rates: Sequence[float | None],
    tags: TagWish,
) -> Any:
    """A metric of each measured flow; `wanted` names its columns, all if empty. `rates`: line rates by port."""
    found = []
    for flow in flows:
        if not flow.measured:
            continue
        metric = _chosen(_flow(session, flow, rates), wanted, {"name"})
        if tags.include and flow.tagged[0].key:
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
    """A metric of each port, by index; `links` are up or not."""
    found = [_port(session, port, rates[port]) | {"link": "up" if links[port] else "down"} for port in ports]
    return [_chosen(metric, wanted, {"name"}) for metric in found]


def bytes_of(sizes: Sequence[int], frames: int) -> int:
    """Bytes, with FCS, of the first frames of a stream with a cycle of sizes."""
    rounds, rest = divmod(frames, len(sizes))
    return rounds * sum(sizes) + sum(sizes[:rest])


def convergence_metrics(session: TrafficSession, flows: Sequence[Flow]) -> Any:
    """A convergence metric of each measured flow, once the traffic is over."""
    wish = session.configuration.wish
    links = session.links if wish.links else []
    return [
        convergence_metric(flow.name, _interruptions(session, flow), links, wish.flows)
        for flow in flows
        if flow.measured and session.facts is not None and flow.name in session.streams
    ]


def _interruptions(session: TrafficSession, flow: Flow, key: TagKey | None = None) -> list[list[Interruption]]:
    """Of each stream of a flow, or of those with these tags."""
    if session.facts is None or session.trial is None or flow.name not in session.streams:
        return []
    part = session.streams[flow.name]
    return [
        interruptions(session.trial, number, session.facts.streams[number])
        for number in range(part.start, part.stop)
        if key is None or session.tags[number] == key
    ]


@dataclass(frozen=True)
class _Part:
    """Counts of one stream of a flow."""

    frame_bytes: tuple[int, ...]
    offered: int
    received: int
    forwarded: int
    facts: StreamFacts | None
    """The whole account, once the traffic is over."""


def _parts(session: TrafficSession, flow: Flow) -> list[_Part]:
    part = session.streams.get(flow.name)
    if part is None or session.trial is None:
        return []
    sizes = [each.frame_bytes or (0,) for each in session.trial.flows[part]]
    if session.facts is not None:
        return [
            _Part(own, each.offered_frames, each.tracked.received_frames, each.tracked.forwarded_frames, each)
            for own, each in zip(sizes, session.facts.streams[part], strict=True)
        ]
    return [
        _Part(own, each.offered_frames, each.received_frames, each.forwarded_frames, None)
        for own, each in zip(sizes, session.live(flow.name), strict=False)
    ]


def _flow(session: TrafficSession, flow: Flow, rates: Sequence[float | None]) -> dict[str, Any]:
    names = [port.name for port in session.configuration.ports]
    transmit, receive = flow.ways[0]
    metric: dict[str, Any] = {
        "name": flow.name,
        "port_tx": names[transmit.port],
        "port_rx": names[receive.port],
        "transmit": session.state(flow),
        "frames_tx": 0,
        "frames_rx": 0,
        "bytes_tx": 0,
        "frames_tx_rate": 0.0,
        "frames_rx_rate": 0.0,
    }
    parts = _parts(session, flow)
    if parts:
        metric |= _columns(session, flow, rates, parts) | _part_rates(session, flow, lambda key: True)
        return metric | _loss_duration(session, flow)
    if session.transmitting == (flow.name,) and session.progress is not None:
        metric |= _live(session.progress, session.progress_before)
        metric["bytes_tx"] = bytes_of(flow.frame_bytes, metric["frames_tx"])
    return metric


def _tagged(session: TrafficSession, flow: Flow, rates: Sequence[float | None], wish: TagWish) -> list[dict[str, Any]]:
    """A metric of the frames of each combination of values, in the order of their first frames."""
    parts = _parts(session, flow)
    keys = session.tags[session.streams[flow.name]] if flow.name in session.streams else ()
    found = []
    for key in (each.key for each in flow.tagged):
        own = [part for part, other in zip(parts, keys, strict=False) if other == key]
        if not wish.wants(key) or not (wish.empty or any(part.offered for part in own)):
            continue
        metric = _columns(session, flow, rates, own) | _part_rates(session, flow, key.__eq__)
        metric |= _loss_duration(session, flow, key)
        tags = [{"name": name, "value": {"choice": "hex", "hex": value}} for name, value in key]
        found.append(_chosen(metric | {"tags": tags}, wish.columns, {"tags"}))
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
    found: dict[str, Any] = {
        "frames_tx": sent,
        "frames_rx": sum(part.received for part in parts),
        "bytes_tx": sum(bytes_of(part.frame_bytes, part.offered) for part in parts),
    }
    received = [_received_bytes(part) for part in parts]
    if None not in received:
        found["bytes_rx"] = sum(each for each in received if each is not None)
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
    now, before = session.progress, session.progress_before
    found = {"frames_tx_rate": 0.0, "frames_rx_rate": 0.0}
    if now is None or before is None or not before.streams or now.elapsed_s <= before.elapsed_s:
        return found
    part, span_s = session.streams[flow.name], now.elapsed_s - before.elapsed_s
    for key, new, old in zip(session.tags[part], now.streams[part], before.streams[part], strict=True):
        if wanted(key):
            found["frames_tx_rate"] += (new.offered_frames - old.offered_frames) / span_s
            found["frames_rx_rate"] += (new.received_frames - old.received_frames) / span_s
    return found


def _timestamps(parts: Sequence[StreamFacts]) -> dict[str, int] | None:
    """Times of the first and the last frame that arrived, in ns since the traffic began; None if none did."""
    first = [part.first_received_ns for part in parts if part.first_received_ns is not None]
    last = [part.last_received_ns for part in parts if part.last_received_ns is not None]
    return {"first_timestamp_ns": min(first), "last_timestamp_ns": max(last)} if first and last else None


def _received_bytes(part: _Part) -> int | None:
    """Bytes of the frames that arrived, as they were sent; None where it is not known which of several sizes did."""
    if len(set(part.frame_bytes)) == 1:
        return part.received * part.frame_bytes[0]
    if part.received == part.forwarded == part.offered:
        return bytes_of(part.frame_bytes, part.offered)
    return None


def _latency(flow: Flow, parts: Sequence[StreamFacts], rates: Sequence[float | None]) -> dict[str, float] | None:
    found = [part.tracked.latency for part in parts if part.tracked.latency is not None]
    if flow.latency is None or not found:
        return None
    off_ns = 0.0
    if flow.latency == "store_forward":
        rate = rates[flow.ways[0][0].port]
        assert rate is not None, "a flow whose line has no rate was refused"
        off_ns = frame_time_ns(rate, flow.frame_bytes[0])
    count = sum(one.count for one in found)
    return {
        "minimum_ns": min(one.min_ns for one in found) - off_ns,
        "maximum_ns": max(one.max_ns for one in found) - off_ns,
        "average_ns": sum(one.mean_ns * one.count for one in found) / count - off_ns,
    }


def _port(session: TrafficSession, number: int, rate: float | None) -> dict[str, Any]:
    port = session.configuration.ports[number]
    going = [flow for flow in session.configuration.flows if flow.name in session.transmitting]
    sending = {way[0].port for flow in going for way in flow.ways}
    receiving = {way[1].port for flow in going for way in flow.ways}
    metric: dict[str, Any] = {
        "name": port.name,
        "location": port.location,
        "capture": "stopped",
        "frames_tx": 0,
        "frames_rx": 0,
        "frames_tx_rate": 0.0,
        "frames_rx_rate": 0.0,
        "transmit": "started" if number in sending else "stopped",
    }
    if rate is not None:
        metric["speed"] = round(rate / 8_000)  # OTG has it in KBps
    if session.trial is not None and session.progress is not None and session.progress.streams:
        metric |= _port_live(session, number)
    elif session.transmitting and session.progress is not None:
        live = _live(session.progress, session.progress_before)
        if sending == {number}:
            metric |= {name: value for name, value in live.items() if "_tx" in name}
        if receiving == {number}:
            metric |= {name: value for name, value in live.items() if "_rx" in name}
    if session.facts is not None:
        metric |= _counted(session, session.facts, number)
    return metric


def _port_live(session: TrafficSession, number: int) -> dict[str, Any]:
    """Frames of all flows at a port while traffic runs; foreign frames are counted at the end."""
    now, before = session.progress, session.progress_before
    assert now is not None and session.trial is not None
    flows = session.trial.flows

    def counts(progress: Progress) -> tuple[int, int]:
        pairs = list(zip(flows, progress.streams, strict=True))
        sent = sum(part.offered_frames for flow, part in pairs if flow.transmit == number)
        return sent, sum(part.received_frames for flow, part in pairs if flow.receive == number)

    sent, received = counts(now)
    found: dict[str, Any] = {"frames_tx": sent, "frames_rx": received}
    found["bytes_tx"] = sum(
        bytes_of(flow.frame_bytes or (0,), part.offered_frames)
        for flow, part in zip(flows, now.streams, strict=True)
        if flow.transmit == number
    )
    if before is not None and before.streams and now.elapsed_s > before.elapsed_s:
        span_s, (sent_before, received_before) = now.elapsed_s - before.elapsed_s, counts(before)
        found["frames_tx_rate"] = (sent - sent_before) / span_s
        found["frames_rx_rate"] = (received - received_before) / span_s
    return found


def _counted(session: TrafficSession, facts: Facts, number: int) -> dict[str, int]:
    strangers = sum(each.foreign_frames + each.misdirected_frames for each in facts.receivers if each.port == number)
    parts = [
        (each, part)
        for flow in session.configuration.flows
        for part in _parts(session, flow)
        if (each := part.facts) is not None
    ]
    own = [part for each, part in parts if each.receive == number]
    sent = [part for each, part in parts if each.transmit == number]
    counts = {
        "frames_tx": sum(part.offered for part in sent),
        "frames_rx": sum(part.received for part in own) + strangers,
        "bytes_tx": sum(bytes_of(part.frame_bytes, part.offered) for part in sent),
    }
    received = [_received_bytes(part) for part in own]
    if None not in received and strangers == 0:
        counts["bytes_rx"] = sum(each for each in received if each is not None)
    return counts


def _live(progress: Progress, before: Progress | None) -> dict[str, Any]:
    """Totals, and rates between the last two readings."""
    found: dict[str, Any] = {"frames_tx": progress.offered_frames, "frames_rx": progress.forwarded_frames}
    span_s = 0.0 if before is None else progress.elapsed_s - before.elapsed_s
    if before is not None and span_s > 0:
        found["frames_tx_rate"] = (progress.offered_frames - before.offered_frames) / span_s
        found["frames_rx_rate"] = (progress.forwarded_frames - before.forwarded_frames) / span_s
    return found


def _chosen(metric: dict[str, Any], wanted: Sequence[str], always: set[str]) -> dict[str, Any]:
    return {name: value for name, value in metric.items() if name in always or name in wanted} if wanted else metric

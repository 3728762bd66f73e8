"""OTG's metrics of ports and flows from a session's counts. Pure; adds no field that OTG does not have.

Counts of a flow come from the account of its frames when traffic ends, and from the engine's looks at its streams while
it runs. An engine that tells totals only gives them to the one flow, or the one port, whose they are; others then stay at
zero until the end. Latencies and times come at the end: until then only counts are told.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keisoku.analysis.rates import frame_time_ns
from keisoku.engine import Progress, StreamProgress
from keisoku.otg.flow import Flow
from keisoku.otg.session import Session
from keisoku.record.trial import Facts, StreamFacts


def flow_metrics(session: Session, flows: Sequence[Flow], wanted: Sequence[str], rates: Sequence[float | None]) -> Any:
    """A metric of each flow that is measured; `wanted` names its columns, all if empty. `rates`: lines', by port."""
    return [_chosen(_flow(session, flow, rates), wanted, {"name"}) for flow in flows if flow.measured]


def port_metrics(
    session: Session,
    ports: Sequence[int],
    wanted: Sequence[str],
    rates: Sequence[float | None],
    links: Mapping[int, bool],
) -> Any:
    """A metric of each port, by index; `links` are up or not."""
    found = [_port(session, port, rates[port]) | {"link": "up" if links[port] else "down"} for port in ports]
    return [_chosen(metric, wanted, {"name"}) for metric in found]


def bytes_of(sizes: Sequence[int], frames: int) -> int:
    """Bytes, with FCS, of the first frames of a stream whose sizes come in turn."""
    rounds, rest = divmod(frames, len(sizes))
    return rounds * sum(sizes) + sum(sizes[:rest])


def _flow(session: Session, flow: Flow, rates: Sequence[float | None]) -> dict[str, Any]:
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
    live = session.live(flow.name)
    if live:
        return metric | _running(session, flow, live)
    if session.transmitting == (flow.name,) and session.progress is not None:
        metric |= _live(session.progress, session.progress_before)
        metric["bytes_tx"] = bytes_of(flow.frame_bytes, metric["frames_tx"])
    parts = _parts(session, flow)
    if not parts:
        return metric
    sent = sum(part.offered_frames for part in parts)
    metric["frames_tx"] = sent
    metric["frames_rx"] = sum(part.tracked.received_frames for part in parts)
    metric["bytes_tx"] = sum(bytes_of(flow.frame_bytes, part.offered_frames) for part in parts)
    received = [_received_bytes(flow.frame_bytes, part) for part in parts]
    if None not in received:
        metric["bytes_rx"] = sum(each for each in received if each is not None)
    if flow.loss:
        # Of frames that were sent and did not come: a duplicate makes up for none.
        lost = sent - sum(part.tracked.forwarded_frames for part in parts)
        metric["loss"] = 100.0 * lost / sent if sent else 0.0
    latency = _latency(flow, parts, rates)
    if latency is not None:
        metric["latency"] = latency
    times = _timestamps(parts)
    if flow.timestamps and times is not None:
        metric["timestamps"] = times
    return metric


def _running(session: Session, flow: Flow, live: Sequence[StreamProgress]) -> dict[str, Any]:
    """Counts of a flow while traffic runs; rates are means of about a second."""
    sent = sum(part.offered_frames for part in live)
    received = sum(part.received_frames for part in live)
    found: dict[str, Any] = {
        "frames_tx": sent,
        "frames_rx": received,
        "bytes_tx": sum(bytes_of(flow.frame_bytes, part.offered_frames) for part in live),
    }
    if len(set(flow.frame_bytes)) == 1:
        found["bytes_rx"] = received * flow.frame_bytes[0]
    if flow.loss and session.state(flow) != "started":  # frames under way are not lost
        found["loss"] = 100.0 * (sent - sum(part.forwarded_frames for part in live)) / sent if sent else 0.0
    progress, before = session.progress, session.progress_before
    if progress is not None and before is not None and before.streams and progress.elapsed_s > before.elapsed_s:
        earlier, span_s = before.streams[session.streams[flow.name]], progress.elapsed_s - before.elapsed_s
        found["frames_tx_rate"] = (sent - sum(part.offered_frames for part in earlier)) / span_s
        found["frames_rx_rate"] = (received - sum(part.received_frames for part in earlier)) / span_s
    return found


def _timestamps(parts: Sequence[StreamFacts]) -> dict[str, int] | None:
    """Of the first and the last frame that arrived, in ns since the traffic began; None if none did."""
    first = [part.first_received_ns for part in parts if part.first_received_ns is not None]
    last = [part.last_received_ns for part in parts if part.last_received_ns is not None]
    return {"first_timestamp_ns": min(first), "last_timestamp_ns": max(last)} if first and last else None


def _parts(session: Session, flow: Flow) -> list[StreamFacts]:
    if session.facts is None or flow.name not in session.streams:
        return []
    return session.facts.streams[session.streams[flow.name]]


def _received_bytes(sizes: Sequence[int], part: StreamFacts) -> int | None:
    """Bytes of what arrived, as it was sent; None where it is not known which of several sizes did."""
    tracked = part.tracked
    if len(set(sizes)) == 1:
        return tracked.received_frames * sizes[0]
    if tracked.received_frames == tracked.forwarded_frames == part.offered_frames:
        return bytes_of(sizes, part.offered_frames)
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


def _port(session: Session, number: int, rate: float | None) -> dict[str, Any]:
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


def _port_live(session: Session, number: int) -> dict[str, Any]:
    """Frames of all flows at a port while traffic runs; what is nobody's is counted at the end."""
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


def _counted(session: Session, facts: Facts, number: int) -> dict[str, int]:
    strangers = sum(each.foreign_frames + each.misdirected_frames for each in facts.receivers if each.port == number)
    own = [each for each in facts.streams if each.receive == number]
    sent = [each for each in facts.streams if each.transmit == number]
    sizes = {
        stream: flow.frame_bytes
        for flow in session.configuration.flows
        for stream in range(*session.streams.get(flow.name, slice(0, 0)).indices(len(facts.streams)))
    }
    place = {id(each): number for number, each in enumerate(facts.streams)}
    counts = {
        "frames_tx": sum(each.offered_frames for each in sent),
        "frames_rx": sum(each.tracked.received_frames for each in own) + strangers,
        "bytes_tx": sum(bytes_of(sizes[place[id(each)]], each.offered_frames) for each in sent),
    }
    received = [_received_bytes(sizes[place[id(each)]], each) for each in own]
    if None not in received and strangers == 0:
        counts["bytes_rx"] = sum(each for each in received if each is not None)
    return counts


def _live(progress: Progress, before: Progress | None) -> dict[str, Any]:
    """Totals, and rates between the last two looks."""
    found: dict[str, Any] = {"frames_tx": progress.offered_frames, "frames_rx": progress.forwarded_frames}
    span_s = 0.0 if before is None else progress.elapsed_s - before.elapsed_s
    if before is not None and span_s > 0:
        found["frames_tx_rate"] = (progress.offered_frames - before.offered_frames) / span_s
        found["frames_rx_rate"] = (progress.forwarded_frames - before.forwarded_frames) / span_s
    return found


def _chosen(metric: dict[str, Any], wanted: Sequence[str], always: set[str]) -> dict[str, Any]:
    return {name: value for name, value in metric.items() if name in always or name in wanted} if wanted else metric

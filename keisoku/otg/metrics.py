"""OTG's metrics of ports and flows from a session's counts. Pure; adds no field that OTG does not have.

Counts of a single flow come from the account of its frames when traffic ends. While it runs, the engine tells totals
only: they are a flow's or a port's where it is the only one, and the others stay at zero until the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keisoku.analysis.rates import frame_time_ns
from keisoku.engine import Progress
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
    running = flow.name in session.transmitting
    metric: dict[str, Any] = {
        "name": flow.name,
        "port_tx": names[transmit.port],
        "port_rx": names[receive.port],
        "transmit": "started" if running else "stopped",
        "frames_tx": 0,
        "frames_rx": 0,
        "bytes_tx": 0,
        "frames_tx_rate": 0.0,
        "frames_rx_rate": 0.0,
    }
    if running and len(session.transmitting) == 1 and session.progress is not None:
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
    return metric


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
    sending = {way[0].port for flow in session.configuration.flows for way in flow.ways if flow.name in session.streams}
    receiving = {
        way[1].port for flow in session.configuration.flows for way in flow.ways if flow.name in session.streams
    }
    metric: dict[str, Any] = {
        "name": port.name,
        "location": port.location,
        "capture": "stopped",
        "frames_tx": 0,
        "frames_rx": 0,
        "frames_tx_rate": 0.0,
        "frames_rx_rate": 0.0,
        "transmit": "started" if session.transmitting and number in sending else "stopped",
    }
    if rate is not None:
        metric["speed"] = round(rate / 8_000)  # OTG has it in KBps
    if session.transmitting and session.progress is not None:
        live = _live(session.progress, session.progress_before)
        if sending == {number}:
            metric |= {name: value for name, value in live.items() if "_tx" in name}
        if receiving == {number}:
            metric |= {name: value for name, value in live.items() if "_rx" in name}
    if session.facts is not None:
        metric |= _counted(session, session.facts, number)
    return metric


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

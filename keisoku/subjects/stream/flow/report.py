"""The core's reports of each stream's two ends (core/src/stream/report.rs), joined to one row for each stream.

It keeps counts and computes no rate.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from keisoku.subjects.stream.trial import StreamTrial

Reports = Sequence[Mapping[str, Any]]
Row = dict[str, Any]


def join(trial: StreamTrial, sent: Reports, received: Reports, connections: Sequence[tuple[int, Any]]) -> list[Row]:
    """A row for each stream, without number, path and set-up. `connections` are of the end of the trial."""
    senders, receivers = ({int(one["flow"]): one for one in ends} for ends in (sent, received))
    last = dict(connections)
    return [
        _row(trial, flow, direction, senders.get(flow, {}), receivers.get(flow, {}), last.get(flow))
        for flow, direction in trial.flows()
    ]


def parse(reports: str) -> list[dict[str, Any]]:
    """What the core returned."""
    found: list[dict[str, Any]] = json.loads(reports)
    return found


def parse_connections(told: str) -> list[tuple[int, dict[str, Any]]]:
    """What the core says of connections."""
    return [(int(flow), dict(info)) for flow, info in json.loads(told)]


def _row(
    trial: StreamTrial,
    flow: int,
    direction: str,
    sender: Mapping[str, Any],
    receiver: Mapping[str, Any],
    last: Mapping[str, Any] | None,
) -> Row:
    errors = [f"{end}: {one['error']}" for end, one in (("sender", sender), ("receiver", receiver)) if one.get("error")]
    errors += [f"the {end} sent no report" for end, one in (("sender", sender), ("receiver", receiver)) if not one]
    row: Row = {
        "message_bytes": trial.message_bytes,
        "direction": direction,
        "flow": flow,
        "sent_bytes": sender.get("bytes", 0),
        "sent_calls": sender.get("calls", 0),
        "sent_ns": sender.get("elapsed_ns", 0),
        "sender_cpu_ns": sender.get("cpu_ns", 0),
        "received_bytes": receiver.get("bytes", 0),
        "received_ns": receiver.get("elapsed_ns", 0),
        "settled_bytes": receiver.get("settled_bytes", 0),
        "settled_ns": receiver.get("settled_ns", 0),
        "settled_parts": receiver.get("settled_parts"),
        "receiver_cpu_ns": receiver.get("cpu_ns", 0),
        "error": "; ".join(errors) or None,
    }
    if trial.protocol == "tcp":
        info = last or sender.get("tcp") or {}
        during, times = sender.get("tcp") or {}, sender.get("rtt_us") or []
        row |= {
            "retransmissions": info.get("retransmissions"),
            "rtt_us": statistics.mean(times) if times else None,
            "round_trips_us": list(times),
            "greatest_rtt_us": max(times, default=None),
            "least_rtt_us": info.get("least_rtt_us"),
            "segment_bytes": info.get("segment_bytes"),
            "busy_us": during.get("busy_us"),
            "receiver_limited_us": during.get("receiver_limited_us"),
            "buffer_limited_us": during.get("buffer_limited_us"),
        }
        return row
    counted = receiver.get("datagrams") or {}
    row["host_drops"] = receiver.get("host_drops", 0)
    row |= {"offered": sender.get("datagrams", 0), "refused": sender.get("refused", 0)}
    names = ("came", "arrived", "lost", "duplicated", "reordered", "foreign", "socket_drops", "buffers")
    return row | {name: counted.get(name) for name in (*names, "most_in_buffer")}

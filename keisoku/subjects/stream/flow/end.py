"""`FlowEnd`: one end of a trial's streams, on sockets that are connected. Both ends of a measurement use it alike."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from keisoku._core import StreamEnd
from keisoku.errors import EngineError
from keisoku.subjects.stream.flow.report import parse, parse_connections
from keisoku.subjects.stream.trial import Direction, StreamTrial

_SOFTNET = Path("/proc/net/softnet_stat")
RECEIVE_BYTES = 1 << 17
"""Asked for in each call to receive."""
QUIET_S = 0.3
"""UDP: a datagram that comes later than this after the last one counts as lost."""
PATIENCE_S = 30.0
"""Wait for data still in buffers and on the path when sending ends."""


class FlowEnd:
    """`sends` is the direction in which this end sends. `sockets` are by number of the stream and stay the caller's."""

    def __init__(
        self, trial: StreamTrial, sends: Direction, sockets: Mapping[int, socket.socket], tokens: Sequence[int]
    ) -> None:
        tasks = [
            {
                "flow": flow,
                "fd": sockets[flow].fileno(),
                "sends": direction == sends,
                "udp": trial.protocol == "udp",
                "message_bytes": trial.message_bytes if direction == sends else RECEIVE_BYTES,
                "segments": trial.segments,
                "bytes_per_second": None if trial.bps is None else max(round(trial.bps / 8), 1),
                "warm_up_ns": round(trial.warm_up_s * 1e9),
                "token": tokens[flow],
            }
            for flow, direction in trial.flows()
        ]
        self._udp = trial.protocol == "udp"
        self._drops = backlog_drops()
        try:
            self._end = StreamEnd(json.dumps(tasks))
        except OSError as error:
            raise EngineError(f"the streams cannot begin: {error}; measure again") from error

    def send(self, duration_s: float) -> list[dict[str, Any]]:
        """Sends this end's streams for that long, and returns a report of each stream. Raises EngineError."""
        try:
            return parse(self._end.send(duration_s))
        except OSError as error:
            raise EngineError(f"the streams cannot be sent: {error}; use fewer of them") from error

    def received(self, offered: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
        """Waits for what comes, and reports of each stream; `offered` are datagrams by number of the stream."""
        reports = parse(self._end.received(list(offered), QUIET_S, PATIENCE_S))
        if self._udp and reports:
            # The host has one count for all of them.
            reports[0]["host_drops"] = max(backlog_drops() - self._drops, 0)
        return reports

    def connections(self) -> list[tuple[int, dict[str, Any]]]:
        """The kernel's figures of the connections that this end sent on."""
        return parse_connections(self._end.connections())

    def close(self) -> None:
        """Ends all; twice is no error."""
        self._end.close()


def backlog_drops() -> int:
    """Packets, of whatever traffic, for which this host's receive backlogs had no room since it started."""
    try:
        lines = _SOFTNET.read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1], 16) for line in lines)


def offered(sent: Sequence[Mapping[str, Any]]) -> list[tuple[int, int]]:
    """Datagrams by number of the stream, from reports of senders."""
    return [(int(one["flow"]), int(one["datagrams"])) for one in sent]


@contextmanager
def flow_end(
    trial: StreamTrial, sends: Direction, sockets: Mapping[int, socket.socket], tokens: Sequence[int]
) -> Iterator[FlowEnd]:
    """Closed on exit."""
    end = FlowEnd(trial, sends, sockets, tokens)
    try:
        yield end
    finally:
        end.close()

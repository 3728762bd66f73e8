"""The tester's end of a two-ended measurement: greets the server, has trains sent either way, and joins what both saw.

It computes nothing from the timestamps.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self

import numpy as np

from keisoku.errors import EngineError
from keisoku.ground.host.address import address_text, family, socket_address
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.control import Control, ControlError
from keisoku.subjects.path.train.log import TrainLog
from keisoku.subjects.path.train.probe import HELLO, ROW, Rows, TrainPlan, header_bytes
from keisoku.subjects.path.train.probe_end import MOST_BYTES, ProbeEnd

_CONNECT_S = 5.0
_HELLOS = 5
_SETTLE_S = 0.25
"""Longest wait for packets that are still on the path, longer than any queue."""
_MOST_PACKETS = 1500
"""From one collection to the next, so that the receiving socket holds them all."""


class TrainSession:
    """Connected on entry. Raises EngineError, in a sentence that says what to do, for anything that fails."""

    def __init__(self, place: Place, port: int) -> None:
        self.place = place
        self._next = 1
        connection = place.connect(port, _CONNECT_S)
        self.control = Control(connection, f"{place.host} port {port}")
        try:
            self.control.greet(_CONNECT_S)
            welcome, _ = self.control.receive(_CONNECT_S)
            token, udp_port = bytes.fromhex(welcome["token"]), int(welcome["udp_port"])
            self.local, self.remote = (
                address_text(end) for end in (connection.getsockname(), connection.getpeername())
            )
            self._end = ProbeEnd(self.local, token, place.path)
            self.peer = (self.remote, udp_port)
            self.stamps = (self._end.stamps, str(welcome["stamps"]))
            self._greet()
        except (KeyError, ValueError) as error:
            self.close()
            raise ControlError(f"{self.control.peer} is no keisoku path server of this version: {error}") from error
        except BaseException:
            self.close()
            raise
        self.log = TrainLog()
        self.keep: Callable[[TrainLog], None] = lambda _: None
        """Called with trains as soon as both ends' timestamps of them are here; no packet is on the path meanwhile."""
        self.dropped = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection."""
        self.control.close()

    @property
    def of_ipv6(self) -> bool:
        """Which headers count."""
        return ":" in self.local

    @property
    def header_bytes(self) -> int:
        """IP and UDP headers of a probe."""
        return header_bytes(self.of_ipv6)

    def clock_steps(self) -> int:
        """How often this host's time of day was stepped."""
        return self._end.clock_steps()

    def remote_noise(self) -> dict[str, float]:
        """As `stamp_noise` at the other end, in ns."""
        answer, _ = self.control.ask({"do": "noise"})
        return {str(source): float(noise) for source, noise in answer["noise_ns"].items()}

    def run(self, plans: Sequence[TrainPlan], gap_s: float, watch: bool = False) -> TrainLog:
        """Has trains sent in this order, and returns their records; `log` keeps all.

        The socket is not read during a train, so that a reader does not delay the sender; with `watch` the receiver
        waits for each packet, as a program with user timestamps does.
        """
        seen = TrainLog()
        for part in _parts(plans):
            first, self._next = self._next, self._next + len(part)
            trains = [(first + place, plan.ip_bytes, plan.count) for place, plan in enumerate(part)]
            ways = (self._forward, self._reverse)
            sent, received = ways[part[0].direction == "reverse"](trains, gap_s, watch)
            collected = TrainLog()
            collected.add(first, part, sent, received)
            self.keep(collected)
            seen.extend(collected)
        self.log.extend(seen)
        return seen

    def path_mtu(self, sizes: Sequence[int]) -> int:
        """The largest of `sizes` (IP bytes) that passes both ways without being fragmented; 0 if none does."""
        trains = [(HELLO - 1 - place, size, 1) for place, size in enumerate(sizes) for _ in range(2)]
        by_number = {number: size for number, size, _ in trains}
        _, came = self._forward(trains, 0.001, False)
        there = {by_number[int(number)] for number in came["train"]}
        _, back = self._reverse(trains, 0.001, False)
        both = there & {by_number[int(number)] for number in back["train"]}
        return max(both, default=0)

    def _greet(self) -> None:
        for _ in range(_HELLOS):
            self._end.send(self.peer, [(HELLO, self.header_bytes + 20, 1)], 0.0)
            answer, _ = self.control.ask({"do": "hello", "wait_s": 0.3})
            if answer["heard"]:
                return
        raise EngineError(
            f"{self.place.host} receives no UDP at its port {self.peer[1]}; let UDP pass to that port, which"
            " 'keisoku path serve --udp-port' sets"
        )

    def _forward(self, trains: list[tuple[int, int, int]], gap_s: float, watch: bool) -> tuple[Rows, Rows]:
        packets = sum(count for _, _, count in trains)
        duration_s = gap_s * len(trains) * 1.5 + _SETTLE_S
        request: dict[str, Any] = {"packets": packets, "wait_s": duration_s + 1 if watch else _SETTLE_S}
        if watch:
            self.control.ask({"do": "watch", **request})
            sent = self._end.send(self.peer, trains, gap_s)
            answer, block = self.control.receive(duration_s + 10)
        else:
            sent = self._end.send(self.peer, trains, gap_s)
            answer, block = self.control.ask({"do": "collect", **request})
        self.dropped += int(answer["dropped"])
        return sent, np.frombuffer(block, ROW)

    def _reverse(self, trains: list[tuple[int, int, int]], gap_s: float, watch: bool) -> tuple[Rows, Rows]:
        packets = sum(count for _, _, count in trains)
        duration_s = gap_s * len(trains) * 1.5 + _SETTLE_S
        self.control.send({"do": "send", "trains": trains, "gap_s": gap_s})
        received = [self._end.collect(packets, duration_s + 1)] if watch else []
        _, block = self.control.receive(duration_s + 10)
        if not watch:
            received = [self._end.collect(packets, _SETTLE_S)]
        return np.frombuffer(block, ROW), received[0]


def _parts(plans: Sequence[TrainPlan]) -> Iterator[list[TrainPlan]]:
    """Runs of one direction that a socket surely holds."""
    part: list[TrainPlan] = []
    packets = size = 0
    for plan in plans:
        full = packets + plan.count > _MOST_PACKETS or size + plan.count * plan.ip_bytes > MOST_BYTES
        if part and (full or plan.direction != part[0].direction):
            yield part
            part, packets, size = [], 0, 0
        part.append(plan)
        packets += plan.count
        size += plan.count * plan.ip_bytes
    if part:
        yield part


def local_address(place: Place, remote: str) -> str:
    """The address that this host sends to `remote` from. Raises EngineError if there is no way to it."""

    def find() -> str:
        with socket.socket(family(remote), socket.SOCK_DGRAM) as probe:
            probe.connect(socket_address(remote, 9))
            return address_text(probe.getsockname())

    try:
        return place.inside(find)
    except OSError as error:
        raise EngineError(f"{place.host} cannot be reached: {error.strerror}; check the route to it") from error

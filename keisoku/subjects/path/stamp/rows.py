"""Packets of a STAMP session and their answers, joined to rows: in order, each once, when its answers no longer count.

One thread may report sent packets while another one reports answers and takes rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from keisoku._core import ReceivedPacket, SentPacket, StampedSocket
from keisoku.subjects.path.stamp.clock_state import error_estimate
from keisoku.subjects.path.stamp.packet import ReflectedPacket, StampFormatError

_OF_ANSWER = ("t2_ns", "t3_ns", "t4_ns", "ttl_there", "ttl_here", "far_synchronised", "far_error_ns")


class DelayRows:
    """Rows of the packets that a socket sent to one peer."""

    def __init__(
        self, socket: StampedSocket, peer: tuple[str, int], key: bytes | None, packets: int, wait_ns: int
    ) -> None:
        """`packets`: to be sent in all; `wait_ns`: after which an answer counts no more."""
        self._packets = packets
        self._socket, self._peer, self._key, self._wait_ns = socket, peer, key, wait_ns
        self._sent: deque[SentPacket] = deque()
        self._first = 0
        """Sequence number of the first packet that is not yet a row."""
        self._answers: dict[int, list[int]] = {}
        self._counts: dict[int, int] = {}
        self._late: dict[int, int | None] = {}
        self.answered = 0
        """Packets that were answered so far."""

    def sent(self, packet: SentPacket) -> None:
        """The next packet in order."""
        self._sent.append(packet)

    def arrived(self, packets: Sequence[ReceivedPacket]) -> None:
        """Takes answers of the peer to packets that are no row yet; all else is passed over."""
        for came in packets:
            try:
                answer = ReflectedPacket.parse(came.data, self._key)
            except StampFormatError:
                continue
            number = answer.sender_sequence
            if not self._first <= number < self._packets or came.source is None or came.source != self._peer:
                continue
            self._counts[number] = self._counts.get(number, 0) + 1
            if self._counts[number] > 1:
                continue
            self.answered += 1
            self._answers[number] = [
                answer.received_ns,
                answer.time_ns,
                came.kernel_ns or came.realtime_ns,
                answer.sender_ttl,
                came.ttl or 0,
                answer.error.is_of_utc,
                round(answer.error.error_s * 1e9),
            ]

    def settled(self, now_ns: int) -> pa.Table:
        """Rows of the packets whose answers count no more; `now_ns` is of CLOCK_MONOTONIC."""
        count = 0
        # Only the other end of the queue grows meanwhile.
        while count < len(self._sent) and self._sent[count].monotonic_ns + self._wait_ns < now_ns:
            count += 1
        return self._take(count)

    def rest(self) -> pa.Table:
        """Rows of all packets that are left."""
        return self._take(len(self._sent))

    def _take(self, count: int) -> pa.Table:
        self._late |= {number: kernel_ns for number, kernel_ns, _ in self._socket.late_stamps()}
        first, self._first = self._first, self._first + count
        columns = {name: np.zeros(count, np.int64) for name in ("t1_ns", *_OF_ANSWER, "answers")}
        for place in range(count):
            packet, number = self._sent.popleft(), first + place
            # A packet without the kernel's stamp is left out of the delays: the program's is early.
            columns["t1_ns"][place] = packet.kernel_ns or self._late.pop(packet.id, None) or 0
            columns["answers"][place] = self._counts.pop(number, 0)
            for name, value in zip(_OF_ANSWER, self._answers.pop(number, ()), strict=False):
                columns[name][place] = value
        near = error_estimate()
        columns["near_synchronised"] = np.full(count, near.synchronised, np.int64)
        columns["near_error_ns"] = np.full(count, round(near.error_s * 1e9), np.int64)
        return pa.table({"sequence": np.arange(first, first + count, dtype=np.int64), **columns})

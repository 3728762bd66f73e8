"""`keisoku path delay`: a STAMP session-sender (RFC 8762 §4.2) with the kernel's stamps at this end.

It sends at a steady pace and keeps a row for each packet; figures are `delay_analysis`'s matter.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field

from keisoku._core import ReceivedPacket, SentPacket, StampedSocket
from keisoku.errors import EngineError
from keisoku.path.clock_state import error_estimate
from keisoku.path.place import Place
from keisoku.path.reflector import TTL
from keisoku.path.session import local_address
from keisoku.path.stamp_packet import (
    AUTHENTICATED_BYTES,
    BASE_BYTES,
    PORT,
    ReflectedPacket,
    SenderPacket,
    StampFormatError,
    padding,
)

KIND = "path-delay"
_HEADERS_BYTES = 28
_IPV6_MORE_BYTES = 20


class DelaySettings(BaseModel):
    """Of one measurement; kept as the run's settings.toml. A key is never kept."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str
    """Name or address of the reflector."""
    port: int = Field(PORT, ge=1, le=65535)
    """Its UDP port."""
    packets: int = Field(100, ge=1, le=10_000_000)
    """That are sent."""
    interval_s: float = Field(0.01, gt=0, le=3600)
    """From one to the next."""
    ip_bytes: int = Field(0, ge=0, le=65_535)
    """Of each packet; 0: as short as STAMP allows. Longer ones have an Extra Padding TLV (RFC 8972 §4.1)."""
    wait_s: float = Field(1.0, gt=0, le=60)
    """For the last answers."""
    ssid: int = Field(0, ge=0, le=65_535)
    """Session identifier (RFC 8972 §3); 0: none, as a reflector of RFC 8762 expects."""
    authenticated: bool = False


class DelaySender:
    """Sends and listens. Raises EngineError if there is no socket, or nobody answers."""

    def __init__(self, place: Place, settings: DelaySettings, key: bytes | None = None) -> None:
        self._settings, self._key = settings, key
        self._peer = (place.resolve(), settings.port)
        self._socket = StampedSocket("udp", (local_address(place, self._peer[0]), 0), namespace=place.path)
        self._of_ipv6 = ":" in self._peer[0]

    @property
    def ip_bytes(self) -> int:
        """Of each packet."""
        base = AUTHENTICATED_BYTES if self._key else BASE_BYTES
        return base + len(self._tlvs()) + _HEADERS_BYTES + (_IPV6_MORE_BYTES if self._of_ipv6 else 0)

    def measure(self, told: Callable[[int], None] = lambda _: None) -> pa.Table:
        """All packets, one row each, in order. Raises EngineError in a sentence if no answer came at all."""
        arrived: list[ReceivedPacket] = []
        refusals: list[str] = []
        ended = threading.Event()

        def listen() -> None:
            while not ended.is_set():
                packets, messages = self._socket.receive(time.monotonic_ns() + 50_000_000)
                arrived.extend(packets)
                refusals.extend(_refusal(message.icmp_type, message.icmp_code) for message in messages)

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        sent: list[SentPacket] = []
        try:
            begin_s, tlvs, estimate = time.monotonic(), self._tlvs(), error_estimate()
            for number in range(self._settings.packets):
                time.sleep(max(0.0, begin_s + number * self._settings.interval_s - time.monotonic()))
                packet = SenderPacket(number, time.time_ns(), estimate, self._settings.ssid, tlvs)
                sent += self._socket.send([(packet.pack(self._key), self._peer, TTL)], 1_000_000)
                told(number + 1)
            until_s = time.monotonic() + self._settings.wait_s
            while len(arrived) < len(sent) and time.monotonic() < until_s:
                time.sleep(0.01)
        finally:
            ended.set()
            listener.join()
        if not arrived:
            raise EngineError(self._silence(refusals, sent))
        late = {number: kernel_ns for number, kernel_ns, _ in self._socket.late_stamps()}
        return self._rows(sent, late, arrived)

    def _tlvs(self) -> bytes:
        base = AUTHENTICATED_BYTES if self._key else BASE_BYTES
        headers = _HEADERS_BYTES + (_IPV6_MORE_BYTES if self._of_ipv6 else 0)
        return padding(self._settings.ip_bytes - headers - base)

    def _silence(self, refusals: list[str], sent: list[SentPacket]) -> str:
        where = f"{self._settings.host} UDP port {self._settings.port}"
        if refusals:
            return f"{where} refuses: {refusals[0]}; start 'keisoku path reflect' or another STAMP reflector there"
        if errors := [packet.error for packet in sent if packet.error]:
            return f"{where} cannot be reached: {errors[0]}; check the route to it"
        return f"{where} answered none of {len(sent)} packets; start a STAMP reflector there and let UDP pass"

    def _rows(self, sent: list[SentPacket], late: dict[int, int | None], arrived: list[ReceivedPacket]) -> pa.Table:
        count = len(sent)
        names = (
            "t1_ns",
            "t2_ns",
            "t3_ns",
            "t4_ns",
            "ttl_there",
            "ttl_here",
            "far_synchronised",
            "far_error_ns",
            "answers",
        )
        columns = {name: np.zeros(count, np.int64) for name in names}
        for number, packet in enumerate(sent):
            # Without the kernel's stamp the program's stands, which is early: flagged by its column.
            columns["t1_ns"][number] = packet.kernel_ns or late.get(packet.id) or 0
        for came in arrived:
            try:
                answer = ReflectedPacket.parse(came.data, self._key)
            except StampFormatError:
                continue
            number = answer.sender_sequence
            if number >= count or came.source is None or came.source != self._peer:
                continue
            columns["answers"][number] += 1
            if columns["answers"][number] > 1:
                continue
            columns["t2_ns"][number], columns["t3_ns"][number] = answer.received_ns, answer.time_ns
            columns["t4_ns"][number] = came.kernel_ns or came.realtime_ns
            columns["ttl_there"][number], columns["ttl_here"][number] = answer.sender_ttl, came.ttl or 0
            columns["far_synchronised"][number] = answer.error.synchronised
            columns["far_error_ns"][number] = round(answer.error.error_s * 1e9)
        near = error_estimate()
        columns["near_synchronised"] = np.full(count, near.synchronised, np.int64)
        columns["near_error_ns"] = np.full(count, round(near.error_s * 1e9), np.int64)
        return pa.table({"sequence": np.arange(count, dtype=np.int64), **columns})


def _refusal(icmp_type: int, icmp_code: int) -> str:
    if (icmp_type, icmp_code) in ((3, 3), (1, 4)):
        return "nobody listens at that port"
    return f"ICMP type {icmp_type} code {icmp_code}"

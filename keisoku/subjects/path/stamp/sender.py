"""A STAMP session-sender (RFC 8762 §4.2) with the kernel's stamps at this end.

It sends at a steady pace and hands on a row for each packet, part by part; `analysis` computes the figures.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

import pyarrow as pa

from keisoku._core import StampedSocket
from keisoku.errors import EngineError
from keisoku.ground.host.place import Place
from keisoku.subjects.path.stamp.clock_state import error_estimate
from keisoku.subjects.path.stamp.packet import AUTHENTICATED_BYTES, BASE_BYTES, TTL, SenderPacket, padding
from keisoku.subjects.path.stamp.rows import DelayRows
from keisoku.subjects.path.stamp.settings import DelaySettings
from keisoku.subjects.path.train.session import local_address

PART_S = 1.0
"""Time between parts of the rows, the most that a killed run loses besides packets without an answer yet."""
_HEADERS_BYTES = 28
_IPV6_MORE_BYTES = 20


class DelaySender:
    """Sends and listens. Raises EngineError if there is no socket, or no answer."""

    def __init__(self, place: Place, settings: DelaySettings, key: bytes | None = None) -> None:
        self._settings, self._key, self._host = settings, key, place.host
        *others, last = place.addresses()
        for address in others:
            with contextlib.suppress(EngineError):
                self._open(place, address)
                if self._answers():
                    return
        self._open(place, last)

    def _open(self, place: Place, address: str) -> None:
        self._peer, self._of_ipv6 = (address, self._settings.port), ":" in address
        self._socket = StampedSocket("udp", (local_address(place, address), 0), namespace=place.path)

    def _answers(self) -> bool:
        """Whether there is a reflector at this one of several addresses of the host."""
        packet = SenderPacket(0, time.time_ns(), error_estimate(), self._settings.ssid, self._tlvs())
        self._socket.send([(packet.pack(self._key), self._peer, TTL)], 0)
        packets, _ = self._socket.receive(time.monotonic_ns() + round(self._settings.wait_s * 1e9))
        return any(came.source == self._peer for came in packets)

    @property
    def ip_bytes(self) -> int:
        """Of each packet."""
        base = AUTHENTICATED_BYTES if self._key else BASE_BYTES
        return base + len(self._tlvs()) + _HEADERS_BYTES + (_IPV6_MORE_BYTES if self._of_ipv6 else 0)

    def measure(
        self, told: Callable[[int], None] = lambda _: None, keep: Callable[[pa.Table], None] = lambda _: None
    ) -> pa.Table:
        """All packets, one row each, in order. `keep` is given them part by part, as soon as nothing more counts.

        It is called beside the sender, whose pace it does not hold up, and never before a first answer came. Raises
        EngineError in a sentence if no answer came at all, and what `keep` raises.
        """
        rows = DelayRows(
            self._socket, self._peer, self._key, self._settings.packets, round(self._settings.wait_s * 1e9)
        )
        refusals: list[str] = []
        parts: list[pa.Table] = []
        failures: list[BaseException] = []
        ended = threading.Event()

        def hand_on(part: pa.Table) -> None:
            if part.num_rows:
                parts.append(part)
                keep(part)

        def listen() -> None:
            due_s = time.monotonic() + PART_S
            try:
                while not ended.is_set():
                    packets, messages = self._socket.receive(time.monotonic_ns() + 50_000_000)
                    rows.arrived(packets)
                    refusals.extend(_refusal(message.icmp_type, message.icmp_code) for message in messages)
                    if rows.answered and time.monotonic() >= due_s:
                        hand_on(rows.settled(time.monotonic_ns()))
                        due_s = time.monotonic() + PART_S
            except BaseException as failure:  # raised again where the caller is
                failures.append(failure)

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        errors: list[str] = []
        complete = False
        try:
            begin_s, tlvs, estimate = time.monotonic(), self._tlvs(), error_estimate()
            for number in range(self._settings.packets):
                if failures:
                    break
                time.sleep(max(0.0, begin_s + number * self._settings.interval_s - time.monotonic()))
                packet = SenderPacket(number, time.time_ns(), estimate, self._settings.ssid, tlvs)
                (left,) = self._socket.send([(packet.pack(self._key), self._peer, TTL)], 1_000_000)
                rows.sent(left)
                errors += [left.error] if left.error else []
                told(number + 1)
            until_s = time.monotonic() + self._settings.wait_s
            while not failures and rows.answered < self._settings.packets and time.monotonic() < until_s:
                time.sleep(0.01)
            complete = True
        finally:
            ended.set()
            listener.join()
            if rows.answered and not failures:
                # What still waits for its answer when the measurement is stopped is not lost.
                hand_on(rows.rest() if complete else rows.settled(time.monotonic_ns()))
        if failures:
            raise failures[0]
        if not rows.answered:
            raise EngineError(self._silence(refusals, errors))
        return pa.concat_tables(parts)

    def _tlvs(self) -> bytes:
        base = AUTHENTICATED_BYTES if self._key else BASE_BYTES
        headers = _HEADERS_BYTES + (_IPV6_MORE_BYTES if self._of_ipv6 else 0)
        return padding(self._settings.size_bytes - headers - base)

    def _silence(self, refusals: list[str], errors: list[str]) -> str:
        where = f"{self._host} UDP port {self._settings.port}"
        if refusals:
            return f"{where} refuses: {refusals[0]}; start 'keisoku path reflect' or another STAMP reflector there"
        if errors:
            return f"{where} cannot be reached: {errors[0]}; check the route to it"
        sent = self._settings.packets
        return f"{where} answered none of {sent} packets; start a STAMP reflector there and let UDP pass"


def _refusal(icmp_type: int, icmp_code: int) -> str:
    if (icmp_type, icmp_code) in ((3, 3), (1, 4)):
        return "no program listens on that port"
    return f"ICMP type {icmp_type} code {icmp_code}"

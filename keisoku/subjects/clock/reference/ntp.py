"""An NTP server as a reference: one exchange after another, stamped by the kernel on both ways where it can.

A stamp by the kernel is later than the call that sends and earlier than the one that receives, so the bracket is
narrower and as hard. It is a client only (RFC 5905, mode 3): it never sets a clock and asks no faster than it was told.
"""

from __future__ import annotations

import contextlib
import math
import secrets
import socket
import time
from collections import Counter

from keisoku import _core
from keisoku._core import StampedSocket
from keisoku.errors import EngineError
from keisoku.ground.host.address import address_text
from keisoku.language import phrase
from keisoku.subjects.clock.reading import Reading, Translation
from keisoku.subjects.clock.reference import ntp_packet as ntp
from keisoku.subjects.clock.reference.kinds import Chosen, Reference, untrusted
from keisoku.subjects.clock.reference.local import bracket
from keisoku.subjects.clock.reference.ntp_standing import lack

RUNS_FAST_MOST = 1e-3
"""An oscillator's 100 ppm on both sides, and twice what a kernel lets NTP steer."""
PATIENCE_S = 1.0
LOST_MOST = 5
"""Number of unanswered requests in a row after which the server counts as not answering."""


class NtpClient:
    """Exchanges with one server. Raises EngineError if its name is not known or the server does not answer."""

    def __init__(self, target: str) -> None:
        """`target`: HOST, HOST:PORT or [IPV6]:PORT."""
        self.target = target
        host, port = _address(target)
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
        except OSError as error:
            raise EngineError(f"ntp:{target}: no such host: {error.strerror}") from error
        self.last: ntp.NtpAnswer | None = None
        self._stamped: Counter[bool] = Counter()
        *others, last = (address_text(one[4]) for one in found)
        for address in others:
            with contextlib.suppress(EngineError):
                self._open(address, port)
                if self._exchange() is not None:
                    return
        self._open(last, port)

    def _open(self, address: str, port: int) -> None:
        anywhere = "::" if ":" in address else "0.0.0.0"
        try:
            self._socket = StampedSocket("udp", (anywhere, 0), connect=(address, port))
        except EngineError as error:
            raise EngineError(f"ntp:{self.target}: cannot be reached: {error}") from error
        self.ends = address, str(self._socket.address[0])
        """Addresses of the server, and of this host towards it."""

    @property
    def stamped_by_kernel(self) -> bool:
        """Whether the kernel stamped both messages of most exchanges: it takes a while to begin with it."""
        return self._stamped[True] >= self._stamped[False]

    def reading(self) -> Reading:
        """One exchange that was answered. Raises EngineError if too many were not."""
        for _ in range(LOST_MOST):
            found = self._exchange()
            if found is not None:
                return found
        raise EngineError(f"ntp:{self.target}: no answer to {LOST_MOST} requests within {PATIENCE_S:g} s each")

    def _exchange(self) -> Reading | None:
        cookie = secrets.randbits(64) | 1
        self._drain()
        first = bracket()
        before = _core.clock_ticks()
        # The stamp is waited for with the answer, so that a host without any loses no time.
        (sent,) = self._socket.send([(ntp.request(cookie), None, None)], 0)
        if sent.error:
            raise EngineError(f"ntp:{self.target}: cannot be reached: {sent.error}")
        answered = self._receive(cookie)
        if answered is None:
            return None
        answer, after, received_ns = answered
        last = bracket()
        # It is there before the answer is, or never comes.
        sent_ns = sent.kernel_ns or next((stamp for id, stamp, _ in self._socket.late_stamps() if id == sent.id), None)
        try:
            translation = Translation(first, last)
        except ValueError:
            return None
        self._stamped[sent_ns is not None and received_ns is not None] += 1
        self.last = answer
        return exchange(before, after, sent_ns, received_ns, answer, translation)

    def _receive(self, cookie: int) -> tuple[ntp.NtpAnswer, int, int | None] | None:
        """The answer, ticks when it was here, and the kernel's stamp of it."""
        until_ns = time.monotonic_ns() + round(PATIENCE_S * 1e9)
        while time.monotonic_ns() < until_ns:
            packets, refusals = self._socket.receive(until_ns)
            after = _core.clock_ticks()
            for packet in packets:
                found = ntp.answer(packet.data, cookie, time.time_ns())
                if found is not None:
                    return found, after, packet.kernel_ns
            if refusals:
                code = f"ICMP type {refusals[0].icmp_type} code {refusals[0].icmp_code}"
                raise EngineError(f"ntp:{self.target}: cannot be reached: it, or a router, refuses with {code}")
        return None

    def _drain(self) -> None:
        """Discards answers and timestamps that came too late."""
        while any(self._socket.receive(0)):
            pass
        self._socket.late_stamps()


def exchange(
    before: int, after: int, sent_ns: int | None, received_ns: int | None, answer: ntp.NtpAnswer, clock: Translation
) -> Reading:
    """The reading that an exchange makes: the server's middle of T2 and T3 within what is left of T1 to T4.

    Ticks around the calls bound it in any case; stamps of the kernel, on CLOCK_REALTIME, narrow it. Raises EngineError
    if the server held the request for longer than it was away (RFC 5905 §8: no delay is below zero).
    """
    if sent_ns is not None:
        before = max(before, clock.ticks(sent_ns)[0])
    if received_ns is not None:
        after = min(after, clock.ticks(received_ns)[1])
    # The server held it from T2 to T3, whose middle is `reference_ns`: half of that is no part of the way. By its own
    # clock, which may run as fast as clocks may, and shows steps of its precision.
    step = answer.step_ns * clock.ticks_per_ns
    held = (answer.transmitted_ns - answer.received_ns) * clock.ticks_per_ns * (1 - RUNS_FAST_MOST) - step
    if held > max(after - before, 0):
        held_s = (answer.transmitted_ns - answer.received_ns) / 1e9
        raise EngineError(
            f"the NTP server's times contradict each other: it held a request for {held_s:.3g} s, which was away for"
            f" {(after - before) / clock.ticks_per_ns / 1e9:.3g} s; use another"
        )
    inside = int(max(held, 0.0) / 2) - math.ceil(step / 2)
    return Reading(before + inside, (answer.received_ns + answer.transmitted_ns) // 2, after - inside)


def ntp_server(chosen: Chosen, pause_s: float) -> Reference:
    """Asks once, to know that somebody answers. Its readings raise EngineError once it has lost its source."""
    client = NtpClient(chosen.target)
    client.reading()
    answer = client.last
    assert answer is not None
    lacking = lack(answer, *client.ends)

    def read() -> list[Reading]:
        reading = client.reading()
        if lacking is None and client.last is not None and (lost := lack(client.last, *client.ends)):
            raise EngineError(f"{chosen.name} lost its source of time: {lost}; use another")
        return [reading]

    stamps = phrase("kernel's stamps") if client.stamped_by_kernel else phrase("stamps around system calls")
    return Reference(
        name=chosen.name,
        described=phrase(
            "NTP server {target}, stratum {stratum}, by {stamps}",
            target=chosen.target,
            stratum=answer.stratum,
            stamps=stamps,
        ),
        read=read,
        pause_s=pause_s,
        is_real=lacking is None,
        facts={
            "stratum": answer.stratum,
            "root_delay_ns": answer.root_delay_ns,
            "root_dispersion_ns": answer.root_dispersion_ns,
            "leap": answer.leap,
            "reference_id": answer.reference_id.hex(),
            "kernel_stamps": client.stamped_by_kernel,
        },
        flags=() if lacking is None else (untrusted(chosen.name, lacking),),
    )


def _address(target: str) -> tuple[str, int]:
    """HOST, HOST:PORT or [IPV6]:PORT; an address with several colons and no brackets is IPv6 without a port."""
    if target.startswith("["):
        host, _, port = target[1:].partition("]")
        port = port.removeprefix(":")
    elif target.count(":") == 1:
        host, _, port = target.partition(":")
    else:
        host, port = target, ""
    if port and not (port.isdigit() and int(port) < 65536):
        raise EngineError(f"ntp:{target}: {port!r} is no port; write ntp:HOST:PORT")
    return host, int(port) if port else ntp.PORT

"""An NTP server as a reference: one exchange after another, stamped by the kernel on both ways where it can.

A stamp by the kernel is later than the call that sends and earlier than the one that receives, so the bracket is
narrower and as hard. It is a client only (RFC 5905, mode 3): it never sets a clock and asks no faster than it was told.
"""

from __future__ import annotations

import secrets
import socket
import struct
import time

from keisoku import _core
from keisoku.clock import ntp
from keisoku.clock.reading import Reading, Translation
from keisoku.clock.reference import Chosen, Reference
from keisoku.clock.reference_local import bracket
from keisoku.errors import EngineError

_SO_TIMESTAMPING = 37
_FLAGS = 1 << 1 | 1 << 3 | 1 << 4 | 1 << 7 | 1 << 11
"""TX_SOFTWARE, RX_SOFTWARE, SOFTWARE, OPT_ID, OPT_TSONLY of linux/net_tstamp.h."""
_STAMPS = struct.Struct("@6q")
"""`struct scm_timestamping`: software, legacy, hardware."""
RUNS_FAST_MOST = 1e-3
"""An oscillator's 100 ppm on both sides, and twice what a kernel lets NTP steer."""
PATIENCE_S = 1.0
LOST_MOST = 5
"""Requests without an answer, one after another, until it is said that nobody answers."""


class NtpClient:
    """Exchanges with one server. Raises EngineError if its name is not known or nobody answers."""

    def __init__(self, target: str) -> None:
        """`target`: HOST, HOST:PORT or [IPV6]:PORT."""
        self.target = target
        host, port = _address(target)
        try:
            family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        except OSError as error:
            raise EngineError(f"ntp:{target}: no such host: {error.strerror}") from error
        self._socket = socket.socket(family, kind, protocol)
        self.last: ntp.Answer | None = None
        self.stamped_by_kernel = True
        try:
            self._socket.connect(address)
            self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPING, _FLAGS)
        except OSError as error:
            self._socket.close()
            raise EngineError(f"ntp:{target}: cannot be reached: {error.strerror}") from error

    def close(self) -> None:
        """Lets the socket go."""
        self._socket.close()

    def reading(self) -> Reading:
        """One exchange that was answered."""
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
        try:
            self._socket.send(ntp.request(cookie))
            answered = self._receive(cookie)
        except OSError as error:
            raise EngineError(f"ntp:{self.target}: cannot be reached: {error.strerror}") from error
        if answered is None:
            return None
        answer, after, received_ns = answered
        last = bracket()
        sent_ns = self._sent_ns()
        try:
            translation = Translation(first, last)
        except ValueError:
            return None
        self.stamped_by_kernel &= sent_ns is not None and received_ns is not None
        self.last = answer
        return exchange(before, after, sent_ns, received_ns, answer, translation)

    def _receive(self, cookie: int) -> tuple[ntp.Answer, int, int | None] | None:
        """The answer, ticks when it was here, and the kernel's stamp of it."""
        until = time.monotonic() + PATIENCE_S
        while (left := until - time.monotonic()) > 0:
            self._socket.settimeout(left)
            try:
                packet, ancillary, _, _ = self._socket.recvmsg(1024, 512)
            except TimeoutError:
                return None
            after = _core.clock_ticks()
            found = ntp.answer(packet, cookie, time.time_ns())
            if found is not None:
                return found, after, _stamp(ancillary)
        return None

    def _sent_ns(self) -> int | None:
        """The kernel's stamp of the request; it is there before the answer is, or never comes."""
        self._socket.setblocking(False)
        try:
            _, ancillary, _, _ = self._socket.recvmsg(1024, 512, socket.MSG_ERRQUEUE)
        except OSError:
            return None
        return _stamp(ancillary)

    def _drain(self) -> None:
        """Forgets answers and stamps that came too late."""
        self._socket.setblocking(False)
        for flags in (0, socket.MSG_ERRQUEUE):
            try:
                while True:
                    self._socket.recvmsg(1024, 512, flags)
            except OSError:
                continue


def exchange(
    before: int, after: int, sent_ns: int | None, received_ns: int | None, answer: ntp.Answer, clock: Translation
) -> Reading:
    """The reading that an exchange makes: the server's middle of T2 and T3 within what is left of T1 to T4.

    Ticks around the calls bound it in any case; stamps of the kernel, on CLOCK_REALTIME, narrow it.
    """
    if sent_ns is not None:
        before = max(before, clock.ticks(sent_ns)[0])
    if received_ns is not None:
        after = min(after, clock.ticks(received_ns)[1])
    # The server held it from T2 to T3, whose middle is `reference_ns`: half of that is no part of the way. By its own
    # clock, which may run as fast as clocks may.
    held = (answer.transmitted_ns - answer.received_ns) * clock.ticks_per_ns * (1 - RUNS_FAST_MOST)
    inside = int(min(max(held, 0.0), max(after - before, 0)) / 2)
    return Reading(before + inside, (answer.received_ns + answer.transmitted_ns) // 2, after - inside)


def ntp_server(chosen: Chosen, pause_s: float) -> Reference:
    """Asks once, to know that somebody answers."""
    client = NtpClient(chosen.target)
    try:
        client.reading()
    except EngineError:
        client.close()
        raise
    answer = client.last
    assert answer is not None
    stamps = "kernel's stamps" if client.stamped_by_kernel else "stamps around system calls"
    return Reference(
        name=chosen.name,
        described=f"NTP server {chosen.target}, stratum {answer.stratum}, by {stamps}",
        read=lambda: [client.reading()],
        pause_s=pause_s,
        is_real=True,
        facts={
            "stratum": answer.stratum,
            "root_delay_ns": answer.root_delay_ns,
            "root_dispersion_ns": answer.root_dispersion_ns,
            "leap": answer.leap,
            "kernel_stamps": client.stamped_by_kernel,
        },
        close=client.close,
    )


def _stamp(ancillary: list[tuple[int, int, bytes]]) -> int | None:
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPING and len(data) >= _STAMPS.size:
            seconds, ns = _STAMPS.unpack(data[: _STAMPS.size])[:2]
            if seconds:
                return int(seconds * 1_000_000_000 + ns)
    return None


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

"""An NTP server on the loopback whose clock's rate and offset are known: the time of day, made to run off.

For tests only. It answers in its own thread until it is closed; it can be told to say nothing, or nonsense.
"""

from __future__ import annotations

import socket
import threading
import time
from typing import Self

from keisoku.subjects.clock.reference.ntp_packet import BYTES, PACKET

_NS = 1_000_000_000


def ntp_stamp(unix: int) -> int:
    """A 64-bit NTP timestamp of ns since 1970, whatever the era."""
    seconds, ns = divmod(unix, _NS)
    return (seconds + 2_208_988_800) % (1 << 32) << 32 | min(((ns << 32) + _NS // 2) // _NS, 0xFFFFFFFF)


class NtpResponder:
    """Answers on 127.0.0.2, as 127.0.0.1 would be this host; `port` is what it got."""

    def __init__(
        self,
        rate: float = 0.0,
        ahead_ns: int = 0,
        stratum: int = 1,
        answers: int | None = None,
        identity: bytes = b"GPS\0",
        answered_early_ns: int = 0,
        held_ns: int = 0,
    ) -> None:
        """`rate`: relative, from the start on. `answers`: after so many it falls silent.

        `answered_early_ns`: by how much its T3 is before the truth. `held_ns`: by how much its T2 is.
        """
        self.held_ns = held_ns
        self.identity, self.answered_early_ns = identity, answered_early_ns
        self.rate, self.ahead_ns, self.stratum, self.answers = rate, ahead_ns, stratum, answers
        self._begun_ns = time.time_ns()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.2", 0))
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def target(self) -> str:
        """As `--reference ntp:` takes it."""
        return f"127.0.0.2:{self.port}"

    def now_ns(self) -> int:
        """The server's clock."""
        now = time.time_ns()
        return now + self.ahead_ns + round((now - self._begun_ns) * self.rate)

    def close(self) -> None:
        """Ends the thread by a packet that is no request."""
        self.answers = 0
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as waker:
            waker.sendto(b"", ("127.0.0.2", self.port))
        self._thread.join()
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _serve(self) -> None:
        while True:
            packet, address = self._socket.recvfrom(1024)
            if not packet:
                return
            received = self.now_ns()
            if self.answers is not None:
                if self.answers == 0:
                    continue
                self.answers -= 1
            cookie = PACKET.unpack(packet[:BYTES])[-1]
            answered = ntp_stamp(self.now_ns() - self.answered_early_ns)
            identity = int.from_bytes(self.identity)
            fields = (self.stratum, 0, -20, 0, 0, identity, 0, cookie, ntp_stamp(received - self.held_ns), answered)
            self._socket.sendto(PACKET.pack(0x24, *fields), address)

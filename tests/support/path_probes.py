"""Sockets on a path of the lab: probes by TTL, and one-way delays by the kernels' own stamps."""

from __future__ import annotations

import select
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from keisoku.ground.lab.path.lab import PathLab

PATIENCE_S = 20.0
"""Only ever waited for by a test that fails."""
PORT = 5000
UDP_HEADERS_BYTES = 28
TIME_EXCEEDED, UNREACHABLE = 11, 3
SO_TIMESTAMPING = 37
# TX_SOFTWARE, RX_SOFTWARE, SOFTWARE, OPT_ID, OPT_TSONLY.
STAMPS = 1 << 1 | 1 << 3 | 1 << 4 | 1 << 7 | 1 << 11

Answer = tuple[str, int, int]
"""Who answered, ICMP type and code."""


class Prober:
    """Sends UDP probes with a time to live from the tester and takes the ICMP answers."""

    def __init__(self, lab: PathLab) -> None:
        self._target = lab.target_address
        self._udp = lab.run_in_tester(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self._icmp = lab.run_in_tester(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
        self._icmp.settimeout(PATIENCE_S)

    def send(self, ttl: int, ip_bytes: int = 100) -> None:
        """One probe."""
        self._udp.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, ttl)
        self._udp.sendto(bytes(ip_bytes - UDP_HEADERS_BYTES), (self._target, PORT))

    def answer(self) -> Answer:
        """The next answer, which must come."""
        packet, source = self._icmp.recvfrom(2048)
        header = 4 * (packet[0] & 15)
        return source[0], packet[header], packet[header + 1]

    def close(self) -> None:
        """Both sockets."""
        self._udp.close()
        self._icmp.close()


@contextmanager
def prober(lab: PathLab) -> Iterator[Prober]:
    """A prober for as long as the block lasts."""
    made = Prober(lab)
    try:
        yield made
    finally:
        made.close()


Run = Callable[[Callable[[], socket.socket]], socket.socket]


@contextmanager
def stamped_pair(sender_run: Run, receiver_run: Run, address: str) -> Iterator[tuple[socket.socket, socket.socket]]:
    """A sender in one namespace, connected to a receiver at `address` in another, both stamped by their kernels."""

    def stamped() -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, STAMPS)
        return made

    sender, receiver = sender_run(stamped), receiver_run(stamped)
    with sender, receiver:
        receiver.bind((address, PORT))
        sender.connect((address, PORT))
        yield sender, receiver


def one_way_ns(sender: socket.socket, receiver: socket.socket, ip_bytes: int) -> int | None:
    """The delay of a lone packet between the stamps of both kernels; None if one is missing.

    The kernel begins to stamp what it receives some time after the first socket has asked for it.
    """
    sender.send(bytes(ip_bytes - UDP_HEADERS_BYTES))
    assert select.select([receiver], [], [], PATIENCE_S)[0]
    received = _stamp(receiver.recvmsg(ip_bytes, 512)[1])
    sent = _stamp(sender.recvmsg(0, 512, socket.MSG_ERRQUEUE)[1])
    return None if received is None or sent is None else received - sent


def _stamp(messages: list[tuple[int, int, bytes]]) -> int | None:
    for level, kind, data in messages:
        if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPING):
            seconds, ns = struct.unpack("qq", data[:16])
            return int(seconds * 1_000_000_000 + ns)
    return None

"""The transmit time of an answer is one at which it had not left yet."""

from __future__ import annotations

import socket
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from keisoku.ground.host.place import Place
from keisoku.subjects.path.stamp import reflector
from keisoku.subjects.path.stamp.packet import ReflectedPacket, SenderPacket


class Port:
    """Hands over one packet after the other, and says that the kernel took a while with each answer but the last."""

    address = ("127.0.0.1", 862)

    def __init__(self, *_: object, **__: object) -> None:
        self.answers: list[tuple[ReflectedPacket, int]] = []
        self.left = 40

    def receive(self, deadline_ns: int) -> tuple[list[Any], list[Any]]:
        self.left -= 1
        data = SenderPacket(self.left, time.time_ns()).pack()
        return [SimpleNamespace(data=data, source=("127.0.0.1", 5), ttl=255, kernel_ns=time.time_ns())], []

    def send(self, packets: list[tuple[bytes, Any, int]], wait_ns: int) -> list[Any]:
        now_ns = time.time_ns()
        self.answers.append((ReflectedPacket.parse(packets[0][0]), now_ns))
        return [SimpleNamespace(error=None, kernel_ns=now_ns + 20_000)]


def test_no_answer_leaves_before_its_transmit_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """After 16 answers the least time that the kernel had needed was added: a step, which looked like 58 ppm between
    equal clocks, and delays below zero where an answer needed less."""
    monkeypatch.setattr(reflector, "StampedSocket", Port)
    made = reflector.Reflector(Place("127.0.0.1"), 862)
    port: Any = made._socket
    sent = port.send

    def last(packets: Any, wait_ns: int) -> Any:
        if port.left == 0:
            made.stop()
        return sent(packets, wait_ns)

    port.send = last
    made.serve()
    assert len(port.answers) == 40
    assert all(answer.time_ns <= left_ns for answer, left_ns in port.answers)


def test_a_reflector_at_any_address_answers_from_the_one_that_was_asked() -> None:
    """It answered from another address of its host, which no sender takes for an answer."""
    made = reflector.Reflector(Place("0.0.0.0"), 0)
    serving = threading.Thread(target=made.serve)
    serving.start()
    try:
        for asked in ("127.0.0.5", "127.0.0.9", "127.0.0.1"):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                sender.settimeout(10)
                sender.bind(("127.0.0.1", 0))
                sender.sendto(SenderPacket(7, time.time_ns()).pack(), (asked, made.port))
                _, source = sender.recvfrom(2000)
            assert source == (asked, made.port)
    finally:
        made.stop()
        serving.join()

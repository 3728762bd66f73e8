"""The transmit time of an answer is one at which it had not left yet."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import keisoku as ks
from keisoku.errors import EngineError
from keisoku.ground.host.place import Place
from keisoku.subjects.path.stamp import reflector
from keisoku.subjects.path.stamp.packet import ErrorEstimate, ReflectedPacket, SenderPacket, reflect


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


def test_a_run_of_which_every_answer_is_left_out_is_no_measurement(tmp_path: Path) -> None:
    """It ended with 0, and said that 60 packets (exact) were answered."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as far:
        far.bind(("127.0.0.1", 0))
        far.settimeout(10)

        def answer() -> None:
            for _ in range(5):
                data, source = far.recvfrom(2000)
                came_ns = time.time_ns()
                early = reflect(data, came_ns, came_ns - 1_000_000_000, 64, ErrorEstimate())
                far.sendto(early, source)

        answering = threading.Thread(target=answer)
        answering.start()
        with pytest.raises(EngineError, match=r"^nothing was measured: 5 answers are left out: by the reflector's"):
            ks.measure(
                "path delay",
                host="127.0.0.1",
                port=far.getsockname()[1],
                packets=5,
                interval_s=0.01,
                out=tmp_path / "run",
            )
        answering.join()
    assert list((tmp_path / "run" / "packets").glob("*.parquet")), "what was measured is kept"

"""`keisoku path serve`: the other end of a two-ended measurement; one client at a time, others must wait.

It sends probes only to the host that asks for them over TCP, to the port that this host greeted from, and no more
than it was asked to, within the limits of `probe`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

from keisoku.errors import EngineError
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.control import GREETING, Control, ControlError
from keisoku.ground.host.two_ended.one_client_server import OneClientServer
from keisoku.subjects.path.stamp_noise import stamp_noise
from keisoku.subjects.path.train.probe import MOST_PACKETS, TOKEN_BYTES
from keisoku.subjects.path.train.probe_end import MOST_BYTES, ProbeEnd

_IDLE_S = 60.0
_MOST_WAIT_S = 30.0


class Server(OneClientServer):
    """Sends and receives probes for a client."""

    greeting = GREETING

    def __init__(
        self, place: Place, port: int, told: Callable[[str], None] = lambda _: None, udp_port: int = 0
    ) -> None:
        """Probes are sent and received at `udp_port`; 0: at any free one, another for each client."""
        super().__init__(place, port, told)
        self._udp_port = udp_port

    def _answer(self, control: Control, address: str, host: str) -> None:
        token = secrets.token_bytes(TOKEN_BYTES)
        try:
            end = ProbeEnd(address, token, self._place.path, self._udp_port)
        except EngineError as error:
            control.send({"error": f"{error}; give its 'keisoku path serve' another --udp-port"})
            return
        control.send({"token": token.hex(), "udp_port": end.port, "stamps": end.stamps})
        peer: tuple[str, int] | None = None
        while not self._stopped.is_set():
            try:
                message, _ = control.receive(_IDLE_S)
            except ControlError:
                return  # it hung up, or is idle for too long
            try:
                match message.get("do"):
                    case "hello":
                        port = end.await_hello(host, _bounded(message, "wait_s", _MOST_WAIT_S))
                        peer = (host, port) if port else None
                        control.send({"heard": port is not None})
                    case "noise":
                        control.send({"noise_ns": stamp_noise(address, self._place.path)})
                    case "watch":
                        control.send({"ready": True})
                        self._collect(control, end, message)
                    case "collect":
                        self._collect(control, end, message)
                    case "send" if peer:
                        rows = end.send(peer, _trains(message), _bounded(message, "gap_s", 10.0))
                        control.send({"rows": len(rows)}, rows.tobytes())
                    case _:
                        control.send({"error": "does not understand; use the same keisoku at both ends"})
                        return
            except (KeyError, TypeError, ValueError) as error:
                control.send({"error": f"does not understand ({error}); use the same keisoku at both ends"})
                return

    @staticmethod
    def _collect(control: Control, end: ProbeEnd, message: dict[str, Any]) -> None:
        packets = int(_bounded(message, "packets", 1 << 20))
        rows = end.collect(packets, _bounded(message, "wait_s", _MOST_WAIT_S))
        facts = {"rows": len(rows), "dropped": end.dropped, "clock_steps": end.clock_steps()}
        control.send(facts, rows.tobytes())


def _bounded(message: dict[str, Any], name: str, most: float) -> float:
    return min(max(float(message[name]), 0.0), most)


def _trains(message: dict[str, Any]) -> list[tuple[int, int, int]]:
    trains = [(int(number), int(ip_bytes), int(count)) for number, ip_bytes, count in message["trains"]]
    if any(not 1 <= count <= MOST_PACKETS for _, _, count in trains):
        raise ValueError("a train is too long")
    if sum(ip_bytes * count for _, ip_bytes, count in trains) > 2 * MOST_BYTES:
        raise ValueError("too many bytes")
    return trains

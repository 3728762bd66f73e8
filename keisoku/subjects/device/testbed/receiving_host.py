"""`keisoku port serve`: lends a port of this host to a tester at another host, which sends to it through a device.

It receives and accounts. From the port it sends nothing but learning frames, and these only with the port's own source
address. One tester at a time; others must wait.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

from keisoku._core import Wire
from keisoku.errors import EngineError
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.control import Control, ControlError
from keisoku.ground.host.two_ended.one_client_server import OneClientServer
from keisoku.subjects.clock.host_relation import plain, related
from keisoku.subjects.clock.reference.kinds import check_master
from keisoku.subjects.device.engine.port_counters import Counters
from keisoku.subjects.device.engine.two_host_wire import GREETING, RECEIVES, unpacked
from keisoku.subjects.device.engine.watched import Parts
from keisoku.subjects.device.engine.wired_port import WiredPort
from keisoku.subjects.device.testbed.host_port import PortAddress, check, has_carrier, interface_ip
from keisoku.subjects.device.testbed.host_ports import claim, wired_ports

_IDLE_S = 600.0
"""A tester may rest between trials, or an operator reset a device by hand."""
_MOST_LEARNING = 100
_MAC_BYTES = 6
_MOST_ROWS_BYTES = 1 << 25
"""Of rows in one answer: whole ones, and less than a message may have."""
_NOT_OPEN = "the port is not open"


class ReceivingServer(OneClientServer):
    """Serves one port. Raises PlanError if it cannot be used or is in use."""

    greeting = GREETING

    def __init__(
        self,
        port: str,
        place: Place,
        tcp_port: int,
        force: bool = False,
        clock: str | None = None,
        told: Callable[[str], None] = lambda _: None,
    ) -> None:
        if clock is not None:
            check_master("--clock", clock)
        self._clock = clock
        address = PortAddress.parse(port)
        found = check(address, (), force)
        self._claim = claim(address.namespace_path, address.interface)
        self._lent = next(iter(wired_ports(address, found, receives=True).values()))
        super().__init__(place, tcp_port, told)

    def serve(self) -> None:
        """Until `stop`; then others may use the port."""
        with closing(self._claim):
            super().serve()

    def _answer(self, control: Control, address: str, host: str) -> None:
        with closing(_Receiving(self._lent, self._clock)) as receiving:
            while not self._stopped.is_set():
                try:
                    message, block = control.receive(_IDLE_S)
                except ControlError:
                    return  # it hung up, or is idle for too long
                try:
                    answer, content = receiving.answer(message, block)
                except EngineError as error:
                    answer, content = {"error": str(error)}, b""
                except (KeyError, TypeError, ValueError) as error:
                    answer, content = (
                        {"error": f"does not understand ({error}); use the same keisoku at both ends"},
                        b"",
                    )
                control.send(answer, content)


class _Receiving:
    """The port as one tester has it."""

    def __init__(self, port: WiredPort, clock: str | None) -> None:
        self._port, self._clock = port, clock
        self._wire: Wire | None = None
        self._counters: Counters | None = None
        self._tables: list[Parts] = []
        self._expected: tuple[list[Parts], list[tuple[int, int]]] | None = None
        self._rows = b""
        """Of single frames: taken, and not yet sent."""

    def answer(self, message: dict[str, Any], block: bytes) -> tuple[dict[str, Any], bytes]:
        """Of one request. Raises EngineError if the port fails, ValueError for a request that is none."""
        match message.get("do"):
            case "hello":
                return self._facts(), b""
            case "open":
                self.close()
                self._port = replace(self._port, views=bool(message["views"]), lots=int(message["lots"]))
                place = self._port.place()
                self._counters = self._port.open_counters()
                self._wire = Wire(json.dumps([place, place]), [], [RECEIVES])
            case "close":
                self.close()
            case "clock":
                return {"monotonic_ns": time.monotonic_ns()}, b""
            case "relate":
                if self._clock is None:
                    raise EngineError(
                        "its clock is related to nothing; start 'keisoku port serve' with --clock ptp:HOST"
                    )
                return {"relation": plain(related(self._clock))}, b""
            case "carrier":
                return {"carrier": has_carrier(self._port.interface, self._port.namespace)}, b""
            case "speed":
                self._port.check_speed()
            case "ready":
                self._opened.ready(bool(message["carrier"]))
            case "taken_frames":
                return {"taken_frames": self._opened.taken_frames()}, b""
            case "counters":
                if self._counters is None:
                    raise ValueError(_NOT_OPEN)
                return {"counters": self._counters.read(message["taken"]).model_dump(mode="json")}, b""
            case "learn":
                self._learn(block, int(message["count"]))
            case "expect":
                tables, rest = unpacked(message["tables"], block)
                expected, _ = unpacked(message["expected"], rest)
                free = message["free"]
                pair = None if free is None else (expected, [(int(at), int(bits)) for at, bits in free])
                self._tables, self._expected = tables, pair
            case "start":
                self._rows = b""
                log, changed_only = bool(message["log"]), bool(message["changed_only"])
                self._opened.start(block.decode(), self._tables, log, changed_only, self._expected)
            case "progress":
                return {"forwarded": self._opened.progress()[1]}, b""
            case "abandon":
                self._abandon()
            case "finish":
                self._opened.sent([int(count) for count in message["sent"]])
                return {}, self._opened.finish().encode()
            case "take frames":
                rows, lost = self._opened.take_frames()
                self._rows += rows
                part, self._rows = self._rows[:_MOST_ROWS_BYTES], self._rows[_MOST_ROWS_BYTES:]
                return {"lost": lost, "more": bool(self._rows)}, part
            case other:
                raise ValueError(f"there is no {other!r}")
        return {}, b""

    def close(self) -> None:
        """Whatever runs ends."""
        if self._wire is not None:
            self._wire.close()
            self._wire = None
        if self._counters is not None:
            self._counters.close()
            self._counters = None

    @property
    def _opened(self) -> Wire:
        if self._wire is None:
            raise ValueError(_NOT_OPEN)
        return self._wire

    def _facts(self) -> dict[str, Any]:
        port = self._port
        stamps = port.stamps
        return {
            "engine": port.engine,
            "interface": port.interface,
            "mac": port.mac,
            "mtu_bytes": port.mtu_bytes,
            "speed_mbps": port.speed_mbps,
            "removes_tags": port.removes_tags,
            "stamp": port.receive_stamp,
            "hardware": stamps is not None and stamps.receive == "hardware",
            "ips": {str(version): interface_ip(port.interface, port.namespace, version) for version in (4, 6)},
        }

    def _learn(self, template: bytes, count: int) -> None:
        own = bytes.fromhex(self._port.mac.replace(":", ""))
        if template[_MAC_BYTES : 2 * _MAC_BYTES] != own or not 0 < count <= _MOST_LEARNING:
            raise ValueError("learning frames have the port's own source address")
        self._opened.learn(RECEIVES, template, count)

    def _abandon(self) -> None:
        try:
            self._opened.stop()
            self._opened.finish()
        except EngineError:
            return  # it is over, which is what was asked for

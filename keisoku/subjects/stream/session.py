"""The tester's end of streams: asks the server for a trial, connects its streams, and joins what both ends saw.

It carries out trials and computes nothing.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Callable, Mapping
from dataclasses import asdict
from types import TracebackType
from typing import Any, Self

from keisoku.errors import EngineError
from keisoku.ground.host.address import address_text, socket_address
from keisoku.ground.host.link_rate import link_rates
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.control import Control, ControlError
from keisoku.subjects.stream.far_end import PORT
from keisoku.subjects.stream.flow.end import PATIENCE_S, flow_end, offered
from keisoku.subjects.stream.flow.report import Row, join
from keisoku.subjects.stream.flow.socket import close_all, facts, new_socket
from keisoku.subjects.stream.trial import StreamTrial

GREETING = b"keisoku-stream 1\n"
SERVER = "keisoku stream serve"
OPENING = struct.Struct("!QI")
"""First bytes of a TCP stream: its trial's token and its number."""
HELLO = struct.Struct("!8sQI")
"""A datagram that tells the server where a UDP stream comes from."""
HELLO_MARK = b"keisoku\n"
_CONNECT_S = 5.0
_HELLOS, _HELLO_S = 50, 0.1


class StreamSession:
    """Connected from the start. Raises EngineError, in a sentence that says what to do, for anything that fails."""

    def __init__(self, place: Place, port: int = PORT) -> None:
        self.place = place
        connection = place.connect(port, _CONNECT_S, SERVER)
        self.control = Control(connection, f"{place.host} port {port}", GREETING)
        try:
            self.control.greet(_CONNECT_S)
            welcome, _ = self.control.receive(_CONNECT_S)
            self.server: dict[str, Any] = dict(welcome["host"])
            """The server's description of its host."""
            self.local, self.remote = (
                address_text(end) for end in (connection.getsockname(), connection.getpeername())
            )
        except (KeyError, ValueError, TypeError) as error:
            self.close()
            raise ControlError(f"{self.control.peer} is no keisoku stream server of this version: {error}") from error
        except BaseException:
            self.close()
            raise
        self._sockets: list[socket.socket] = []
        self.facts: dict[str, object] = {}
        """The values that both kernels set for the last trial's options."""
        self.links: dict[str, list[dict[str, Any]]] = {}
        """What the interfaces of both ends can carry, as far as it is known (`LinkRate`)."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection."""
        self.control.close()

    def abandon(self) -> None:
        """Breaks off a trial that another thread carries out, which then raises; closes nothing."""
        self.control.abandon()
        for one in list(self._sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def measure(self, trial: StreamTrial, wait: Callable[[], None] = lambda: None) -> list[Row]:
        """Carries out a trial; a row for each stream. Raises EngineError if it cannot be, or the server went away.

        `wait` is called when all streams are connected, just before they are sent on.
        """
        opened, _ = self.control.ask({"do": "trial", "trial": trial.model_dump()}, _CONNECT_S)
        sockets = self._sockets = []
        try:
            tokens, ports = [int(token) for token in opened["tokens"]], [int(port) for port in opened["ports"]]
            for flow, _ in trial.flows():
                sockets.append(self.place.inside(lambda: new_socket(trial, self.remote)))
                self._connect(trial, sockets[flow], ports[flow], tokens[flow], flow)
            ready = self._greeted(trial, sockets, tokens)
            self.facts = {"near": facts(sockets[0], trial), "far": ready.get("facts", {})}
            self.links = {
                "near": [asdict(one) for one in self.place.inside(lambda: link_rates(self.remote))],
                "far": list(ready.get("links", [])),
            }
            wait()
            return self._run(trial, sockets, tokens)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            raise ControlError(f"{self.control.peer} does not answer as this version does: {error}") from error
        finally:
            close_all(sockets)

    def set_interface(self, values: Mapping[str, int | bool]) -> None:
        """Has the server's interface towards this end set, and set back what is not named. Raises EngineError."""
        self.control.ask({"do": "interface", "set": dict(values)})

    def start_iperf3(self) -> int:
        """Has the server start iperf3's for one client; the port. Raises EngineError where there is none."""
        return int(self.control.ask({"do": "iperf3"})[0]["port"])

    def end_iperf3(self) -> None:
        """Has it ended."""
        self.control.ask({"do": "iperf3-end"})

    def _run(self, trial: StreamTrial, sockets: list[socket.socket], tokens: list[int]) -> list[Row]:
        with flow_end(trial, "forward", dict(enumerate(sockets)), tokens) as end:
            self.control.send({"do": "run"})
            sent = end.send(trial.duration_s)
            # One that has nothing to send answers at once, or after it has sent as long as this end did.
            far, _ = self.control.receive(trial.duration_s + PATIENCE_S)
            received = end.received(offered(far["sent"]))
            patience_s = PATIENCE_S + _CONNECT_S
            rest, _ = self.control.ask({"do": "collect", "offered": offered(sent)}, patience_s)
            connections = [*end.connections(), *((int(flow), info) for flow, info in rest["connections"])]
        return join(trial, [*sent, *far["sent"]], [*received, *rest["received"]], connections)

    def _connect(self, trial: StreamTrial, made: socket.socket, port: int, token: int, flow: int) -> None:
        made.settimeout(_CONNECT_S)
        try:
            made.connect(socket_address(self.remote, port))
            if trial.protocol == "tcp":
                made.sendall(OPENING.pack(token, flow))
        except OSError as error:
            raise EngineError(
                f"{self.place.host} cannot be reached at {trial.protocol.upper()} port {port}: "
                f"{error.strerror or error}; open that port in its firewall"
            ) from error

    def _greeted(self, trial: StreamTrial, sockets: list[socket.socket], tokens: list[int]) -> dict[str, Any]:
        """Waits until the server knows all streams."""
        if trial.protocol == "tcp":
            return self.control.receive(_CONNECT_S)[0]
        for _ in range(_HELLOS):
            for flow, made in enumerate(sockets):
                try:
                    made.send(HELLO.pack(HELLO_MARK, tokens[flow], flow))
                except OSError:
                    continue  # An earlier one was refused; the next may come through.
            if (message := self.control.poll(_HELLO_S)) is not None:
                return message
        raise EngineError(f"{self.place.host} does not receive UDP at its ports; open them in its firewall")

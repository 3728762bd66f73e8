"""`keisoku stream serve`: the far end of streams, transactions, file transfers, probes and tests of capacity; one
client at a time.

Others must wait. It sends only to the host that asked over TCP and greeted it, for no longer than it was asked to
within the limits of `StreamTrial` and `TransactionTrial`.
"""

from __future__ import annotations

import contextlib
import secrets
import select
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from keisoku.errors import EngineError
from keisoku.ground.host.address import address_text, family, socket_address
from keisoku.ground.host.context import host_context
from keisoku.ground.host.link_rate import link_rates
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.control import Control, ControlError
from keisoku.ground.host.two_ended.one_client_server import OneClientServer
from keisoku.subjects.path.nat.far import NatResponder, check_other_address
from keisoku.subjects.stream.capacity.far import CapacityServer
from keisoku.subjects.stream.factor import OF_INTERFACE
from keisoku.subjects.stream.file.end import FileEnd, answer
from keisoku.subjects.stream.flow.end import flow_end
from keisoku.subjects.stream.flow.socket import close_all, facts, new_socket
from keisoku.subjects.stream.interface_setting import InterfaceSetting
from keisoku.subjects.stream.iperf3 import Iperf3Server
from keisoku.subjects.stream.responder import Responder
from keisoku.subjects.stream.session import GREETING, HELLO, HELLO_MARK, OPENING
from keisoku.subjects.stream.transaction.far import answer_transactions
from keisoku.subjects.stream.transaction.trial import TransactionTrial
from keisoku.subjects.stream.trial import StreamTrial

_IDLE_S = 600.0
_OPENING_S = 6.0


class StreamServer(OneClientServer):
    """Sends, receives and verifies for a client."""

    greeting = GREETING

    def __init__(
        self,
        place: Place,
        port: int,
        told: Callable[[str], None] = lambda _: None,
        *,
        files: Path | None = None,
        settable: bool = False,
        capacity_port: int | None = None,
        capacity_key: bytes | None = None,
        other_address: str | None = None,
    ) -> None:
        """`files`: where clients may have files written, nowhere if None; `settable`: whether they may have the MTU and
        offloads of the interface towards them changed while they measure; `capacity_port`: UDP port of UDPSTP, which is
        not spoken if None, with clients that have the key if there is one; `other_address`: a second address of this
        host, of which clients see what a NAT on the way makes of another address."""
        if other_address is not None:
            check_other_address(place, other_address)
        super().__init__(place, port, told)
        self._files, self._settable, self._other = files, settable, other_address
        self.capacity: CapacityServer | None = None
        """It has clients while this server has none."""
        if capacity_port is not None:
            self.capacity = CapacityServer(place, capacity_port, told, capacity_key, self._busy)

    def serve(self) -> None:
        """Answers clients; returns after `stop`."""
        if self.capacity is None:
            super().serve()
            return
        thread = threading.Thread(target=self.capacity.serve, daemon=True)
        thread.start()
        try:
            super().serve()
        finally:
            self.capacity.stop()
            thread.join()

    def stop(self) -> None:
        """Ends `serve`; may be called from any thread, or twice."""
        super().stop()
        if self.capacity is not None:
            self.capacity.stop()

    def _answer(self, control: Control, address: str, host: str) -> None:
        control.send({"host": host_context()})
        with contextlib.ExitStack() as stack:
            self._serve(control, address, host, stack)

    def _serve(self, control: Control, address: str, host: str, stack: contextlib.ExitStack) -> None:
        setting: InterfaceSetting | None = None
        checker, files, probes, looks = (stack.enter_context(contextlib.ExitStack()) for _ in range(4))
        look: NatResponder | None = None
        end: FileEnd | None = None
        while not self._stopped.is_set():
            try:
                message, _ = control.receive(_IDLE_S)
            except ControlError:
                return  # it hung up, or is idle for too long
            try:
                match message.get("do"):
                    case "trial":
                        self._trial(control, StreamTrial.model_validate(message["trial"]), address, host)
                    case "transactions":
                        wanted = TransactionTrial.model_validate(message["trial"])
                        answer_transactions(control, wanted, self._place, address, host, _IDLE_S)
                    case "probes":
                        probes.close()
                        wanted = TransactionTrial.model_validate(message["trial"])
                        responder = probes.enter_context(Responder(wanted, self._place, address, host))
                        control.send(responder.at())
                    case "probes-end":
                        probes.close()
                        control.send({"ended": True})
                    case "nat":
                        looks.close()
                        look = looks.enter_context(NatResponder(self._place, address, self._other, host))
                        control.send(look.at())
                    case "nat-end" if look is not None:
                        looks.close()
                        control.send(look.report())
                    case "interface":
                        setting = setting or stack.enter_context(InterfaceSetting(self._place.path, host))
                        self._set(setting, dict(message["set"]))
                        control.send({"set": True})
                    case "file":
                        files.close()
                        end = self._begin_file(message)
                        files.callback(end.close)
                        control.send({"part": end.path.name})
                    case "file-op":
                        answer(end, message, control, self._place, address, host)
                    case "iperf3":
                        port = self._place.inside(lambda: _free_port(address))
                        server = Iperf3Server(self._place.inside, address, port)
                        checker.callback(server.close)
                        control.send({"port": port})
                    case "iperf3-end":
                        checker.close()
                        control.send({"ended": True})
                    case _:
                        control.send({"error": "does not understand; use the same keisoku at both ends"})
                        return
            except ControlError:
                return
            except EngineError as error:
                control.send({"error": str(error)})
            except (ValidationError, KeyError, TypeError, ValueError) as error:
                control.send({"error": f"does not understand ({error}); use the same keisoku at both ends"})
                return

    def _begin_file(self, message: dict[str, Any]) -> FileEnd:
        if self._files is None:
            raise EngineError("this server writes no files; start it with --files DIRECTORY")
        return FileEnd(self._files, message)

    def _set(self, setting: InterfaceSetting, values: dict[str, int | bool]) -> None:
        if values and not self._settable:
            raise EngineError("this server changes no interface; start it with --settable")
        setting.set({name: values[name] for name in OF_INTERFACE if name in values})

    def _trial(self, control: Control, trial: StreamTrial, address: str, host: str) -> None:
        sockets: dict[int, socket.socket] = {}
        tokens = [secrets.randbits(63) for _ in trial.flows()]
        made: list[socket.socket] = []
        try:
            if trial.protocol == "tcp":
                made.append(self._place.inside(lambda: _listening(trial, address, len(tokens))))
                ports = [made[0].getsockname()[1]] * len(tokens)
                control.send({"tokens": tokens, "ports": ports})
                self._accept(made, tokens, host, sockets)
            else:
                for flow, _ in trial.flows():
                    made.append(self._place.inside(lambda: _bound(trial, address)))
                    sockets[flow] = made[flow]
                control.send({"tokens": tokens, "ports": [one.getsockname()[1] for one in made]})
                _hear(sockets, tokens, host)
            with flow_end(trial, "reverse", sockets, tokens) as end:
                links = [asdict(one) for one in self._place.inside(lambda: link_rates(host))]
                control.send({"ready": True, "facts": facts(sockets[0], trial), "links": links})
                _expect(control, "run")
                control.send({"sent": end.send(trial.duration_s)})
                message = _expect(control, "collect")
                counts = [(int(flow), int(count)) for flow, count in message["offered"]]
                received = end.received(counts)
                control.send({"received": received, "connections": end.connections()})
        finally:
            close_all([*made, *sockets.values()])

    @staticmethod
    def _accept(made: list[socket.socket], tokens: list[int], host: str, sockets: dict[int, socket.socket]) -> None:
        """Streams of the client, by number; connections of others are closed."""
        deadline = time.monotonic() + _OPENING_S
        while len(sockets) < len(tokens):
            made[0].settimeout(max(deadline - time.monotonic(), 0.001))
            try:
                stream, peer = made[0].accept()
            except TimeoutError as error:
                raise EngineError("not all streams were connected in time; measure again") from error
            made.append(stream)
            stream.settimeout(max(deadline - time.monotonic(), 0.001))
            opening = b""
            with contextlib.suppress(OSError):
                while len(opening) < OPENING.size and (part := stream.recv(OPENING.size - len(opening))):
                    opening += part
            if len(opening) < OPENING.size:
                continue
            token, flow = OPENING.unpack(opening)
            if address_text(peer) == host and flow < len(tokens) and tokens[flow] == token:
                sockets[flow] = stream


def _expect(control: Control, what: str) -> dict[str, Any]:
    message, _ = control.receive(_IDLE_S)
    if message.get("do") != what:
        raise ValueError(f"{message.get('do')} instead of {what}")
    return message


def _listening(trial: StreamTrial, address: str, streams: int) -> socket.socket:
    listener = new_socket(trial, address)
    listener.bind(socket_address(address, 0))
    listener.listen(streams)
    return listener


def _free_port(address: str) -> int:
    with socket.socket(family(address), socket.SOCK_STREAM) as probe:
        probe.bind(socket_address(address, 0))
        return int(probe.getsockname()[1])


def _bound(trial: StreamTrial, address: str) -> socket.socket:
    made = new_socket(trial, address)
    made.bind(socket_address(address, 0))
    return made


def _hear(sockets: dict[int, socket.socket], tokens: list[int], host: str) -> None:
    """Waits for a greeting at every socket, and connects it to where that came from."""
    deadline = time.monotonic() + _OPENING_S
    waiting = {one: flow for flow, one in sockets.items()}
    while waiting:
        left_s = deadline - time.monotonic()
        ready, _, _ = select.select(list(waiting), [], [], max(left_s, 0))
        if not ready and left_s <= 0:
            raise EngineError("does not receive the streams' datagrams; open UDP between both ends in their firewalls")
        for one in ready:
            data, peer = one.recvfrom(64)
            flow = waiting[one]
            if address_text(peer) == host and data == HELLO.pack(HELLO_MARK, tokens[flow], flow):
                one.connect(peer)
                del waiting[one]
                # Greetings that came meanwhile are no datagrams of the stream.
                one.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    while True:
                        one.recv(64)

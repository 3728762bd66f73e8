"""`CapacityServer`: answers clients of UDPSTP (RFC 9946), keisoku's and others; one client at a time.

It sends a load only to an address that has answered from there, and then no more than a datagram now and then until a
status has come back: the search begins at the first row of the table.
"""

from __future__ import annotations

import fcntl
import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from typing import IO

from keisoku._core import StampedSocket
from keisoku.errors import EngineError
from keisoku.ground.host.address import address_text, family, socket_address
from keisoku.ground.host.place import Place
from keisoku.subjects.stream.capacity import pdu
from keisoku.subjects.stream.capacity.carry import Effort, carry_out, prepare, wall_ns
from keisoku.subjects.stream.capacity.end import SILENT_NS
from keisoku.subjects.stream.capacity.pdu import Activation, Null, PduError, Setup
from keisoku.subjects.stream.capacity.receiving_end import ReceivingEnd
from keisoku.subjects.stream.capacity.seal import OPEN, SIGNED, Keys, SealError, SealTimeError, Tail, sealed, verify
from keisoku.subjects.stream.capacity.sending_end import SendingEnd
from keisoku.subjects.stream.capacity.sending_rate import PACKET_BYTES, TRADITIONAL_PACKET_BYTES, table

MOST_CONNECTIONS = 8
"""Of one client at a time."""
MOST_S = 60
"""Of one test; clients that ask for more are told so."""
_LONGEST, _LISTEN_S, _LISTEN_NS = 2048, 0.1, 100_000_000
_MOST_CONNECTIONS_OF_A_TEST = 24
_Client = tuple[str, int]
"""Its address, and the number that its connections have in common."""


class FileLock:
    """The lock of a file (flock(2)), which other programs hold while they have a client."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def acquire(self, blocking: bool = False) -> bool:
        """Whether nobody else has it; it is never waited for."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        """Gives it up."""
        fcntl.flock(self._file, fcntl.LOCK_UN)


class CapacityServer:
    """Listens from the moment it is made; `serve` answers until `stop`. Raises EngineError if it cannot listen.

    `busy` is held while a client measures, so that others of this host do not measure at the same time.
    """

    def __init__(
        self,
        place: Place,
        port: int,
        told: Callable[[str], None] = lambda _: None,
        key: bytes | None = None,
        busy: threading.Lock | FileLock | None = None,
    ) -> None:
        self._place, self._told, self._key = place, told, key
        self._busy = busy or threading.Lock()
        self._stopped = threading.Event()
        self._tests = threading.Lock()
        """Guards the two below."""
        self._client: _Client | None = None
        self._threads: set[threading.Thread] = set()
        self._address = place.addresses()[0]
        try:
            self._socket = StampedSocket("udp", (self._address, port), namespace=place.path)
        except EngineError as error:
            raise EngineError(f"cannot listen: {error}; choose another address or port") from error

    @property
    def port(self) -> int:
        """The UDP port."""
        return self._socket.address[1]

    def serve(self) -> None:
        """Answers clients, each test on a thread of its own."""
        while not self._stopped.is_set():
            packets, _ = self._socket.receive(time.monotonic_ns() + _LISTEN_NS)
            for packet in packets:
                if packet.source is not None:
                    with suppress(PduError, OSError):
                        self._set_up(packet.data, packet.source, packet.local or self._address)
        for thread in list(self._threads):
            thread.join()

    def stop(self) -> None:
        """Ends `serve` and all tests; may be called from any thread, or twice."""
        self._stopped.set()

    def _set_up(self, data: bytes, source: tuple[str, int], asked: str) -> None:
        """Answers a request to the address `asked`, and waits on another thread for its activation.

        Raises PduError for what is none.
        """
        request = Setup.parse(data)
        if request.command != pdu.SETUP_REQUEST:
            raise PduError("no request")
        tail = Tail.of(data)
        keys = Keys.of(self._key, tail.unix_s) if self._key is not None and tail.mode == SIGNED else None
        answer = replace(request, command=pdu.SETUP_RESPONSE, response=self._refusal(request, data, tail, keys))
        made = None
        peer = address_text(source), source[1]
        client = (peer[0], request.connections_id)
        if answer.response == 0:
            answer = replace(answer, response=self._claimed(client))
        try:
            if answer.response == pdu.OK:
                made = self._place.inside(lambda: _bound(asked))
                prepare(made)
                answer = replace(answer, port=made.getsockname()[1])
            if answer.response == pdu.BAD_VERSION:
                answer = replace(answer, version=pdu.VERSION)
            self._socket.send([(_sealed(answer.pack(), keys, tail), source, None)], 0)
            if made is None:
                return
            made.sendto(_sealed(Null().pack(), keys, tail), socket_address(*peer))
        except OSError:
            if made is not None:
                made.close()
            if answer.response == pdu.OK:
                self._release(None)
            raise
        packet_bytes = TRADITIONAL_PACKET_BYTES if request.modifiers & pdu.TRADITIONAL_MTU else PACKET_BYTES
        work = threading.Thread(target=self._test, args=(made, peer, keys, packet_bytes), daemon=True)
        with self._tests:
            self._threads.add(work)
        work.start()

    def _refusal(self, request: Setup, data: bytes, tail: Tail, keys: Keys | None) -> int:
        """Why a request is refused; 0 if it is not."""
        if request.version != pdu.VERSION:
            return pdu.BAD_VERSION
        if tail.mode > SIGNED:
            return pdu.BAD_MODE
        if self._key is None and tail.mode == SIGNED:
            return pdu.NO_KEY_HERE
        if self._key is not None and tail.mode == OPEN:
            return pdu.KEY_NEEDED
        if keys is not None:
            try:
                verify(data, keys.client, int(time.time()))
            except SealError:
                return pdu.BAD_DIGEST
            except SealTimeError:
                return pdu.BAD_TIME
        if not 1 <= request.connections <= _MOST_CONNECTIONS_OF_A_TEST or request.connection >= request.connections:
            return pdu.BAD_CONNECTIONS
        return 0

    def _claimed(self, client: _Client) -> int:
        """`OK` if the client may have a test more."""
        with self._tests:
            if self._threads:
                if client != self._client:
                    return pdu.CAPACITY_EXCEEDED
                return pdu.OK if len(self._threads) < MOST_CONNECTIONS else pdu.NO_CONNECTION
            if not self._busy.acquire(blocking=False):
                return pdu.CAPACITY_EXCEEDED
            self._client = client
            return pdu.OK

    def _release(self, thread: threading.Thread | None) -> None:
        with self._tests:
            if thread is not None:
                self._threads.discard(thread)
            if not self._threads:
                self._client = None
                self._busy.release()

    def _test(self, made: socket.socket, source: tuple[str, int], keys: Keys | None, packet_bytes: int) -> None:
        try:
            with closing(made):
                asked = self._activation(made, source[0], keys)
                if asked is None:
                    return
                parameters, peer, tail = asked
                made.connect(peer)
                self._told(f"{source[0]} measures the capacity")
                now_ns, ipv6 = time.monotonic_ns(), made.family == socket.AF_INET6
                if parameters.command == pdu.ACTIVATE_UP:
                    parameters = replace(parameters, rate=table(packet_bytes)[0])
                    end: SendingEnd | ReceivingEnd = ReceivingEnd(parameters, now_ns, wall_ns(), packet_bytes)
                else:
                    end = SendingEnd(parameters, now_ns, wall_ns(), packet_bytes, ipv6=ipv6)
                made.send(_sealed(parameters.pack(), keys, tail))
                carry_out(end, made, Effort(), self._stopped.is_set)
                self._told(f"{source[0]} is done")
        except OSError as error:
            self._told(f"{source[0]}: {error}")
        finally:
            self._release(threading.current_thread())

    def _activation(
        self, made: socket.socket, host: str, keys: Keys | None
    ) -> tuple[Activation, tuple[str, int], Tail] | None:
        """What the client asks for, within what is possible, and from where; None if it does not ask in time."""
        deadline_ns = time.monotonic_ns() + SILENT_NS
        made.settimeout(_LISTEN_S)
        while time.monotonic_ns() < deadline_ns and not self._stopped.is_set():
            try:
                data, peer = made.recvfrom(_LONGEST)
                if address_text(peer) != host:
                    continue
                asked, tail = Activation.parse(data), Tail.of(data)
                if keys is not None:
                    verify(data, keys.client, int(time.time()))
            except (TimeoutError, ConnectionRefusedError, PduError):
                continue
            return granted(asked), peer, tail
        return None


def _bound(address: str) -> socket.socket:
    made = socket.socket(family(address), socket.SOCK_DGRAM)
    try:
        made.bind(socket_address(address, 0))
    except OSError:
        made.close()
        raise
    return made


def granted(asked: Activation) -> Activation:
    """What the server answers: values that RFC 9946 does not allow become the default ones, and what it does not do
    (a fixed rate, random content, marks, another algorithm) is left out."""
    usual = Activation()
    duration_s = asked.duration_s or usual.duration_s
    delays = (asked.low_delay_ms, asked.high_delay_ms)
    if not 1 <= delays[0] <= delays[1] <= 10_000:
        delays = (usual.low_delay_ms, usual.high_delay_ms)
    duration_s = min(duration_s, MOST_S)
    sub_interval_ms = asked.sub_interval_ms if 100 <= asked.sub_interval_ms <= 10_000 else usual.sub_interval_ms
    return Activation(
        version=asked.version,
        command=asked.command,
        response=pdu.OK,
        low_delay_ms=delays[0],
        high_delay_ms=delays[1],
        feedback_ms=asked.feedback_ms if 5 <= asked.feedback_ms <= 250 else usual.feedback_ms,
        duration_s=duration_s,
        one_way=asked.one_way if asked.one_way <= 1 else usual.one_way,
        fast_rows=asked.fast_rows or usual.fast_rows,
        slow_after=asked.slow_after or usual.slow_after,
        errors_above=asked.errors_above,
        only_losses=asked.only_losses if asked.only_losses <= 1 else usual.only_losses,
        sub_interval_ms=min(sub_interval_ms, 1000 * duration_s),
    )


def _sealed(data: bytes, keys: Keys | None, tail: Tail) -> bytes:
    return sealed(data, int(time.time()), None if keys is None else keys.server, tail.key_id)

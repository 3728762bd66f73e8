"""Questions to a service at steady times, and which of them were answered when.

A question is due at its time whatever became of the ones before. One that is due while this host was away is never
asked.
"""

from __future__ import annotations

import errno
import os
import selectors
import socket
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from keisoku.errors import EngineError
from keisoku.ground.host.address import family, socket_address
from keisoku.subjects.stream.outage.addresses import Addresses
from keisoku.subjects.stream.outage.grpc import (
    HEALTH,
    NOT_SERVING,
    OF_SERVICE,
    UNIMPLEMENTED,
    GrpcAnswer,
    GrpcFormatError,
)
from keisoku.subjects.stream.outage.target import Target

ANSWERED, SILENT, REFUSED, BROKEN, UNREACHABLE, WRONG = range(6)
_WAKE_S = 0.05
_STOP_NS = 50_000_000
_ROOM = 2048


@dataclass
class Question:
    """One, with CLOCK_MONOTONIC in ns; `done_ns` is when it was answered or failed, 0 while that is open."""

    number: int
    due_ns: int
    asked_ns: int
    done_ns: int = 0
    outcome: int = SILENT
    address: int = 0
    """Place of the address that was asked among those that were used."""
    connection: socket.socket | None = None
    unsent: bytes = b""
    answer: GrpcAnswer | None = None


class Probing:
    """Opened in the calling thread's namespace. Raises EngineError if there is no such host, or no socket for it."""

    def __init__(self, target: Target, interval_s: float, wait_s: float) -> None:
        self._target, self._interval_ns, self._wait_ns = target, round(interval_s * 1e9), round(wait_s * 1e9)
        self._addresses = Addresses(target.host)
        self._ipv6 = ":" in self._addresses.current
        self._answered = False
        self._selector = selectors.DefaultSelector()
        self._open: OrderedDict[int, Question] = OrderedDict()
        self._identifier = os.getpid() & 0xFFFF
        self._next = 0
        self.skipped: list[tuple[int, int]] = []
        """First and last number of questions that were due while this host was away."""
        self.stops: list[tuple[int, int]] = []
        """Between which times (ns) it was."""
        self._datagrams = None if target.has_connections else self._socket()
        self.begun_ns = time.monotonic_ns()

    @property
    def questions(self) -> int:
        """How many questions were due."""
        return self._next

    @property
    def addresses(self) -> list[str]:
        """Every address that was asked."""
        return self._addresses.used

    def run(self, is_over: Callable[[], bool], keep: Callable[[list[Question]], None]) -> None:
        """Asks until it is over, and then waits for the last answers; `keep` is given questions that are settled."""
        self.begun_ns = last_ns = time.monotonic_ns()
        ending_ns = 0
        while True:
            now_ns = time.monotonic_ns()
            if now_ns - last_ns > _STOP_NS + round(_WAKE_S * 1e9):
                self.stops.append((last_ns, now_ns))
            last_ns = now_ns
            if not ending_ns and is_over():
                ending_ns = now_ns
            if not ending_ns:
                self._ask(now_ns)
            settled = self._settled(now_ns)
            if settled:
                keep(settled)
            if ending_ns and not self._open:
                return
            due_ns = self.begun_ns + self._next * self._interval_ns
            wait_s = _WAKE_S if ending_ns else min(_WAKE_S, max(0.0, (due_ns - time.monotonic_ns()) / 1e9))
            for key, _ in self._selector.select(wait_s):
                if key.data is None:
                    self._hear()
                else:
                    self._advance(key.data)

    def close(self) -> None:
        """Closes every socket."""
        for question in self._open.values():
            self._drop(question)
        if self._datagrams is not None:
            self._datagrams.close()
        self._selector.close()

    def _socket(self) -> socket.socket:
        of = family(self._addresses.current)
        kinds = [(socket.SOCK_DGRAM, 0)]
        if self._target.kind == "icmp":
            protocol = socket.IPPROTO_ICMPV6 if self._ipv6 else socket.IPPROTO_ICMP
            kinds = [(socket.SOCK_RAW, protocol)]
        try:
            made = socket.socket(of, *kinds[0])
            made.setblocking(False)
            made.connect(socket_address(self._addresses.current, self._target.port))
        except PermissionError as error:
            raise EngineError("a ping needs root here; run keisoku as root, or ask another service") from error
        except OSError as error:
            raise EngineError(f"{self._target.host} cannot be asked: {error.strerror}; check the address") from error
        self._selector.register(made, selectors.EVENT_READ, None)
        return made

    def _ask(self, now_ns: int) -> None:
        while (due_ns := self.begun_ns + self._next * self._interval_ns) <= now_ns:
            number = self._next
            if now_ns - due_ns > max(self._interval_ns // 2, 1_000_000):
                last = max(number, (now_ns - self._interval_ns // 2 - self.begun_ns) // self._interval_ns)
                self.skipped.append((number, last))
                self._next = last + 1
                continue
            self._next += 1
            question = Question(number, due_ns, time.monotonic_ns())
            self._open[number] = question
            if self._datagrams is None:
                self._connect(question)
            else:
                self._send(question)

    def _send(self, question: Question) -> None:
        assert self._datagrams is not None
        data = self._target.datagram(question.number, self._identifier, self._ipv6)
        for _ in range(2):  # an error of an earlier one is said first
            try:
                self._datagrams.send(data)
                return
            except OSError as error:
                if error.errno != errno.ECONNREFUSED:
                    self._done(question, UNREACHABLE)
                    return

    def _hear(self) -> None:
        assert self._datagrams is not None
        while True:
            try:
                data = self._datagrams.recv(_ROOM)
            except BlockingIOError:
                return
            except OSError:
                continue
            number = self._target.answered(data, self._next - 1, self._identifier, self._ipv6)
            if number is not None and (question := self._open.get(number)) is not None and not question.done_ns:
                self._done(question, ANSWERED)

    def _connect(self, question: Question) -> None:
        address = self._addresses.current
        made = socket.socket(family(address), socket.SOCK_STREAM)
        made.setblocking(False)
        question.connection, question.unsent = made, self._target.request()
        question.address = self._addresses.used.index(address)
        if self._target.kind == "grpc":
            question.answer = GrpcAnswer(self._target.path)
        code = made.connect_ex(socket_address(address, self._target.port))
        if code not in (0, errno.EINPROGRESS):
            self._done(question, UNREACHABLE)
            return
        self._selector.register(made, selectors.EVENT_WRITE, question)

    def _advance(self, question: Question) -> None:
        made = question.connection
        if made is None:
            return
        try:
            if code := made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                raise OSError(code, os.strerror(code))
            if question.unsent:
                question.unsent = question.unsent[made.send(question.unsent) :]
                if not question.unsent:
                    self._selector.modify(made, selectors.EVENT_READ, question)
            elif self._target.kind == "tcp":
                self._done(question, ANSWERED)
            elif question.answer is not None:
                self._hear_call(question, question.answer, made.recv(_ROOM))
            else:
                head = made.recv(_ROOM)
                status = head.split(b" ", 2)[1] if head.startswith(b"HTTP/") and head.count(b" ") >= 1 else b""
                good = status.isdigit() and int(status) < 500
                self._done(question, ANSWERED if good else WRONG if head else BROKEN)
        except BlockingIOError:
            return
        except OSError as error:
            refused, broken = error.errno == errno.ECONNREFUSED, error.errno in (errno.ECONNRESET, errno.EPIPE)
            self._done(question, REFUSED if refused else BROKEN if broken else UNREACHABLE)

    def _hear_call(self, question: Question, answer: GrpcAnswer, data: bytes) -> None:
        try:
            status = answer.receive(data)
        except GrpcFormatError:
            self._done(question, WRONG)
            return
        if status == UNIMPLEMENTED and not self._answered:
            path, remedy = self._target.path, "name a method that it has: grpc://HOST:PORT/SERVICE/METHOD"
            problem = "has no standard health check" if path == HEALTH else f"has no method {path}"
            raise EngineError(f"{self._target.host} {problem}; {remedy}")
        if status is not None:
            self._done(question, WRONG if status in OF_SERVICE or status == NOT_SERVING else ANSWERED)
        elif not data:
            self._done(question, BROKEN)

    def _done(self, question: Question, outcome: int) -> None:
        question.done_ns, question.outcome = time.monotonic_ns(), outcome
        self._answered |= outcome == ANSWERED
        if outcome in (REFUSED, BROKEN, UNREACHABLE):
            self._fail(question)
        self._drop(question)

    def _fail(self, question: Question) -> None:
        """The next connection goes to another address of the name, if it has one; a socket of datagrams stays."""
        if self._datagrams is None:
            self._addresses.failed(self._addresses.used[question.address])

    def _drop(self, question: Question) -> None:
        if (made := question.connection) is not None:
            question.connection = None
            if made.fileno() in self._selector.get_map():
                self._selector.unregister(made)
            made.close()

    def _settled(self, now_ns: int) -> list[Question]:
        """The first of those that are open, as far as each is answered or waited for long enough."""
        found = []
        while self._open:
            question = next(iter(self._open.values()))
            if not question.done_ns and now_ns - question.asked_ns < self._wait_ns:
                break
            if not question.done_ns:
                self._fail(question)
            self._drop(question)
            found.append(self._open.pop(question.number))
        return found

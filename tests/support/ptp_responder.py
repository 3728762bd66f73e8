"""A PTP master on the loopback whose clock's rate and offset are known: the time of day, made to run off.

For tests only. It grants contracts, sends Sync and answers in its own thread until it is closed; whatever it would
send goes through `edit` first, which may change, drop or add messages.
"""

from __future__ import annotations

import dataclasses
import select
import socket
import threading
import time
from collections.abc import Callable
from typing import Self

from keisoku.subjects.clock.reference.ptp.message import (
    NO_FLAGS,
    Announced,
    Arrival,
    Contract,
    Flag,
    Message,
    MessageType,
    Moment,
    PortIdentity,
    Signals,
    Term,
    decode,
    encode,
)
from keisoku.subjects.clock.reference.ptp.port import Ports
from support.ptp_ports import MASTER, announced

Edit = Callable[[Message], list[Message]]


class PtpResponder:
    """Answers on 127.0.0.1; `ports` are what it got, and `slave_event` must be told."""

    def __init__(
        self,
        rate: float = 0.0,
        ahead_ns: int = 0,
        *,
        flags: Flag = NO_FLAGS,
        utc_offset_s: int = 37,
        clock_class: int = 6,
        domain: int = 0,
        one_step: bool = False,
        grants: Callable[[Term], Term | None] = lambda term: term,
        edit: Edit = lambda message: [message],
    ) -> None:
        """`rate`: relative, from the start on. `grants`: what a request comes to; None: no answer."""
        self.rate, self.ahead_ns = rate, ahead_ns
        self.flags, self.domain, self.one_step, self.grants, self.edit = flags, domain, one_step, grants, edit
        self.announced = announced(utc_offset_s, clock_class)
        self.slave_event = 0
        self.requests: list[Term] = []
        self.seen: list[Message] = []
        self._slave: tuple[str, int] | None = None
        self._identity: PortIdentity | None = None
        self._news = threading.Condition()
        self._contracts: dict[int, float] = {}
        self._next_s: dict[int, float] = {}
        self._sequence = 0
        self._begun_ns = time.time_ns()
        self._event, self._general = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        for one in (self._event, self._general):
            one.bind(("127.0.0.1", 0))
        self._wake, self._woken = socket.socketpair()
        self.ports = Ports(self._event.getsockname()[1], self._general.getsockname()[1])
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def now_ns(self) -> int:
        """The master's clock."""
        now = time.time_ns()
        return now + self.ahead_ns + round((now - self._begun_ns) * self.rate)

    def cancel(self, kind: MessageType) -> None:
        """Ends a contract from the master's side."""
        self._contracts.pop(kind, None)
        self._send(MessageType.SIGNALING, Signals(self._slaves_identity(), (Term(Contract.CANCEL, kind),)), 0)

    def forget(self) -> None:
        """As if it had been started anew."""
        self._contracts.clear()

    def wait_for(self, contract: Contract) -> list[Term]:
        """The terms of a kind that came first, once they are there."""

        def found() -> list[Term]:
            told = (message.body.terms for message in self.seen if isinstance(message.body, Signals))
            return next((list(terms) for terms in told if any(term.contract is contract for term in terms)), [])

        with self._news:
            self._news.wait_for(found)
            return found()

    def close(self) -> None:
        """Ends the thread."""
        self._wake.send(b"x")
        self._thread.join()
        for one in (self._event, self._general, self._wake, self._woken):
            one.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _slaves_identity(self) -> PortIdentity:
        assert self._identity is not None
        return self._identity

    def _serve(self) -> None:
        while True:
            due_s = min((self._next_s[kind] for kind in list(self._contracts)), default=None)
            wait_s = None if due_s is None else max(0.0, due_s - time.monotonic())
            ready, _, _ = select.select([self._event, self._general, self._woken], [], [], wait_s)
            if self._woken in ready:
                return
            for one in ready:
                packet, address = one.recvfrom(2048)
                received_ns = self.now_ns()
                message = decode(packet)
                assert message is not None
                self._take(message, address, received_ns)
                with self._news:
                    self.seen.append(message)
                    self._news.notify_all()
            for kind, period_s in list(self._contracts.items()):
                if self._next_s[kind] <= time.monotonic():
                    self._next_s[kind] = time.monotonic() + period_s
                    self._tell(MessageType(kind))

    def _take(self, message: Message, address: tuple[str, int], received_ns: int) -> None:
        if message.kind is MessageType.DELAY_REQ:
            self._send(MessageType.DELAY_RESP, Arrival(received_ns, message.source), message.sequence)
            return
        assert isinstance(message.body, Signals)
        self._slave, self._identity = address, message.source
        for term in message.body.terms:
            if term.contract is Contract.REQUEST:
                self.requests.append(term)
                self._grant(term, message)
            elif term.contract is Contract.CANCEL:
                self._contracts.pop(term.of, None)

    def _grant(self, term: Term, message: Message) -> None:
        granted = self.grants(term)
        if granted is None:
            return
        grant = dataclasses.replace(granted, contract=Contract.GRANT)
        if granted.duration_s and granted.of in (MessageType.ANNOUNCE, MessageType.SYNC):
            self._contracts[granted.of] = 2.0**granted.log_period
            self._next_s[granted.of] = time.monotonic()
        self._send(MessageType.SIGNALING, Signals(message.source, (grant,)), message.sequence)

    def _tell(self, kind: MessageType) -> None:
        self._sequence = (self._sequence + 1) & 0xFFFF
        if kind is MessageType.ANNOUNCE:
            self._send(kind, self.announced, self._sequence)
            return
        sent_ns = self.now_ns()
        if self.one_step:
            self._send(kind, Moment(sent_ns), self._sequence)
        else:
            self._send(kind, Moment(0), self._sequence, Flag.TWO_STEP)
            self._send(MessageType.FOLLOW_UP, Moment(sent_ns), self._sequence)

    def _send(
        self, kind: MessageType, body: Moment | Arrival | Announced | Signals, sequence: int, more: Flag = NO_FLAGS
    ) -> None:
        flags = more | Flag.UNICAST | (self.flags if kind is MessageType.ANNOUNCE else NO_FLAGS)
        message = Message(kind, MASTER, sequence, body, self.domain, flags)
        assert self._slave is not None
        for edited in self.edit(message):
            if edited.kind is MessageType.SYNC:
                self._event.sendto(encode(edited), (self._slave[0], self.slave_event))
            else:
                self._general.sendto(encode(edited), self._slave)

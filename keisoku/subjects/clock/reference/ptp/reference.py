"""A PTP master as a reference: Sync and Delay_Req, one exchange after another, stamped by the kernel where it can.

It is a slave port that disciplines nothing (IEEE 1588, end-to-end delay mechanism): it never sets a clock, never
takes part in the choice of a master, and asks no faster than it was told.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter

from keisoku.errors import EngineError
from keisoku.ground.run import result
from keisoku.language import phrase
from keisoku.subjects.clock.reading import Reading, Translation
from keisoku.subjects.clock.reference.kinds import Chosen, Reference, untrusted
from keisoku.subjects.clock.reference.local import bracket
from keisoku.subjects.clock.reference.ptp.contract import LOG_LEAST, Contracts, log_period, rest_s
from keisoku.subjects.clock.reference.ptp.exchange import (
    SLAVE_ONLY,
    STEPS_MOST,
    ahead_ns,
    arrival_ns,
    departure_ns,
    exchange,
    facts,
    fastest,
    grade,
    inaccuracy,
    lack,
    timescale,
)
from keisoku.subjects.clock.reference.ptp.message import (
    EVERY_PORT,
    Announced,
    Arrival,
    Contract,
    Flag,
    Message,
    MessageType,
    Signals,
)
from keisoku.subjects.clock.reference.ptp.port import Ports, PtpPort, ReceivedMessage, SentRequest
from keisoku.subjects.clock.reference.ptp.target import PtpTarget, target

PATIENCE_S = 1.0
LOST_MOST = 5
"""Number of failed exchanges in a row after which an error is raised."""
_STANDARD = Ports()


class _Incomplete(Exception):
    """An exchange without a reading, and why."""


class PtpClient:
    """Exchanges with one master. Raises EngineError if it cannot be reached."""

    def __init__(self, master: PtpTarget, pause_s: float, theirs: Ports = _STANDARD, own: Ports = _STANDARD) -> None:
        """`pause_s`: at most so often the master is asked to send."""
        self.announce: Message | None = None
        """The master's last Announce."""
        self._stamped: Counter[bool] = Counter()
        self.ahead: tuple[int, int] | None = None
        """By how much the master's UTC was ahead of CLOCK_REALTIME at the last reading, and its bound, in ns."""
        self.port = PtpPort(master, theirs, own)
        self.period_s = 2.0 ** log_period(pause_s)
        self._contracts = Contracts(log_period(pause_s))
        self._failures: Counter[str] = Counter()

    def reading(self) -> Reading:
        """One exchange that was complete. Raises EngineError with the reasons if none is."""
        self._failures.clear()
        self.port.strays.clear()
        for _ in range(LOST_MOST):
            self._prepare()
            try:
                return self._exchange()
            except _Incomplete as failure:
                self._failures[str(failure)] += 1
        raise EngineError(f"{self.port.target.name}: {LOST_MOST} exchanges failed: {self._amiss()}")

    def close(self) -> None:
        """Cancels the contracts with the master."""
        with contextlib.suppress(EngineError):
            if terms := self._contracts.farewell():
                self.port.signal(terms, self.port.master or EVERY_PORT)
        self.port.close()

    def _prepare(self) -> None:
        """Contracts, and an Announce that says what the master's time is."""
        self._listen(0)
        if not self.port.target.multicast:
            self._negotiate()
        until_ns = _in(LOST_MOST * PATIENCE_S)
        while self.announce is None:
            if time.monotonic_ns() >= until_ns:
                waited_s = LOST_MOST * PATIENCE_S
                raise EngineError(f"{self.port.target.name}: no Announce came within {waited_s:g} s{self._strays()}")
            self._listen(until_ns)

    def _negotiate(self) -> None:
        if self._contracts.due(time.monotonic()) and not self._contracts.missing(time.monotonic()):
            # In good time: its answer is read with whatever comes next.
            self.port.signal(self._contracts.due(time.monotonic()), self.port.master or EVERY_PORT)
            return
        for _ in range(LOST_MOST):
            missing = self._contracts.missing(time.monotonic())
            if not missing:
                return
            self._contracts.refused.clear()
            self.port.signal(missing, self.port.master or EVERY_PORT)
            until_ns = _in(PATIENCE_S)
            while self._contracts.missing(time.monotonic()) and time.monotonic_ns() < until_ns:
                self._listen(until_ns)
                if self._contracts.refused:
                    names = " and ".join(sorted(kind.name.title() for kind in self._contracts.refused))
                    raise EngineError(
                        f"{self.port.target.name}: the master refuses to send {names} every {self.period_s:g} s;"
                        " ask less often, or another master"
                    )
        if self._contracts.missing(time.monotonic()):
            host, domain = self.port.target.host, self.port.target.domain
            raise EngineError(
                f"{self.port.target.name}: no answer to {LOST_MOST} requests for unicast in domain {domain} within"
                f" {PATIENCE_S:g} s each{self._strays()}; name its domain with ptp:{host},domain=N, or hear a master"
                f" that sends to all with ptp:{host},multicast"
            )

    def _exchange(self) -> Reading:
        # In this order a Follow_Up is never passed over whose Sync is not.
        self._listen(0)
        self.port.forget_events()
        first = bracket()
        # How often a master sends to all is its own choice.
        multicast = self.port.target.multicast
        sync = self._sync(_in(LOST_MOST * PATIENCE_S if multicast else PATIENCE_S + 2 * self.period_s))
        if sync is None:
            self._contracts.forget()
            raise _Incomplete("no Sync came")
        between = bracket()
        asked = self.port.ask()
        follow_up, response = self._answers(sync.message, asked)
        last = bracket()
        left_ns = self.port.left_ns(asked)
        if follow_up is None and Flag.TWO_STEP in sync.message.flags:
            raise _Incomplete("no Follow_Up came to its Sync")
        if response is None:
            raise _Incomplete("no Delay_Resp came to its Delay_Req")
        departed_ns, received_ns = departure_ns(sync.message, follow_up), arrival_ns(response)
        if departed_ns is None or received_ns is None:
            raise _Incomplete("a correction was too large for its field")
        arrived, left = sync.after, asked.before
        try:
            rate = fastest(first, last)
            if sync.kernel_ns is not None:
                arrived = min(arrived, Translation(first, between).ticks(sync.kernel_ns)[1])
            if left_ns is not None:
                left = max(left, Translation(between, last).ticks(left_ns)[0])
        except ValueError:
            raise _Incomplete("this host's time of day was set back") from None
        found = exchange(departed_ns, arrived, left, received_ns, rate)
        if found is None:
            raise _Incomplete("a message arrived before it left, by the master's stamps")
        self._stamped[sync.kernel_ns is not None and left_ns is not None] += 1
        assert self.announce is not None
        self.ahead = ahead_ns(found, between, rate, self.announce)
        return found

    @property
    def stamped_by_kernel(self) -> bool:
        """Whether the kernel stamped both messages of most exchanges: it takes a while to begin with it."""
        return self._stamped[True] >= self._stamped[False]

    def _sync(self, until_ns: int) -> ReceivedMessage | None:
        """The newest, once there is one."""
        while time.monotonic_ns() < until_ns:
            for heard in reversed(self.port.events(until_ns)):
                if heard.message.kind is MessageType.SYNC and Flag.ALTERNATE_MASTER not in heard.message.flags:
                    return heard
        return None

    def _answers(self, sync: Message, asked: SentRequest) -> tuple[Message | None, Message | None]:
        """Follow_Up, of a two-step master, and Delay_Resp: those of these very messages."""
        follow_up = response = None
        until_ns = _in(PATIENCE_S)
        while time.monotonic_ns() < until_ns:
            for message in self._listen(until_ns):
                if message.kind is MessageType.FOLLOW_UP and message.sequence == sync.sequence:
                    follow_up = message
                if (
                    isinstance(message.body, Arrival)
                    and message.body.requesting == self.port.identity
                    and message.sequence == asked.sequence
                ):
                    response = message
            if response is not None and (follow_up is not None or Flag.TWO_STEP not in sync.flags):
                break
        return (follow_up if Flag.TWO_STEP in sync.flags else None), response

    def _listen(self, until_ns: int) -> list[Message]:
        """General messages, of which contracts and Announce are taken note of."""
        heard = self.port.generals(until_ns)
        while more := self.port.generals(0):
            heard += more
        for message in (one.message for one in heard):
            if isinstance(message.body, Signals) and message.body.target in (self.port.identity, EVERY_PORT):
                self._agree(message)
            elif isinstance(message.body, Announced) and Flag.ALTERNATE_MASTER not in message.flags:
                self._take(message, message.body)
        return [one.message for one in heard]

    def _agree(self, message: Message) -> None:
        assert isinstance(message.body, Signals)
        if any(term.contract is Contract.GRANT for term in message.body.terms):
            self.port.master = self.port.master or message.source
        if answers := self._contracts.answer(message.body.terms, time.monotonic()):
            self.port.signal(answers, message.source)

    def _take(self, message: Message, said: Announced) -> None:
        name = self.port.target.name
        if said.clock_class == SLAVE_ONLY:
            raise EngineError(f"{name}: it says that it is a slave only (clock class {SLAVE_ONLY}); name a master")
        if said.steps_removed > STEPS_MOST:
            raise EngineError(
                f"{name}: it says that it is {said.steps_removed} clocks away from its source, where {STEPS_MOST} are"
                " the most; name another"
            )
        if self.announce is not None and Flag.PTP_TIMESCALE in message.flags ^ self.announce.flags:
            raise EngineError(f"{name}: the master went from {timescale(self.announce)} to {timescale(message)}")
        if self.announce is not None and lack(self.announce) is None and (lost := lack(message)):
            raise EngineError(f"{name}: the master lost its source of time: {lost}; name another")
        self.port.master = self.port.master or message.source
        self.announce = message

    def _amiss(self) -> str:
        said = "; ".join(f"{why} ({count}×)" for why, count in self._failures.most_common())
        return said + self._strays()

    def _strays(self) -> str:
        passed = ", ".join(f"{count} {what}" for what, count in self.port.strays.most_common(3))
        return f" (messages passed over: {passed})" if passed else ""


def ptp_master(chosen: Chosen, pause_s: float) -> Reference:
    """Carries out one exchange, to check that the master answers."""
    master = target(chosen.target)
    client = PtpClient(master, pause_s)
    try:
        client.reading()
    except BaseException:
        client.close()
        raise
    announce = client.announce
    assert announce is not None
    stamps = phrase("kernel's stamps") if client.stamped_by_kernel else phrase("stamps around system calls")
    ahead, bound = client.ahead or (None, None)
    said = []
    if lacking := lack(announce):
        said.append(untrusted(chosen.name, lacking))
    if inexact := inaccuracy(announce):
        said.append(result.Flag(name="reference-accuracy", text=f"{chosen.name}: {inexact}"))
    place = f"{master.host}, domain {master.domain}" if master.domain else master.host
    return Reference(
        name=chosen.name,
        described=phrase(
            "PTP master {place}, {grade}, {timescale}, by {stamps}",
            place=place,
            grade=grade(announce),
            timescale=timescale(announce),
            stamps=stamps,
        ),
        read=lambda: [client.reading()],
        pause_s=pause_s if master.multicast else rest_s(pause_s),
        is_real=lacking is None,
        at_least_s=2 * 2.0**LOG_LEAST,
        facts={
            **facts(announce),
            "ahead_of_host_ns": ahead,
            "ahead_of_host_bound_ns": bound,
            "kernel_stamps": client.stamped_by_kernel,
        },
        flags=tuple(said),
        close=client.close,
    )


def _in(seconds: float) -> int:
    return time.monotonic_ns() + round(seconds * 1e9)

"""The near end of a look at a NAT: which binding sends what when. It opens no socket and reads no clock but the wire's.

It is made of processes, each a generator that yields the time until which it waits; it goes on earlier when something
arrives. All that is decided from what arrives is whether to ask again; verdicts are in `behaviour.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol

from keisoku.subjects.path.nat.message import Action, Address, BindingReport, DatagramType, MessageError, Request
from keisoku.subjects.path.nat.observation import Observation, Purpose
from keisoku.subjects.path.nat.timeout_search import TimeoutSearch

MS = 1_000_000
MAPPED = 3
"""Bindings whose mapping is looked at; more than one, as two ports can be equal by chance."""
EVERY_NS = 60 * MS
"""From one question to the next."""
AGAIN_NS, TRIES, PATIENCE_NS = 300 * MS, 6, 1500 * MS
"""Of an exchange that nothing is answered of: how often it is tried again, and for how long the last is waited for."""
MOST_ASKED = 24
BY_CHANCE = 1e-3
"""That a binding is closed is said if all of these were lost by chance no more often than this."""
STREAM_NS = 2500 * MS
"""A binding with answers is used again after this time: Linux keeps one longer that is still used after 2 s."""
APART_NS = 5 * MS
"""From one new binding to the next, which a slow line has to carry."""
HAIRPINS = 4

Process = Generator[int, None, None]


class Wire(Protocol):
    """Sockets of the near end, each of which is a binding. A datagram that cannot be sent is lost."""

    def now_ns(self) -> int:
        """A clock that is never set."""
        ...

    def open(self, binding: int) -> Address:
        """Opens a socket that has sent nothing; its own address."""
        ...

    def send(self, binding: int, to: Address, data: bytes) -> None:
        """Sends."""
        ...

    def close(self, binding: int) -> None:
        """No more arrives there."""
        ...


class NearEnd:
    """Looks at the NAT towards the sockets of a far end, for `longest_ns` in all."""

    def __init__(self, wire: Wire, token: int, far: Sequence[Address], longest_ns: int) -> None:
        """`far`: two ports of one address, or those and the same two of another one."""
        self.rows: list[Observation] = []
        """What was seen, in order; whoever keeps it takes it out."""
        self.is_settled = False
        """All but the timeouts is known."""
        self._wire, self._token, self._far = wire, token, far
        self._until_ns = wire.now_ns() + longest_ns
        self._processes: list[tuple[int, Process]] = []
        self._local: dict[int, Address] = {}
        self._sent_ns: dict[int, int] = {}
        self._trip_ns: dict[int, int] = {}
        self._answers: dict[int, list[tuple[int, int, BindingReport]]] = {}
        self._numbers = 0
        self._ending = False
        self._control = self._open()
        self._advance(self._look())

    @property
    def is_over(self) -> bool:
        """Nothing is waited for any more."""
        return not self._processes

    def finish(self) -> None:
        """Ends soon: what is idle is tried now, as far as it says more."""
        self._ending = True

    def receive(self, binding: int, data: bytes) -> None:
        """A datagram arrived."""
        try:
            answer = BindingReport.parse(data)
        except MessageError:
            return
        if answer.token == self._token:
            self._answers.setdefault(answer.number, []).append((self._wire.now_ns(), binding, answer))

    def step(self) -> int:
        """Goes on with whatever can; the time at which there is more to do, unless something arrives before."""
        waiting, self._processes = self._processes, []
        for _, process in waiting:
            self._advance(process)
        return min((until for until, _ in self._processes), default=self._wire.now_ns())

    def _advance(self, process: Process) -> None:
        try:
            until = next(process)
        except StopIteration:
            return
        self._processes.append((until, process))

    def _together(self, processes: Sequence[Process]) -> Process:
        """Begins one after the other, and waits for all."""
        left = len(processes)

        def counted(process: Process) -> Process:
            nonlocal left
            yield from process
            left -= 1

        for one in processes:
            self._advance(counted(one))
            yield from self._until(lambda: False, APART_NS)
        while left:
            yield self._wire.now_ns() + EVERY_NS

    def _until(self, done: Callable[[], bool], most_ns: int) -> Process:
        end = self._wire.now_ns() + most_ns
        while not done() and self._wire.now_ns() < end:
            yield end

    # What is looked at.

    def _look(self) -> Process:
        answer = yield from self._echo(self._control, 0, TRIES)
        if answer is None:
            self.is_settled = True
            return  # Nothing comes through at all.
        is_translated = answer.mapped != self._local[self._control]
        # What the far end sends without being asked makes entries in some NATs that change later mappings.
        yield from self._together([self._mapping(self._open()) for _ in range(MAPPED)])
        kept = [self._timeouts("unanswered"), self._timeouts("answered")]
        others = [self._filtering(far) for far in range(1, len(self._far), 2)]
        others.append(self._hairpin() if is_translated else self._unsolicited())
        yield from self._together([*kept, self._settling(others)])

    def _settling(self, processes: Sequence[Process]) -> Process:
        yield from self._together(processes)
        self.is_settled = True

    def _mapping(self, binding: int) -> Process:
        for far in range(len(self._far)):
            # Whether it has another address that can be reached need not be waited for as long as the first answer.
            patience_ns = PATIENCE_NS if far < 2 else max(AGAIN_NS, 2 * self._trip_ns[self._control])
            answer = yield from self._echo(binding, far, TRIES if far < 2 else TRIES // 2, patience_ns)
            self._row("mapping", binding, far, answer, answer is not None)
            if answer is None and far >= 2:
                break  # Its other address cannot be reached from here.
        self._close(binding)

    def _filtering(self, far: int) -> Process:
        binding = self._open()
        answer = yield from self._echo(binding, 0, TRIES)
        if answer is not None:
            yield from self._tried("filtering", binding, far, answer)
        self._close(binding)

    def _unsolicited(self) -> Process:
        """A socket that has sent nothing."""
        binding = self._open()
        yield from self._tried("unsolicited", binding, 0, None, self._local[binding][1])
        self._close(binding)

    def _hairpin(self) -> Process:
        """Two bindings send to each other's address outside, so that neither is kept out as a stranger."""
        pair = self._open(), self._open()
        found: list[BindingReport | None] = []
        for one in pair:
            found.append((yield from self._echo(one, 0, TRIES)))
        numbers: list[int] = []
        first, second = (None if one is None else one.mapped for one in found)
        if first is not None and second is not None:
            for _ in range(HAIRPINS):
                for binding, other, to in ((pair[0], pair[1], second), (pair[1], pair[0], first)):
                    numbers.append(self._number())
                    datagram = BindingReport(self._token, other, numbers[-1], DatagramType.HAIRPIN)
                    self._wire.send(binding, to, datagram.pack())
                yield from self._until(lambda: any(one in self._answers for one in numbers), EVERY_NS)
            yield from self._until(lambda: any(one in self._answers for one in numbers), AGAIN_NS)
            came = any(one in self._answers for one in numbers)
            self._row("hairpin", pair[1], 0, found[1], came, asked=len(numbers))
        for one in pair:
            self._close(one)

    def _timeouts(self, purpose: Purpose) -> Process:
        search = TimeoutSearch(self._until_ns - self._wire.now_ns())
        wave = search.first()
        while wave and not self._ending:
            yield from self._together([self._kept(purpose, idle_ns, search) for idle_ns in wave])
            wave = search.next(self._until_ns - self._wire.now_ns() - STREAM_NS)

    def _kept(self, purpose: Purpose, idle_ns: int, search: TimeoutSearch) -> Process:
        """A binding that is used, left idle, and then sent to from outside."""
        binding = self._open()
        answer = yield from (self._known(binding) if purpose == "unanswered" else self._used(binding))
        if answer is not None:
            due_ns = self._sent_ns[binding] + idle_ns
            while not self._ending and self._wire.now_ns() < due_ns and search.is_useful(idle_ns):
                yield due_ns
            now_idle_ns = self._wire.now_ns() - self._sent_ns[binding]
            if search.is_useful(idle_ns) if now_idle_ns >= idle_ns else search.last_call(now_idle_ns):
                row = yield from self._tried(purpose, binding, 0, answer)
                if row.sure and row.idle_least_ns is not None and row.idle_most_ns is not None:
                    search.add(row.idle_least_ns, row.idle_most_ns, row.arrived)
        self._close(binding)

    def _known(self, binding: int) -> Generator[int, None, BindingReport | None]:
        """Sends once, without an answer to that binding; whether the far end knows it."""
        self._send(binding, 0, Action.OPEN)
        found = yield from self._answered(lambda: self._send(self._control, 0, Action.ASK, target=binding), TRIES)
        return None if found is None else found[1]

    def _used(self, binding: int) -> Generator[int, None, BindingReport | None]:
        """Answered twice, the second time so late that a NAT takes it for a lasting use."""
        if (yield from self._echo(binding, 0, TRIES)) is None:
            return None
        begun_ns = self._wire.now_ns()
        yield from self._until(lambda: self._ending, STREAM_NS)
        if self._wire.now_ns() - begun_ns < STREAM_NS:
            return None
        # Not tried again: of several datagrams it would not be known which was the last to pass the NAT.
        return (yield from self._echo(binding, 0, 1))

    # How it is asked.

    def _echo(
        self, binding: int, far: int, tries: int, patience_ns: int = PATIENCE_NS
    ) -> Generator[int, None, BindingReport | None]:
        found = yield from self._answered(lambda: self._send(binding, far, Action.ECHO), tries, patience_ns)
        if found is None:
            return None
        self._trip_ns[binding] = found[0] - self._sent_ns[binding]
        return found[1]

    def _answered(
        self, ask: Callable[[], int], tries: int, patience_ns: int = PATIENCE_NS
    ) -> Generator[int, None, tuple[int, BindingReport] | None]:
        """Asks until an answer says where a binding is outside; when that arrived, and what it is.

        A question may overtake what it is about.
        """
        numbers: list[int] = []

        def known() -> list[tuple[int, BindingReport]]:
            found = [each for number in numbers for each in self._answers.get(number, [])]
            return [(at_ns, answer) for at_ns, _, answer in found if answer.mapped is not None]

        for attempt in range(tries):
            numbers.append(ask())
            yield from self._until(lambda: bool(known()), AGAIN_NS if attempt + 1 < tries else patience_ns)
            if known():
                return known()[0]
        return None

    def _tried(
        self, purpose: Purpose, binding: int, far: int, answer: BindingReport | None, port: int = 0
    ) -> Generator[int, None, Observation]:
        """Has `far` send to the binding until that arrives, or until it is no chance that it does not."""
        numbers: list[int] = []
        asked_ns = self._wire.now_ns()

        def came(kind: DatagramType, at_binding: int) -> list[tuple[int, BindingReport]]:
            found = [each for number in numbers for each in self._answers.get(number, [])]
            return [(at_ns, one) for at_ns, at, one in found if one.kind == kind and at == at_binding]

        def copies() -> list[tuple[int, BindingReport]]:
            return came(DatagramType.COPY, binding)

        def twins() -> list[tuple[int, BindingReport]]:
            return came(DatagramType.TWIN, self._control)

        def is_sure() -> bool:
            told = len(twins())
            return bool(((len(numbers) - told + 1) / (len(numbers) + 2)) ** told <= BY_CHANCE)

        while not copies() and not is_sure() and len(numbers) < MOST_ASKED:
            action = Action.SEND_TO if port else Action.SEND
            numbers.append(self._send(self._control, 0, action, far, port or binding))
            yield from self._until(lambda: bool(copies()), EVERY_NS)
        # The copy may come a little later than its twin.
        longest_ns = max(self._trip_ns[self._control], 2 * EVERY_NS) if is_sure() else PATIENCE_NS
        yield from self._until(lambda: bool(copies()), longest_ns)
        idle_ns: tuple[int, int] | tuple[None, None] = None, None
        if binding in self._sent_ns and (told := copies()[:1] or twins()[-1:]):
            ((at_ns, one),) = told
            # The last answer may have refreshed the binding as late as when it arrived here; and so may a copy that was
            # lost behind the NAT, as early as when it was asked for.
            less_ns = self._trip_ns.get(binding, 0) + (0 if one.number == numbers[0] else at_ns - asked_ns)
            idle_ns = max(one.idle_ns - less_ns, 0), at_ns - self._sent_ns[binding]
        return self._row(
            purpose,
            binding,
            far,
            answer,
            bool(copies()),
            asked=len(numbers),
            told=len(twins()),
            sure=bool(copies()) or is_sure(),
            idle_least_ns=idle_ns[0],
            idle_most_ns=idle_ns[1],
        )

    def _send(self, binding: int, far: int, action: Action, sender: int = 0, target: int = 0) -> int:
        number = self._number()
        self._sent_ns[binding] = self._wire.now_ns()
        request = Request(self._token, binding, number, action, sender, target)
        self._wire.send(binding, self._far[far], request.pack())
        return number

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _open(self) -> int:
        binding = len(self._local) + 1
        self._local[binding] = self._wire.open(binding)
        return binding

    def _close(self, binding: int) -> None:
        self._wire.close(binding)

    def _row(
        self, purpose: Purpose, binding: int, far: int, answer: BindingReport | None, arrived: bool, **more: Any
    ) -> Observation:
        mapped = (None, None) if answer is None or answer.mapped is None else answer.mapped
        local, remote = self._local[binding], self._far[far]
        row = Observation(
            purpose=purpose,
            binding=binding,
            local_address=local[0],
            local_port=local[1],
            far_address=remote[0],
            far_port=remote[1],
            mapped_address=mapped[0],
            mapped_port=mapped[1],
            arrived=arrived,
            **more,
        )
        self.rows.append(row)
        return row

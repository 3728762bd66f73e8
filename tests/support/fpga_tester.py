"""A test double of the instrument, at the level that the engine sees: two ports, and a way of given latency between.

It computes what each frame's fate is from a table, in virtual time that passes when it is asked to. No RTL runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from keisoku.ground.fpga.events import Event, EventKind
from keisoku.ground.fpga.expectation import Expectation
from keisoku.ground.fpga.program import Program
from keisoku.ground.fpga.reading import Counted, Generated, Latencies
from keisoku.ground.fpga.sim import Rewriting

CALL_NS = 400
WINDOW = 4096
BYTE_NS = 8


@dataclass
class Fates:
    """What the way does to frames, by sequence number; all others take `ns_per_byte` × frame + `constant_ns`."""

    ns_per_byte: float = 8.0
    constant_ns: float = 811.0
    lost: frozenset[int] = frozenset()
    corrupt: frozenset[int] = frozenset()
    twice: frozenset[int] = frozenset()
    later_ns: Mapping[int, int] = field(default_factory=dict)


@dataclass
class _Run:
    program: Program
    stream: int
    frames: int
    starts: list[int]
    stopped_ns: int | None = None


class FakeTester:
    """Frames that port 0 sends arrive at port 1, and the other way round."""

    name = "test double"
    simulated = True
    least_pause_ns = 2_000

    def __init__(self, fates: Fates | None = None, link: tuple[int | None, int | None] = (10**9, 10**9)) -> None:
        self.fates = fates or Fates()
        self.ns = 1_000
        self.sent: list[tuple[int, bytes]] = []
        self.inbox: list[tuple[int, bytes]] = []
        self.expected: dict[int, Expectation] = {}
        self.closed = False
        self._link = link
        self._runs: dict[int, _Run] = {}
        self._arrivals: dict[int, list[tuple[int, int, str, int]]] = {0: [], 1: []}
        self._done: dict[int, int] = {0: 0, 1: 0}
        self._seen: dict[int, set[int]] = {0: set(), 1: set()}
        self._told: dict[int, set[int]] = {0: set(), 1: set()}
        self._greatest: dict[int, int] = {0: -1, 1: -1}
        self._counts: dict[int, dict[str, int]] = {0: {}, 1: {}}
        self._last: dict[int, int | None] = {0: None, 1: None}
        self._bank: dict[int, list[int]] = {0: [], 1: []}
        self._events: list[tuple[int, Event]] = []
        self._accepted: dict[int, int] = {0: 0, 1: 0}
        self.room = 100_000

    def now_ns(self) -> int:
        self.ns += CALL_NS
        return self.ns

    def let_pass(self, ns: int) -> None:
        assert ns > 0
        self.ns += ns

    def link_bits_per_second(self, port: int) -> int | None:
        return self._link[port]

    def send(self, port: int, frame: bytes) -> None:
        self.sent.append((port, frame))

    def receive(self, port: int) -> bytes | None:
        return self.inbox.pop(0)[1] if self.inbox and self.inbox[0][0] == port else None

    def arm(
        self,
        port: int,
        program: Program,
        stream: int,
        frames: int,
        start_at_ns: int,
        interval_bytes: Fraction,
        burst_frames: int,
    ) -> None:
        self.ns += CALL_NS
        starts, free = list[int](), 0
        for number in range(frames):
            frame = program.frames[number % len(program.frames)]
            due = Fraction(0)
            if burst_frames and number % burst_frames == 0:
                due = interval_bytes * (number // burst_frames)
            start = max(free, -(-due.numerator // due.denominator))
            starts.append(start_at_ns + start * BYTE_NS)
            free = start + 8 + frame.frame_bytes + frame.gap_bytes
        self._runs[port] = _Run(program, stream, frames, starts)
        arrivals = self._arrivals[1 - port] = []
        for number, sent in enumerate(starts):
            size = program.frames[number % len(program.frames)].frame_bytes
            latency = round(self.fates.ns_per_byte * size + self.fates.constant_ns)
            latency += self.fates.later_ns.get(number, 0)
            if number in self.fates.lost:
                continue
            kind = "corrupt" if number in self.fates.corrupt else "whole"
            arrivals += [(sent + latency, number, kind, latency)] * (2 if number in self.fates.twice else 1)
        arrivals.sort()

    def halt(self, port: int) -> None:
        if port in self._runs and self._runs[port].stopped_ns is None:
            self._runs[port].stopped_ns = self.ns

    def generated(self, port: int) -> Generated:
        self.ns += CALL_NS
        run = self._runs[port]
        until = self.ns if run.stopped_ns is None else run.stopped_ns
        sent = [start for start in run.starts if start <= until]
        running = run.stopped_ns is None and len(sent) < run.frames
        return Generated(running, len(sent), 0, sent[0] if sent else None, sent[-1] if sent else None, 0)

    def expect(self, port: int, expectation: Expectation) -> None:
        self.expected[port] = expectation
        self._arrivals[port], self._done[port] = [], 0
        self._seen[port], self._told[port], self._greatest[port] = set(), set(), -1
        self._counts[port], self._last[port], self._bank[port] = {}, None, []
        self._accepted[port] = 0

    def swap(self, port: int) -> Latencies:
        self._arrive(port)
        found, self._bank[port] = self._bank[port], []
        self.ns += CALL_NS
        expectation = self.expected[port]
        origin, width = expectation.origin_ns, 1 << expectation.shift
        bins: dict[int, int] = {}
        for latency in found:
            place = min(max((latency - origin) // width, 0), 2047)
            bins[place] = bins.get(place, 0) + 1
        squares = sum(latency * latency for latency in found)
        extremes = (min(found), max(found)) if found else (0, 0)
        return Latencies(len(found), *extremes, sum(found), squares, origin, width, bins)

    def flush(self, port: int, frames: int) -> None:
        self._arrive(port)
        self._leave(port, frames)

    def counted(self, port: int) -> Counted:
        self._arrive(port)
        counts = self._counts[port]
        return Counted(
            received_frames=sum(counts.values()),
            forwarded_frames=counts.get("first", 0),
            duplicated_frames=counts.get("duplicated", 0),
            reordered_frames=counts.get("reordered", 0),
            late_frames=counts.get("late", 0),
            corrupt_frames=counts.get("corrupt", 0),
            foreign_frames=0,
            other_frames=counts.get("other", 0),
            lost_frames=len(self._told[port]),
            dropped_frames=0,
            last_ns=self._last[port],
        )

    def clear_events(self) -> None:
        self._events = []

    def events(self) -> list[tuple[int, Event]]:
        found, self._events = self._events, []
        return found

    def event_room(self, duration_ns: int) -> int:
        return self.room

    def dropped_events(self) -> int:
        return 0

    def changed_frames(self, port: int) -> list[bytes]:
        return []

    def rewrite(self, port: int, rewritings: Sequence[Rewriting]) -> None:
        assert not rewritings, "a device of this tester rewrites nothing"

    def lost_in_bitmaps(self) -> list[tuple[int, Event]]:
        return []

    def close(self) -> None:
        self.closed = True

    def _arrive(self, port: int) -> None:
        run = self._runs.get(1 - port)
        if run is None:
            return
        while self._done[port] < len(self._arrivals[port]):
            at, number, kind, latency = self._arrivals[port][self._done[port]]
            sent = run.starts[number]
            if at > self.ns:
                return
            self._done[port] += 1
            if run.stopped_ns is not None and sent > run.stopped_ns:
                continue
            self._account(port, run.stream, at, number, kind, latency)

    def _account(self, port: int, stream: int, at: int, number: int, kind: str, latency: int) -> None:
        counts = self._counts[port]

        def count(name: str, *more: str) -> None:
            for one in (name, *more):
                counts[one] = counts.get(one, 0) + 1

        def tell(kind: EventKind, last: int = 0) -> None:
            self._events.append((port, Event(kind, at, number, last)))

        if stream != self.expected[port].stream:
            count("other")
            return
        if kind == "corrupt":
            count("corrupt")
            tell(EventKind.CORRUPT)
            return
        greatest = self._greatest[port]
        every = self.expected[port].sample_every
        sampled = every and self._accepted[port] % every == 0
        self._accepted[port] += 1

        def sample() -> None:
            if sampled:
                tell(EventKind.FRAME, latency)

        if number <= greatest - WINDOW:
            count("late")
            tell(EventKind.LATE)
            sample()
            return
        if number in self._seen[port]:
            count("duplicated")
            tell(EventKind.DUPLICATED)
            sample()
            return
        self._seen[port].add(number)
        count("first")
        self._bank[port].append(latency)
        self._last[port] = at
        if number < greatest:
            count("reordered")
            tell(EventKind.REORDERED)
        sample()
        self._greatest[port] = max(greatest, number)
        self._leave(port, self._greatest[port] - WINDOW + 1)

    def _leave(self, port: int, end: int) -> None:
        begin = max(self._told[port] | self._seen[port], default=-1) - 2 * WINDOW
        for number in range(max(0, begin), end):
            if number not in self._seen[port] and number not in self._told[port]:
                self._told[port].add(number)
                self._events.append((port, Event(EventKind.LOST, self.ns, number, number)))

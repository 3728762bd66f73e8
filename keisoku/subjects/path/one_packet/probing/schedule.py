"""The probing of all hops of a path: which probe leaves next, and when enough is known. It opens no socket.

One packet is under way at a time, so that probes never queue behind each other; hops take turns, as a router limits its
own replies only. The load is bounded: the mean pause after a packet is at least as long as its round trip.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from keisoku.errors import EngineError
from keisoku.ground.entry import ENDS, for_answers_s
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.path.one_packet.fit.minimum import hop_samples
from keisoku.subjects.path.one_packet.fit.segment import Segment, fit_hops, segments, widths
from keisoku.subjects.path.one_packet.probe import HopProbe
from keisoku.subjects.path.one_packet.probing.discovery import EXCEEDED, UNREACHABLE, KnownPath, discover
from keisoku.subjects.path.one_packet.probing.icmp_limit import SILENCE, IcmpLimit
from keisoku.subjects.path.one_packet.probing.sizes import probe_sizes
from keisoku.subjects.path.one_packet.probing.timed_wire import BudgetOverError, TimedWire
from keisoku.subjects.path.one_packet.probing.wire import HopPacket, HopReply, HopWire
from keisoku.subjects.path.one_packet.settings import OnePacketSettings
from keisoku.units import time_text

NS_PER_S = 1_000_000_000
GAP_NS = 1_000_000
"""Mean of the pause after an answer, at least; exponential, so that periodic traffic is not met at one phase."""
TIMEOUT_FLOOR_NS, TIMEOUT_NS = 100_000_000, NS_PER_S
SIZE_TRIES = 10
"""Losses in a row of one size to a hop that answers others: that size does not get through. By chance it is not
met with a quarter of all probes lost."""
GIVE_UP = 150
"""Losses in a row to a hop after which it is left alone."""
SHORT_TRAIN, LONG_TRAIN = 12, 64
"""Packets of a train: at least, and at most. Only a train longer than its burst shows a token bucket."""
SLOWEST_TRAIN_NS = 4 * NS_PER_S
"""After a train whose first or last packet was not answered the next is waited for longer, at most so long."""
LIMITED_TRAIN = 2
"""Packets of a train to a host that limits its replies, which answers each of them; small ones would show nothing."""
TRAIN_NS = 250_000_000
"""A train longer than the shortest keeps the slowest link busy for no longer."""
SMALL_TRAIN_BYTES = 64
FULL_TTL = 255
REVERSE_REPEATS, SIGN_REPEATS = 4, 16
"""After this many times the least repeats the reverse direction is not refined any more, where it has a rate and where
it has none yet: a fast link may be lost in noise."""
TRAINS_SHARE = 0.15
"""Share of the budget that is left for the trains."""
AS_START, AS_LAST = 1.25, 1.25
"""The answer takes as long as so many starts of the program (benchmarks/accuracy/path_budget.py; at a load of 14 on two
CPUs 1.3 starts), or so many of the last answer, and longer as there are more probes."""
KEPT_TOGETHER = 256
"""Probes in a part on disk at most; so many are lost if the process is killed."""


@dataclass
class _Hop:
    ttl: int
    replier: str
    limit: IcmpLimit = field(default_factory=IcmpLimit)
    waiting: list[int] = field(default_factory=list)
    """Sizes of this round that are still to be answered."""
    losses: dict[int, int] = field(default_factory=dict)
    """How often each size was lost in a row while the hop answered others."""
    doubted: set[int] = field(default_factory=set)
    """Sizes lost since its last answer: what they were lost for is not known before its next."""
    known: int = 0
    """The size that was answered last."""
    lost_in_row: int = 0
    rounds: int = 0
    longest_ns: int = 0
    train_ns: int = TRAIN_NS
    """How much longer its trains are waited for."""

    @property
    def gone(self) -> bool:
        """It answers no more."""
        return self.lost_in_row >= GIVE_UP

    def timeout_ns(self) -> int:
        """How long to wait for its reply."""
        return max(TIMEOUT_FLOOR_NS, 3 * self.longest_ns) if self.longest_ns else TIMEOUT_NS


class HopProbing:
    """One measurement; `probes` holds every packet sent so far."""

    def __init__(
        self,
        wire: HopWire,
        settings: OnePacketSettings,
        keep: Callable[[Sequence[HopProbe]], None],
        progress: Callable[[str], None],
        seed: int = 0,
        found: Callable[[KnownPath], None] = lambda path: None,
        came_to: Callable[[float, float, str], None] = lambda done, whole, said: None,
        started_s: float = 0.0,
        answer: Callable[[], None] = lambda: None,
    ) -> None:
        """`keep` is given each round's probes as soon as it is over; `progress` a line of text; `found` the path.

        `came_to` is given how many seconds of how many are over, and what is being done. `started_s`: how much of the
        budget the start of the program took. `answer` answers from what was kept until now: what is given if the host
        becomes so busy that the budget is over before the last answer is there.
        """
        rest_s = ENDS * for_answers_s(settings.budget_s, started_s)

        def tell(over_ns: int) -> None:
            came_to(started_s + over_ns / NS_PER_S, settings.budget_s, self._doing)

        self._wire = TimedWire(wire, max(0, round(rest_s * NS_PER_S)), tell)
        self._started_s, self._answer = started_s, answer
        self._settings, self._keep, self._progress = settings, keep, progress
        self._found = found
        self._doing = phrase("looking for the hops")
        self._fit_ns = 0
        self._random = random.Random(seed)
        self._fresh: list[HopProbe] = []
        self._segments: list[Segment] = []
        self._widths: dict[int, float] = {}
        self.probes: list[HopProbe] = []
        self._expect(round(AS_START * started_s * NS_PER_S))

    def run(self) -> KnownPath:
        """Finds the hops, probes them until done or out of time, and sends the trains. Raises EngineError.

        No packet leaves after the budget is over, and what the answer will take is left of it. Answers in between come
        whenever half of the time is over that was left after the last one. Trains have the last of what is sent
        (`TRAINS_SHARE`).
        """
        if not self._wire.left_ns:
            started, budget = time_text(self._started_s), time_text(self._settings.budget_s)
            if self._started_s >= self._settings.budget_s:
                raise EngineError(
                    f"{self._wire.destination}: this host took {started} to start the program, so the budget of"
                    f" {budget} was over before anything could be sent; give a longer --budget, or measure when the"
                    " host is less busy"
                )
            raise EngineError(
                f"{self._wire.destination}: the start of the program took {started} of the budget of {budget}, and the"
                " answer takes about as long, so nothing was sent; give a longer --budget"
            )
        path = self._discover()
        self._found(path)
        # Silent hops are in the raw rows too, as the record that they were probed.
        self._fresh += [HopProbe(ttl, size, sent) for ttl, size, sent in path.silent if ttl < max(path.repliers)]
        sizes = probe_sizes(path.mtu_bytes, of_ipv6=":" in self._wire.destination)
        self._progress(
            phrase(
                "{answering} of {hops} hops answer, path MTU {mtu_bytes} byte",
                answering=len(path.repliers),
                hops=max(path.repliers),
                mtu_bytes=path.mtu_bytes,
            )
        )
        hops = [_Hop(ttl, replier) for ttl, replier in sorted(path.repliers.items())]
        try:
            self._singles(hops, sizes)
            if self._settings.trains:
                self._trains(hops, path)
        except BudgetOverError:
            pass
        finally:
            self._flush()
        return path

    def _discover(self) -> KnownPath:
        try:
            return discover(self._wire, self._settings.max_hops, round(self._settings.timeout_s * NS_PER_S))
        except BudgetOverError as error:
            raise EngineError(
                f"{self._wire.destination}: the budget of {time_text(self._settings.budget_s)} was over while the hops"
                " were looked for; give a longer --budget or a shorter --timeout"
            ) from error

    def _end_of_singles(self) -> int:
        """When the trains begin at the latest."""
        share = TRAINS_SHARE if self._settings.trains else 0.0
        return self._wire.end - round(share * (self._wire.end - self._wire.began))

    def _singles(self, hops: Sequence[_Hop], sizes: Sequence[int]) -> None:
        """Probes one by one until every hop is known well enough, or until the time of the trains."""
        active, target = list(hops), self._settings.repetitions
        while active and self._wire.now_ns() < self._end_of_singles():
            self._doing = plural(
                "{count} repeat of {sizes} sizes to {hops}",
                "{count} repeats of {sizes} sizes to {hops}",
                count=target,
                sizes=len(sizes),
                hops=_hops(active),
            )
            self._repeat(active, sizes, target)
            self._flush()
            # A fit that would last beyond the end is left to the analysis.
            if self._wire.now_ns() + 2 * self._fit_ns < self._end_of_singles():
                active = self._unfinished(hops, target)
                self._progress(self._state(target, hops, active))
            target += max(1, target // 4)  # the fits of a long measurement would cost more than its probes

    def _repeat(self, hops: Sequence[_Hop], sizes: Sequence[int], target: int) -> None:
        """Every size to every hop until each was answered `target` times; hops in turn, as their limits allow."""
        turn = 0
        while (now := self._wire.now_ns()) < (end := self._end_of_singles()):
            for hop in hops:
                if not hop.waiting and hop.rounds < target:
                    hop.waiting = [size for size in sizes if hop.losses.get(size, 0) < SIZE_TRIES]
                    self._random.shuffle(hop.waiting)
                    hop.rounds += 1
            ready = [hop for hop in hops if hop.waiting and not hop.gone]
            if not ready:
                break
            turn += 1
            in_turn = [ready[(turn + place) % len(ready)] for place in range(len(ready))]
            chosen = next((hop for hop in in_turn if hop.limit.next_ns() <= now), None)
            if chosen is None:
                self._wire.rest(min(end, *(hop.limit.next_ns() for hop in ready)))
            else:
                self._probe(chosen)
            if len(self._fresh) >= KEPT_TOGETHER:
                self._flush()
            self._answer_in_between()

    def _answer_in_between(self) -> None:
        """If it is time for it. Raises BudgetOverError if no more is left than the last answer will take."""
        began = self._wire.now_ns()
        if self._answer_ns is not None and began >= self._answer_ns:
            self._flush()
            self._answer()
            self._expect(round(AS_LAST * (self._wire.now_ns() - began)))
        more = (len(self.probes) + len(self._fresh)) / self._expected_of if self._expected_of else 1.0
        self._wire.leave(round(more * self._expected_ns))
        self._wire.rest(began)

    def _expect(self, answer_ns: int) -> None:
        """Of as many probes as there are. The next answer is halfway to the end, if time enough is left after it
        for the last one, of more probes; less is enough for the first one, as there is nothing to give before it."""
        now = self._wire.now_ns()
        half = (self._wire.latest - now) // 2
        self._answer_ns = now + half if half >= (3 if self.probes else 2) * answer_ns else None
        self._expected_ns, self._expected_of = answer_ns, len(self.probes)
        self._wire.leave(answer_ns)

    def _probe(self, hop: _Hop) -> None:
        # A hop that is silent is asked with a size that it has answered: no other would tell an outage from a filter.
        again = hop.lost_in_row >= SILENCE and hop.known > 0 and not hop.limit.limited
        size = hop.known if again else hop.waiting[-1]
        sent = self._wire.now_ns()
        reply = self._wire.exchange([HopPacket(hop.ttl, size)], hop.timeout_ns())[0]
        self._fresh.append(_probe(hop.ttl, size, reply))
        answered = self._fresh[-1].answered
        hop.limit.observe(sent, answered)
        if answered:
            self._answered(hop, size, reply)
            return
        hop.lost_in_row += 1
        if not again:
            hop.doubted.add(size)
            hop.waiting.insert(0, hop.waiting.pop())

    def _answered(self, hop: _Hop, size: int, reply: HopReply) -> None:
        # A router that refuses everything for a while says nothing about sizes.
        for lost in hop.doubted - {size} if not hop.limit.limited else ():
            hop.losses[lost] = hop.losses.get(lost, 0) + 1
            if hop.losses[lost] >= SIZE_TRIES and lost in hop.waiting:
                hop.waiting.remove(lost)
        hop.doubted.clear()
        if size in hop.waiting:
            hop.waiting.remove(size)
        hop.known = size
        hop.losses[size] = hop.lost_in_row = 0
        hop.longest_ns = max(hop.longest_ns, reply.rtt_ns or 0)
        mean = max(GAP_NS, reply.rtt_ns or 0)
        self._wire.rest(self._wire.now_ns() + round(self._random.expovariate(1 / mean)))

    def _unfinished(self, hops: Sequence[_Hop], repeats: int) -> list[_Hop]:
        """Hops that a segment whose slopes are not known well enough ends or begins at."""
        began = self._wire.now_ns()
        self._segments = segments(fit_hops(hop_samples(self.probes)))
        self._fit_ns = self._wire.now_ns() - began
        times = repeats / self._settings.repetitions
        self._widths = widths(self._segments, times < REVERSE_REPEATS, times < SIGN_REPEATS)
        ends = [segment.last_hop for segment in self._segments]
        wanted = set()
        for place, last in enumerate(ends):
            if 100 * self._widths[last] > self._settings.precision_percent:
                wanted |= {last, *ends[max(0, place - 1) : place]}
        return [hop for hop in hops if hop.ttl in wanted and not hop.gone]

    def _state(self, number: int, hops: Sequence[_Hop], active: Sequence[_Hop]) -> str:
        seconds = (self._wire.now_ns() - self._wire.began) / NS_PER_S
        waits = [(hop.ttl, hop.limit.interval_ns) for hop in hops]
        limits = [
            phrase("hop {ttl} every {wait:.2f} s", ttl=ttl, wait=wait_ns / 1e9)
            for ttl, wait_ns in waits
            if wait_ns is not None
        ]
        told = phrase("; replies limited: {limits}", limits=join_texts(", ", limits)) if limits else ""
        known = [
            phrase("hop {ttl} ± {percent:.2g} %", ttl=ttl, percent=100 * width)
            for ttl, width in self._widths.items()
            if width < 1
        ]
        left = phrase("more to {hops}", hops=_hops(active)) if active else phrase("enough")
        return plural(
            "{count} repeat in {seconds:.0f} s: {known}; {left}{told}",
            "{count} repeats in {seconds:.0f} s: {known}; {left}{told}",
            count=number,
            seconds=seconds,
            known=join_texts(", ", known) if known else phrase("no hop known yet"),
            left=left,
            told=told,
        )

    def _trains(self, hops: Sequence[_Hop], path: KnownPath) -> None:
        """Trains of long packets, then of small ones; those that a loss made useless again, at most as often."""
        self._progress(phrase("back-to-back trains to each hop"))
        # What goes on to a host that limits its replies uses them up: its own trains come first.
        host = [hop for hop in hops if hop.limit.limited and hop.replier == self._wire.destination]
        rest = [hop for hop in hops if hop not in host]
        few, rounds = (self._settings.trains + 1) // 2, itertools.count()
        for group, small, wanted in ((host, False, few), (rest, False, self._settings.trains), (rest, True, few)):
            done = {hop.ttl: 0 for hop in group}
            for number in itertools.islice(rounds, 2 * wanted):
                self._doing = phrase(
                    "back-to-back trains, round {number}, to {hops}", number=number + 1, hops=_hops(group)
                )
                for hop in group:  # in turn, so that limits on replies pass together
                    self._answer_in_between()
                    if hop.gone or done[hop.ttl] >= wanted:
                        continue
                    if hop.limit.limited:  # the first and the last packet each need a token
                        self._flush()
                        self._wire.rest(hop.limit.next_ns() + round(hop.limit.longest_ns))
                    count = LIMITED_TRAIN if hop in host else self._train_packets(hop.ttl, path.mtu_bytes)
                    longest = SMALL_TRAIN_BYTES + count if small else path.mtu_bytes
                    done[hop.ttl] += self._train(hop, number, range(longest, longest - count, -1))
        self._flush()

    def _train_packets(self, ttl: int, mtu_bytes: int) -> int:
        """As many as the slowest link up to the hop carries in the time that a train may take."""
        spans = [segment.forward or segment.both for segment in self._segments if segment.last_hop <= ttl]
        slowest = max((span.value for span in spans if span is not None), default=0.0)
        fitting = TRAIN_NS / (slowest * mtu_bytes) if slowest > 0 else LONG_TRAIN
        return int(min(max(fitting, SHORT_TRAIN), LONG_TRAIN))

    def _train(self, hop: _Hop, number: int, sizes: Sequence[int]) -> bool:
        """First and last expire at the hop; those between go on to the host, and cost the hop no reply."""
        last = hop.replier == self._wire.destination
        ttls = [hop.ttl if place in (0, len(sizes) - 1) or last else FULL_TTL for place in range(len(sizes))]
        packets = [HopPacket(ttl, size) for ttl, size in zip(ttls, sizes, strict=True)]
        sent = self._wire.now_ns()
        replies = self._wire.exchange(packets, hop.timeout_ns() + hop.train_ns)
        for place, (packet, reply) in enumerate(zip(packets, replies, strict=True)):
            if packet.ttl != hop.ttl or reply.replier != hop.replier:
                reply = HopReply(reply.sent_ns, stamps=reply.stamps, handed_ns=reply.handed_ns)
            self._fresh.append(_probe(hop.ttl, packet.size_bytes, reply)._replace(train=number, place=place))
        answered = [probe.answered for probe in self._fresh[-len(sizes) :]]
        hop.limit.observe(sent, any(answered))
        whole = answered[0] and answered[-1]
        # A bucket may hold the last packet for much longer than the links do, and the next train behind it.
        hop.train_ns = TRAIN_NS if whole or hop.limit.limited else min(2 * hop.train_ns, SLOWEST_TRAIN_NS)
        self._wire.rest(self._wire.now_ns() + (hop.timeout_ns() // 4 if whole else hop.train_ns))
        return whole

    def _flush(self) -> None:
        fresh, self._fresh = self._fresh, []  # an end of the time in between must not keep them twice
        if fresh:
            self._keep(fresh)
            self.probes += fresh


def _hops(hops: Sequence[_Hop]) -> str:
    ttls = ", ".join(str(hop.ttl) for hop in hops)
    return phrase("hops {ttls}", ttls=ttls) if len(hops) > 1 else phrase("hop {ttl}", ttl=ttls)


def _probe(ttl: int, size_bytes: int, reply: HopReply) -> HopProbe:
    """The row of a packet; what is no answer about its TTL or port counts as none."""
    if reply.icmp_type not in (UNREACHABLE, EXCEEDED):
        return HopProbe(ttl, size_bytes, reply.sent_ns, stamps=reply.stamps, handed_ns=reply.handed_ns)
    return HopProbe(
        ttl,
        size_bytes,
        reply.sent_ns,
        reply.rtt_ns,
        reply.reply_bytes,
        reply.replier,
        reply.reply_ttl,
        reply.icmp_type,
        reply.icmp_code,
        reply.stamps,
        reply.rtt_tsc_ns,
        reply.rtt_gettimeofday_ns,
        handed_ns=reply.handed_ns,
    )

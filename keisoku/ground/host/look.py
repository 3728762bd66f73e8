"""A look at the host before a run: how long it keeps the tester's threads from their CPUs, and what follows from that.

For a second or less, a thread at the sender's priority runs on each CPU without a pause and notes when it did not run
(`core/src/hiccup/look.rs`). It judges the host, never a trial; docs/guards.md explains the limits.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import fmean

from keisoku._core import look_at_cpus
from keisoku.frozen import Frozen
from keisoku.language import join_texts, phrase, plural

NS_PER_S = 1_000_000_000
LONGEST_S = 1.0
"""Length of a look before a run of which nothing is known."""
SHORTEST_S = 0.2
"""A look must see more than one period of what comes ten times a second."""
SHARE = 0.05
"""A look takes at most this share of the time of the whole run."""
STOP_NS = 50_000
"""The thread did not run for at least this time: the kernel's timer and its interrupts take less."""
LONG_STOP_NS = 1_000_000
"""A sender that was stopped for longer does not catch up, but postpones its frames (`core/src/trial/departures.rs`)."""
QUIET = 0.005
"""The largest share of a CPU that a quiet host takes: the permitted error of a trial's load."""
_MOST_CPUS = 16
_MOST_LENGTHS = 20
_MANY = 10
"""From so many interruptions on, no share of undisturbed trials is worth saying."""


class CpuLook(Frozen):
    """What the host took from one CPU. A stop is a time of at least `STOP_NS` in which the thread did not run."""

    cpu: int
    watched_ns: int
    stops: int
    taken_ns: int
    """Sum of all stops."""
    longest_stop_ns: int
    """0 if there was none."""
    long_stops: int
    """Stops of at least `LONG_STOP_NS`."""
    calm_stretches: int
    """How many there were: the times between two long stops, and before the first and after the last one."""
    calm_ns: tuple[int, ...]
    """Their lengths, ascending. Of more than 20, each length is the mean of one in 20 equal parts of the sorted
    lengths, so that a busy host makes no long record."""

    @property
    def taken_share(self) -> float:
        """Share of the time in which the thread did not run: 0 to 1."""
        return self.taken_ns / self.watched_ns

    def interruptions(self, trial_ns: int) -> float:
        """How many long stops are expected during a trial of this length."""
        return self.long_stops * trial_ns / self.watched_ns

    def undisturbed_share(self, trial_ns: int) -> float:
        """Share of trials of this length, begun at any time, that would have met no long stop: 0 to 1.

        Of a trial longer than the look, 1 if there was no long stop, else 0.
        """
        if not self.long_stops:
            return 1.0
        begins_ns = self.watched_ns - trial_ns
        if begins_ns <= 0:
            return 0.0
        weight = self.calm_stretches / max(1, len(self.calm_ns))
        return min(1.0, weight * sum(max(0, calm_ns - trial_ns) for calm_ns in self.calm_ns) / begins_ns)


class HostLook(Frozen):
    """What the host took from each CPU that the tester may use, at the same time."""

    cpus: tuple[CpuLook, ...]

    @property
    def busiest(self) -> CpuLook:
        """The CPU of which the largest share was taken; of several, the one that stood still longest."""
        return max(self.cpus, key=lambda cpu: (cpu.taken_share, cpu.longest_stop_ns))

    @property
    def longest_stop_ns(self) -> int:
        """Of any CPU; 0 if there was none."""
        return max(cpu.longest_stop_ns for cpu in self.cpus)

    @property
    def quiet(self) -> bool:
        """Whether no CPU was stopped for so long, or taken for such a share, that a load would show it."""
        return not any(cpu.long_stops or cpu.taken_share > QUIET for cpu in self.cpus)

    def interruptions(self, trial_ns: int) -> float:
        """How many long stops are expected during a trial of this length, on the CPU that has most of them."""
        return max(cpu.interruptions(trial_ns) for cpu in self.cpus)

    def undisturbed_share(self, trial_ns: int) -> float:
        """Share of trials of this length that would have met no long stop on the CPU that has most of them."""
        return min(cpu.undisturbed_share(trial_ns) for cpu in self.cpus)

    def sentence(self, trial_ns: int | None = None) -> str:
        """What was seen, and what follows for trials of a length where one is given."""
        busiest = self.busiest
        longest = _length(self.longest_stop_ns)
        stop = (
            phrase("the longest stop was {longest}", longest=longest)
            if self.longest_stop_ns
            else phrase("nothing stopped it")
        )
        if self.quiet:
            seen = _length(busiest.watched_ns)
            return phrase(
                "this host is quiet (CPU {cpu}: {percent} taken in {seen}, {stop})",
                seen=seen,
                percent=_percent(busiest.taken_share),
                cpu=busiest.cpu,
                stop=stop,
            )
        said = phrase(
            "this host is busy (CPU {cpu}: {percent} taken, {stop})",
            percent=_percent(busiest.taken_share),
            cpu=busiest.cpu,
            stop=stop,
        )
        if not any(cpu.long_stops for cpu in self.cpus):
            return phrase(
                "{said}; a sender catches up after such stops, but the highest loads may not be reached", said=said
            )
        return said if trial_ns is None else join_texts("; ", [said, self._outlook(trial_ns)])

    def _outlook(self, trial_ns: int) -> str:
        length, expected = _length(trial_ns), self.interruptions(trial_ns)
        if expected >= _MANY:
            return phrase(
                "expect about {count} interruptions in a trial of {length}, and wide intervals",
                length=length,
                count=_rounded(expected),
            )
        undisturbed = self.undisturbed_share(trial_ns)
        if undisturbed > 0:
            return phrase(
                "expect {percent} of trials of {length} to be interrupted",
                percent=_percent(1 - undisturbed),
                length=length,
            )
        return plural(
            "expect {count} interruption in every trial of {length}",
            "expect {count} interruptions in every trial of {length}",
            length=length,
            count=max(1, round(expected)),
        )


def span_s(expected_s: float | None) -> float:
    """How long to look before a run that takes at least `expected_s`; None: not known."""
    if expected_s is None:
        return LONGEST_S
    return min(LONGEST_S, max(SHORTEST_S, SHARE * expected_s))


def look_at_host(seconds: float = LONGEST_S, cpus: Iterable[int] | None = None) -> HostLook:
    """Watches CPUs for so long, all at the same time: those given, or the first of those that this process may use.

    It keeps these CPUs busy meanwhile, so that nothing may be measured at the same time.
    """
    watched = sorted(os.sched_getaffinity(0))[:_MOST_CPUS] if cpus is None else list(cpus)
    seen = look_at_cpus(watched, round(seconds * NS_PER_S), STOP_NS)
    return HostLook(cpus=tuple(cpu_look(*one) for one in seen))


def cpu_look(cpu: int, watched_ns: int, stops: Sequence[tuple[int, int]]) -> CpuLook:
    """The account of a CPU's stops, of which each has begin and length in ns."""
    long = [stop for stop in stops if stop[1] >= LONG_STOP_NS]
    begins = [begin_ns for begin_ns, _ in long] + [watched_ns]
    ends = [0] + [begin_ns + length_ns for begin_ns, length_ns in long]
    calm = sorted(begin_ns - end_ns for end_ns, begin_ns in zip(ends, begins, strict=True) if begin_ns > end_ns)
    return CpuLook(
        cpu=cpu,
        watched_ns=watched_ns,
        stops=len(stops),
        taken_ns=sum(length_ns for _, length_ns in stops),
        longest_stop_ns=max((length_ns for _, length_ns in stops), default=0),
        long_stops=len(long),
        calm_stretches=len(calm),
        calm_ns=tuple(_thinned(calm)),
    )


def _thinned(lengths: Sequence[int]) -> Sequence[int]:
    if len(lengths) <= _MOST_LENGTHS:
        return lengths
    ends = [len(lengths) * part // _MOST_LENGTHS for part in range(_MOST_LENGTHS + 1)]
    return [round(fmean(lengths[first:end])) for first, end in pairwise(ends)]


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.995 else "all"


def _length(time_ns: float) -> str:
    for unit_ns, unit in ((NS_PER_S, "s"), (1_000_000, "ms")):
        if time_ns >= unit_ns:
            return f"{float(f'{time_ns / unit_ns:.2g}'):g} {unit}"
    return f"{float(f'{time_ns / 1000:.2g}'):g} µs"


def _rounded(number: float) -> str:
    return f"{float(f'{number:.1g}'):.0f}"

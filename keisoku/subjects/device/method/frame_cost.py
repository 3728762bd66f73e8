"""The CPU time of a frame in a device that shares the sender's core, from runs through it and over a cable in turn.

The sender hands the kernel a batch of frames, and the kernel carries each through the device to the receiving port
before it asks for the next batch. So the time from batch to batch is the CPU time of its frames.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from statistics import median
from typing import Any, Literal

from keisoku.ground.run.settings import Settings
from keisoku.ground.statistics.difference import difference
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.ground.statistics.repeated import FROM_ORDER, combined
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.device.analysis.calm import Calm, calm
from keisoku.subjects.device.analysis.pace import at_pace, usual_ns
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.record.interference import Speed
from keisoku.subjects.device.record.trial import NS_PER_S, Bursts, Constant, Flow, Phases, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

TRIES = 3
"""All runs together are at most so many times those that are to be calm."""
FLAT_OUT_FPS = 1e7
"""More than a core carries; departures are prepared for so many."""
BATCHES = 20
"""Fewer say nothing of the calm time of a run."""
DRAIN_NS, DRAIN_OF_PROCESSES_NS = 20_000_000, 200_000_000
LEARNING_NS = 10_000_000
"""Longer waits than these would say nothing of CPU time: a process may have many frames of a load that it does not
carry still to do."""
OTHERS_LEAST = 0.01
"""CPU time beside the sender's counts from this share of the batches' on: what is below comes from elsewhere."""
OPENINGS = 3
"""Of fewer there is no interval."""
PIECES = 3
"""Fewer pieces of work than this say nothing of a core's speed."""
PAIRED: Mapping[str, Any] = {"trial_s": 0.1, "runs": 1, "reopens": False}
"""Of a `BatchLoad` on one side of a pair, where many pairs follow each other on the same ports."""
POLLING = 0.5
"""A thread polls that takes this share of all threads' CPU time also where no frame comes."""
LOST = 1e-3
"""Share of the frames that may be lost without a word."""

COUNTED = ("instructions", "cycles", "cache_misses")
"""By the processor, in the order of what they say: a neighbour changes no number of instructions."""

Place = Literal["device", "cable"]


class BatchLoad(Settings):
    """What is sent in the runs of one figure."""

    size: int
    """Frame size in bytes."""
    burst: int = 64
    """Frames that arrive together: a power of two up to 256."""
    fps: float | None = None
    """None: batch after batch, as fast as they are carried."""
    trial_s: float = 0.1
    """Least length of each run, which has `BATCHES` at least."""
    runs: int = FROM_ORDER
    """Calm runs that are wanted through the device and over the cable."""
    reopens: bool = True
    """Ports are opened again for each run, because each opening has a level of its own."""
    processes: tuple[str, ...] = ()
    """Numbers or names of processes whose threads belong to the device."""
    sample_ns: int | None = None
    """Least CPU time between two looks at where in the kernel the CPUs are; None: nobody looks."""


@dataclass
class FrameCost:
    """The runs of one load, and what they say."""

    load: BatchLoad
    level: Quantity | None = None
    """The time of a frame in calm batches through the device, as earlier runs showed it; None: there were none."""
    tester: Quantity | None = None
    """The tester's part, if it is known already: then no run over the cable is made."""
    pace_ns: float | None = None
    """The usual pace of the core in earlier runs, if there were any: all figures are at one pace."""
    runs: dict[Place, list[TrialRecord]] = field(default_factory=lambda: {"device": [], "cable": []})

    def measure(self, inputs: MethodInput) -> Generator[Trial, TrialRecord, None]:
        """Runs in turn, until enough of them were calm or there were too many."""
        while wanted := self._wanted():
            # The first of a pair alternates, so that a steady drift meets both alike.
            for place in wanted if len(self.runs["device"]) % 2 else reversed(wanted):
                yield from self.run(inputs, place)

    def run(self, inputs: MethodInput, place: Place) -> Generator[Trial, TrialRecord, None]:
        """One run."""
        record = yield self._trial(inputs, place)
        self.runs[place].append(record)

    def figures(self) -> dict[str, Quantity]:
        """'cost' (ns a frame in the device), 'whole' (with the tester's part), 'tester', 'batches' (the part of the
        whole in the sender's core), 'elsewhere' (the rest, if there is any), 'core' (frames/s that a core carries
        through the device alone, at most: frames that come from another core cost more), 'pace' (ns that a piece of
        work takes on the core, at which all these times are: another clock rate changes both alike), 'instructions',
        'cycles', 'cache_misses' (a frame in the device, where the machine counts them), 'calm' (% of the batches),
        'lost' (frames), 'loss' (% of the frames). Empty where the host left no calm moment."""
        found = self._calm()
        if any(not level.calm_runs for level in found.values()):
            return {}
        batches = self._a_frame("device", found["device"])
        others = self._others(batches.value)
        whole = batches if others is None else _sum(batches, others)
        tester = self.tester or self._a_frame("cable", found["cable"])
        own = difference(whole, tester)
        if self._polling and not self._overloaded:
            own, whole = (Quantity(value=one.value, unit=one.unit, bound="at most") for one in (own, whole))
        figures = {"cost": own, "whole": whole, "tester": tester, "batches": batches}
        if others is not None:
            figures["elsewhere"] = others
        if (core := _per_core(own)) is not None:
            figures["core"] = core
        if (pace_ns := self.usual_pace_ns) is not None:
            figures["pace"] = Quantity(value=pace_ns, unit="ns")
        figures |= self._counted()
        figures["calm"] = Quantity(value=100 * found["device"].share, unit="%")
        figures["lost"] = Quantity(value=self._lost, unit="frames", uncertainty=0.0)
        figures["loss"] = Quantity(value=100 * self._lost / self._sent, unit="%", uncertainty=0.0)
        return figures

    @property
    def remarks(self) -> list[str]:
        """Runs that are left out, and losses."""
        found = []
        for place, level in self._calm().items():
            if level.slow_runs:
                said = phrase("through the device") if place == "device" else phrase("over the cable")
                found.append(
                    plural(
                        "{count} of {runs} run {place} was slow as a whole and is left out",
                        "{count} of {runs} runs {place} were slow as a whole and are left out",
                        count=level.slow_runs,
                        runs=len(level.shares),
                        place=said,
                    )
                )
        if self._polling:
            names = join_texts(", ", self._polling)
            found.append(
                phrase(
                    "{names} also takes its CPU time where no frame comes: all of it counts, as the load was more than "
                    "it carries",
                    names=names,
                )
                if self._overloaded
                else phrase(
                    "{names} also takes its CPU time where no frame comes: give no --rate, or one that it does not "
                    "carry",
                    names=names,
                )
            )
        elif self._overloaded:
            share = 100 * self._lost / self._sent
            found.append(
                phrase("{share:.3g} % of the frames were lost and cost less: give a lower --rate", share=share)
            )
        return found

    def _counted(self) -> dict[str, Quantity]:
        """What the processor counted of a frame in the device: of all runs, as a neighbour takes none of it."""
        found = {}
        for name in COUNTED:
            places = [
                [
                    Quantity(value=record.facts.cpu_counters[name] / frames, unit="")
                    for record in self.runs[place]
                    if name in record.facts.cpu_counters and (frames := record.facts.tracked.forwarded_frames)
                ]
                for place in ("device", "cable")
            ]
            if all(len(levels) > 1 for levels in places):
                found[name] = difference(*(combined(levels, least=0.0) for levels in places))
        return found

    def _others(self, batches_ns: float) -> Quantity | None:
        """CPU time a forwarded frame beside the sender's: of threads, and of soft interrupts on other CPUs, without
        what others cause in the kernel, as the runs over the cable show it; None where it is nothing."""
        runs = [record for record in self.runs["device"] if record.facts.tracked.forwarded_frames]
        found = [
            sum(record.facts.threads_ns.values(), _kernel_ns(record)) / record.facts.tracked.forwarded_frames
            for record in runs
        ]
        if not found:
            return None
        others = combined([Quantity(value=ns, unit="ns") for ns in found], least=0.0)
        if beside := [_kernel_ns(record) for record in self.runs["cable"]]:
            frames = median(record.facts.tracked.forwarded_frames for record in runs)
            others = difference(others, combined([Quantity(value=ns / frames, unit="ns") for ns in beside], least=0.0))
        return others if others.value >= OTHERS_LEAST * batches_ns else None

    @property
    def _polling(self) -> list[str]:
        """Names of threads that take much CPU time while no frame comes: they look for frames all the time."""
        idle, loaded = (_threads(self.runs[place]) for place in ("cable", "device"))
        return sorted(name for name, ns in idle.items() if loaded and ns > POLLING * loaded.total())

    @property
    def _overloaded(self) -> bool:
        """More frames came than the device carries."""
        return self._lost > LOST * self._sent

    @property
    def _lost(self) -> int:
        return sum(record.facts.tracked.lost_frames for record in self.runs["device"])

    @property
    def _sent(self) -> int:
        return sum(record.facts.sent.offered_frames for record in self.runs["device"])

    @property
    def usual_pace_ns(self) -> float | None:
        """The pace of the core, ns a piece of work, at which batch times are told; None where none is known."""
        return usual_ns([record.facts.sent.batches for runs in self.runs.values() for record in runs], self.pace_ns)

    def _calm(self) -> dict[Place, Calm]:
        known_ns = inf if self.level is None else self.level.value * self.load.burst
        limits: dict[Place, float] = {"device": known_ns, "cable": inf}
        usual = self.usual_pace_ns
        fastest_ns = min((speed.fastest_ns for runs in self.runs.values() for speed in _speeds(runs)), default=0)
        return {
            place: calm(
                [at_pace(record.facts.sent.batches, usual) for record in self.runs[place]],
                [
                    speed.total_ns / (speed.pieces * fastest_ns)
                    for speed in _speeds(self.runs[place])
                    if speed.pieces >= PIECES
                ],
                limit_ns,
                self._beside_ns if place == "device" else 0.0,
            )
            for place, limit_ns in limits.items()
            if self.tester is None or place == "device"
        }

    @property
    def _beside_ns(self) -> float:
        """What the frames of a batch take in the threads of the device's processes: without the kernel's, which others
        cause as well."""
        every = [
            sum(record.facts.threads_ns.values()) / frames
            for record in self.runs["device"]
            if (frames := record.facts.tracked.forwarded_frames)
        ]
        return median(every) * self.load.burst if every else 0.0

    def _a_frame(self, place: Place, found: Calm) -> Quantity:
        """ns a frame, from the calm runs: of few, whose scatter says little, without an interval."""
        levels = [level_ns / self.load.burst for level_ns in found.levels_ns if level_ns is not None]
        rounding = 0.5 / self.load.burst
        figure = combined([Quantity(value=level, unit="ns", uncertainty=rounding) for level in levels], least=0.0)
        least = OPENINGS if self.load.reopens else FROM_ORDER
        return figure if len(levels) >= least else Quantity(value=figure.value, unit=figure.unit)

    def _wanted(self) -> list[Place]:
        """Where runs are missing."""
        # Of a single run nobody knows whether all of it was slow, unless earlier runs say so.
        runs = self.load.runs if self.level else max(2, self.load.runs)
        return [
            place
            for place, level in self._calm().items()
            if level.calm_runs < runs and len(level.shares) < TRIES * runs
        ]

    def _trial(self, inputs: MethodInput, place: Place) -> Trial:
        load, number = self.load, len(self.runs[place]) + 1
        opens = number == 1 or load.reopens
        where = phrase("device") if place == "device" else phrase("cable")
        purpose = phrase(
            "{where} {number}, {size} byte, bursts of {burst}",
            where=where,
            number=number,
            size=load.size,
            burst=load.burst,
        )
        seconds = load.trial_s if load.fps is None else max(load.trial_s, BATCHES * load.burst / load.fps)
        trial = inputs.trial(purpose, load.size, load.fps or FLAT_OUT_FPS, seconds)
        waits = trial.phases
        pacing = Constant() if load.burst == 1 else Bursts(burst_frames=load.burst)
        return trial.model_copy(
            update={
                "batch_frames": load.burst,
                "reopens": opens and number > 1,
                "flat_out": load.fps is None,
                "at_full_speed": True,
                "on_cable": place == "cable",
                # Over the cable no frame comes to them: what they take then, they take for nothing or for others.
                "processes": load.processes,
                # Another one in each run: in no two of them it keeps step with the batches alike.
                "sample_every_ns": load.sample_ns and round(load.sample_ns * (1 + 0.037 * (number % 8))),
                "flows": () if load.fps is None else (Flow(transmit=0, receive=1, pacing=pacing),),
                "phases": Phases(
                    # What a device has learned, the runs after it keep known, until the ports are opened again.
                    learning=waits.learning and opens,
                    learning_wait_ns=min(waits.learning_wait_ns, LEARNING_NS),
                    drain_ns=min(waits.drain_ns, DRAIN_OF_PROCESSES_NS if load.processes else DRAIN_NS),
                    rest_ns=0,
                ),
            }
        )


def _threads(records: Sequence[TrialRecord]) -> Counter[str]:
    """CPU time of threads beside the sender's by name, in ns a run."""
    taken: Counter[str] = Counter()
    for record in records:
        taken.update(record.facts.threads_ns)
    return Counter({name: ns // len(records) for name, ns in taken.items()})


def _speeds(records: Sequence[TrialRecord]) -> list[Speed]:
    """Of the senders' cores."""
    every = [record.facts.interference for record in records]
    return [core.speed for one in every if one is not None for core in one.cores if core.speed and core.speed.pieces]


def _kernel_ns(record: TrialRecord) -> int:
    """CPU time of the kernel's threads that carry packets, and of soft interrupts on other CPUs than the sender's."""
    return sum(record.facts.packet_threads_ns.values()) + sum(record.facts.soft_interrupts_ns.values())


def _sum(one: Quantity, other: Quantity) -> Quantity:
    return difference(one, other.negated)


def _per_core(own: Quantity) -> Quantity | None:
    """Frames/s of a core that does nothing but the device's part; None where that is not surely above zero."""
    if own.bounds is None or own.bounds[0] <= 0:
        return None
    low, high = own.bounds
    ends = Interval(lower=NS_PER_S / high, upper=NS_PER_S / low)
    return Quantity(value=NS_PER_S / own.value, unit="frames/s", interval=ends)

"""Where inside a device the CPU time of a frame goes: from runs in which the CPUs are sampled, beside runs in which
they are not.

What sampling itself costs is in no figure: shares come from the sampled runs, and times from the others. The tester's
part of each stage is its share of the runs over the cable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import median

from keisoku.ground.report import digits
from keisoku.ground.statistics.difference import difference
from keisoku.ground.statistics.quantity import Quantity
from keisoku.ground.statistics.share import clopper_pearson
from keisoku.ground.statistics.uncertainty import combine, half_width
from keisoku.language import phrase
from keisoku.subjects.device.analysis.calm import calm
from keisoku.subjects.device.analysis.pace import at_pace
from keisoku.subjects.device.analysis.stages import OTHERS, REST, elsewhere, in_batches
from keisoku.subjects.device.method.frame_cost import FrameCost, Place
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.record.stacks import Stacks
from keisoku.subjects.device.record.trial import NS_PER_S, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

LEAST_NS = 100_000
"""CPU time between two looks: a look takes up to 20 µs in a virtual machine."""
APART = 3.1
"""Batches from one look to the next: the one before a look is then never longer by a look itself, whatever its place,
and says whether the moment was calm."""
LOOKS = 1000
"""In each run."""
PLACES: tuple[Place, ...] = ("device", "cable")
LEAST = 0.01
"""Stages that take surely less of a frame's cost than this are shown together."""
_NOTHING = Quantity(value=0.0, unit="", uncertainty=0.0)


@dataclass
class CostInside:
    """The sampled runs beside those of `cost`, and what they say."""

    cost: FrameCost
    sampled: FrameCost | None = None
    """None: nothing is known of a frame's cost, and so of how often to look."""

    def measure(self, inputs: MethodInput) -> Generator[Trial, TrialRecord, None]:
        """The runs of both, as many sampled as others. One that is sampled is the first and counts for nothing: where
        the kernel does not allow it, nothing else is measured before."""
        yield from self._looking(LEAST_NS).run(inputs, "device")
        yield from self.cost.measure(inputs)
        if batches := self.cost.figures().get("batches"):
            self.sampled = self._looking(round(APART * batches.value * self.cost.load.burst))
            self.sampled.level = batches
            yield from self.sampled.measure(inputs)

    def _looking(self, every_ns: int) -> FrameCost:
        every_ns = max(LEAST_NS, every_ns)
        trial_s = max(self.cost.load.trial_s, LOOKS * every_ns / NS_PER_S)
        return FrameCost(self.cost.load.model_copy(update={"sample_ns": every_ns, "trial_s": trial_s}))

    def parts(self) -> dict[str, Quantity]:
        """The ns a frame of each stage in the device, the largest first; what is not attributed is last. They add up
        to the cost. Empty where the cost is not known, or no run was sampled."""
        figures = self.cost.figures()
        if not figures:
            return {}
        own, testers = map(self._in_batches, PLACES)
        if not own or not testers:
            return {}
        others = shares([elsewhere(stacks) for stacks in self._stacks("device")]) if "elsewhere" in figures else {}
        parts = {}
        for stage in {*own, *testers, *others}:
            part = difference(_part(own, stage, figures["batches"]), _part(testers, stage, figures["tester"]))
            if others:
                part = _sum([part, _part(others, stage, figures["elsewhere"])])
            parts[stage] = part
        return _ordered(parts, figures["cost"])

    @property
    def look_ns(self) -> float:
        """By how much a look made the batch longer in which it was, in ns, against the calm one before it; 0 if nobody
        looked. It is in no figure."""
        pairs = [
            pair
            for place in PLACES
            for reach_ns in [self._reach_ns(place)]
            for stacks in self._stacks(place)
            for stack in stacks.found
            for pair in stack.batches_ns
            if pair[0] <= reach_ns
        ]
        return median(own_ns - before_ns for before_ns, own_ns in pairs) if pairs else 0.0

    @property
    def remarks(self) -> list[str]:
        """What looking cost, and samples that were lost."""
        found = []
        if not self.parts():
            found.append(phrase("the host never left the core undisturbed, so the inside of the device was not seen"))
        if self.look_ns:
            found.append(
                phrase(
                    "each look inside took {time} of the CPU's time, which is in no figure",
                    time=digits.value_text(Quantity(value=self.look_ns, unit="ns")),
                )
            )
        if lost := sum(stacks.lost for place in PLACES for stacks in self._stacks(place)):
            found.append(phrase("{lost} looks inside were lost", lost=lost))
        return found

    def _stacks(self, place: Place) -> list[Stacks]:
        return [stacks for record in self._runs(place) if (stacks := record.facts.stacks) is not None]

    def _runs(self, place: Place) -> list[TrialRecord]:
        return self.sampled.runs[place] if self.sampled else []

    def _in_batches(self, place: Place) -> dict[str, Quantity]:
        """Of the looks after calm batches, the share of each stage, from 0 to 1; empty if there are none."""
        reach_ns = self._reach_ns(place)
        return shares([in_batches(stacks, reach_ns) for stacks in self._stacks(place)])

    def _reach_ns(self, place: Place) -> float:
        """The longest calm batch: no longer than it may be by the runs in which nobody looks."""
        frame = self.cost.figures().get("batches" if place == "device" else "tester")
        usual_ns = self.cost.usual_pace_ns
        runs = [at_pace(record.facts.sent.batches, usual_ns) for record in self._runs(place)]
        return calm(runs, known_ns=inf if frame is None else frame.value * self.cost.load.burst).reach_ns


def shares(runs: Sequence[Counter[str]]) -> dict[str, Quantity]:
    """The share of each stage in all samples, from 0 to 1, with Student's interval of the runs; it is at least that of
    samples that are independent of each other. Empty without a run."""
    pooled = sum(runs, Counter[str]())
    whole = pooled.total()
    found = {}
    for stage, count in pooled.items():
        # Of each run what it has more than its part: runs with more calm batches say more (a ratio of sums; Cochran,
        # Sampling Techniques, 6.4).
        apart = [len(runs) * (run[stage] - count / whole * run.total()) / whole for run in runs]
        low, high = clopper_pearson(count, whole)
        wide = max((high - low) / 2, half_width(apart) if len(runs) > 1 else 0.0)
        found[stage] = Quantity(value=count / whole, unit="", uncertainty=wide)
    return found


def _part(shares: Mapping[str, Quantity], stage: str, whole: Quantity) -> Quantity:
    """ns of a stage whose share of `whole` is known."""
    share = shares.get(stage, _NOTHING)
    low, high = whole.bounds or (whole.value, whole.value)
    wide = combine(whole.value * (share.uncertainty or 0.0), share.value * (high - low) / 2)
    return Quantity(value=share.value * whole.value, unit=whole.unit, uncertainty=wide)


def _sum(parts: Sequence[Quantity]) -> Quantity:
    """Of some parts in ns: where they are shares of one whole, its uncertainty is less than this one."""
    wide = combine(*(part.uncertainty or 0.0 for part in parts))
    return Quantity(value=sum(part.value for part in parts), unit="ns", uncertainty=wide)


def _ordered(parts: dict[str, Quantity], cost: Quantity) -> dict[str, Quantity]:
    rest = parts.pop(REST, None)
    small = [stage for stage, part in parts.items() if (part.bounds or (0.0, 0.0))[1] < LEAST * cost.value]
    together = [parts.pop(stage) for stage in small]
    ordered = dict(sorted(parts.items(), key=lambda item: -item[1].value))
    if together:
        ordered[OTHERS] = _sum(together)
    return ordered | {REST: rest if rest is not None else Quantity(value=0.0, unit="ns", uncertainty=0.0)}

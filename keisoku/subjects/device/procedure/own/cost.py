"""The CPU time that a frame takes in a device which works on this host.

Sender, device and receiver share a core: the sender hands the kernel a batch of frames, and the kernel carries each
through the device to the receiving port before it asks for the next batch. So the time from batch to batch is the CPU
time of its frames, and no load has to be found at which nothing is lost. The same on a cable is the tester's part.
Runs on both alternate, so that what the host does meets both alike.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Annotated, Literal

from pydantic import Field, field_validator

from keisoku.errors import PlanError
from keisoku.ground.report import digits
from keisoku.ground.report.sentence import both
from keisoku.ground.run.result import Result, Row
from keisoku.ground.run.settings import Option, Settings, not_an_option
from keisoku.ground.statistics.difference import difference
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.ground.statistics.repeated import FROM_ORDER, combined
from keisoku.language import phrase, plural
from keisoku.subjects.device.analysis.calm import Calm, calm
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method.setting import Setting
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.plan.rate import Load
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.trial import NS_PER_S, Bursts, Constant, Flow, Phases, Trial, TrialRecord


class Known(Settings):
    """What earlier runs found at one size and burst."""

    size: int
    burst: int
    found: Quantity
    """In ns a frame."""


class CostSettings(Settings):
    """The CPU time of a frame in a device on this host, without the tester's part."""

    trial_s: float = Field(0.15, gt=0)
    """Length of each run."""
    runs: int = Field(8, ge=2)
    """Calm runs through the device and over the cable at each size; slow ones are made up for, up to three times as
    many in all."""
    bursts: tuple[int, ...] = Field((64,), min_length=1)
    """Frames that arrive together: powers of two up to 256, each measured by itself."""
    rate_fps: Load | None = None
    """Load (default: batch after batch, as fast as they are carried)."""
    process: Annotated[tuple[str, ...], Option("PID|NAME", several=True)] = ()
    """Process whose threads belong to the device, such as ovs-vswitchd or qemu-system-x86; its CPU time counts."""
    level: tuple[Known, ...] = not_an_option(())
    """The time of a frame in calm batches of earlier runs through the device."""
    tester: tuple[Known, ...] = not_an_option(())
    """The tester's part, where it is known: then no run over the cable is made."""

    @field_validator("bursts")
    @classmethod
    def _powers_of_two(cls, given: tuple[int, ...]) -> tuple[int, ...]:
        if other := next((size for size in given if size not in _BURSTS), None):
            raise PlanError("bursts", f"{other} is no power of two up to 256", "use such as 1,8,64")
        return given


_BURSTS = tuple(2**power for power in range(9))
_FLAT_OUT_FPS = 1e7
"""More than a core carries; departures are prepared for so many."""
_DRAIN_NS = 20_000_000
_LEARNING_NS = 10_000_000
_TRIES = 3
"""All runs together are at most so many times those that are to be calm."""
_OTHERS_LEAST = 0.01
"""CPU time beside the sender's counts from this share of the batches' on: what is below comes from elsewhere."""
_PAIRED_S = 0.1
_PAIRED = 3
"""Length and number of the runs on one side of a pair, where many pairs follow each other."""
_LOST = 1e-3
"""Share of the frames that may be lost without a word."""

Place = Literal["device", "cable"]


@dataclass
class _Measured:
    """The runs of one size and burst."""

    size: int
    burst: int
    level: Quantity | None
    """The time of a frame in calm batches, if it is known already; and the tester's part of it."""
    tester: Quantity | None
    runs: dict[Place, list[TrialRecord]] = field(default_factory=lambda: {"device": [], "cable": []})

    def calm(self, place: Place) -> Calm:
        known = self.level if place == "device" else None
        known_ns = inf if known is None else known.value * self.burst
        return calm([record.facts.sent.batches for record in self.runs[place]], known_ns)

    def wanted(self, runs: int) -> list[Place]:
        """Where runs are missing."""
        places: tuple[Place, ...] = ("device", "cable") if self.tester is None else ("device",)
        return [
            place
            for place in places
            if len(self.calm(place).levels_ns) < runs and len(self.runs[place]) < _TRIES * runs
        ]


def cost(setting: Setting) -> Generator[Trial, TrialRecord, Result]:
    """One row a size and burst: 'cost' (ns a frame in the device), 'whole' (with the tester's part), 'tester', 'core'
    (frames/s that a core carries through the device alone), 'calm' (% of the batches), 'lost' (frames)."""
    settings = setting.plan.of(CostSettings)
    rows = []
    for size in setting.plan.frame_bytes:
        for burst in settings.bursts:
            measured = _Measured(
                size, burst, *(_known(each, size, burst) for each in (settings.level, settings.tester))
            )
            while wanted := measured.wanted(settings.runs):
                # The first of a pair alternates, so that a steady drift meets both alike.
                for place in wanted if len(measured.runs["device"]) % 2 else reversed(wanted):
                    record = yield _trial(setting, settings, measured, place)
                    measured.runs[place].append(record)
            rows.append(_row(measured, several=len(settings.bursts) > 1))
    return Result(measurement="cost", rows=rows, remarks=_remarks(setting.plan))


def _trial(setting: Setting, settings: CostSettings, measured: _Measured, place: Place) -> Trial:
    size, burst, number = measured.size, measured.burst, len(measured.runs[place]) + 1
    fps = setting.fps(settings.rate_fps, size)
    where = phrase("device") if place == "device" else phrase("cable")
    purpose = phrase(
        "{where} {number}, {size} byte, bursts of {burst}", where=where, number=number, size=size, burst=burst
    )
    trial = setting.trial(purpose, size, fps or _FLAT_OUT_FPS, settings.trial_s)
    waits = trial.phases
    pacing = Constant() if burst == 1 else Bursts(burst_frames=burst)
    return trial.model_copy(
        update={
            "batch_frames": burst,
            "flat_out": fps is None,
            "on_cable": place == "cable",
            "processes": settings.process if place == "device" else None,
            "flows": () if fps is None else (Flow(transmit=0, receive=1, pacing=pacing),),
            "phases": Phases(
                learning=waits.learning,
                learning_wait_ns=min(waits.learning_wait_ns, _LEARNING_NS),
                drain_ns=min(waits.drain_ns, _DRAIN_NS),
                rest_ns=0,
            ),
        }
    )


def _row(measured: _Measured, several: bool) -> Row:
    found = {place: measured.calm(place) for place, runs in measured.runs.items() if runs}
    case = phrase("bursts of {burst}", burst=measured.burst) if several else ""
    remarks = []
    for place, level in found.items():
        if level.slow_runs:
            said = phrase("through the device") if place == "device" else phrase("over the cable")
            remarks.append(
                plural(
                    "{count} of {runs} run {place} was slow as a whole and is left out",
                    "{count} of {runs} runs {place} were slow as a whole and are left out",
                    count=level.slow_runs,
                    runs=len(level.shares),
                    place=said,
                )
            )
    if any(len(level.levels_ns) < 2 for level in found.values()):
        why = phrase("this host left its core no calm moment: {said}", said="; ".join(remarks))
        return Row(frame_bytes=measured.size, figures={}, case=case, remark=why)
    batches = _a_frame(found["device"], measured.burst)
    others = _others(measured.runs["device"], batches.value)
    whole = batches if others is None else _sum(batches, others)
    tester = measured.tester or _a_frame(found["cable"], measured.burst)
    own = difference(whole, tester)
    sent = sum(record.facts.sent.offered_frames for record in measured.runs["device"])
    lost = sum(record.facts.tracked.lost_frames for record in measured.runs["device"])
    if lost > _LOST * sent:
        remarks.append(
            phrase(
                "{share:.2g} % of the frames were lost: those cost what they took until then", share=100 * lost / sent
            )
        )
    figures = {"cost": own, "whole": whole, "tester": tester, "batches": batches}
    if others is not None:
        figures["elsewhere"] = others
    if (core := _per_core(own)) is not None:
        figures["core"] = core
    figures["calm"] = Quantity(value=100 * found["device"].share, unit="%")
    figures["lost"] = Quantity(value=lost, unit="frames", uncertainty=0.0)
    return Row(frame_bytes=measured.size, figures=figures, case=case, remark="; ".join(remarks))


def _a_frame(level: Calm, burst: int) -> Quantity:
    """ns a frame, from the calm level of each run: of few runs, whose scatter says little, without an interval."""
    runs = [Quantity(value=ns / burst, unit="ns", uncertainty=0.5 / burst) for ns in level.levels_ns]
    found = combined(runs, least=0.0)
    return found if len(runs) >= FROM_ORDER else Quantity(value=found.value, unit=found.unit)


def _in_pairs(settings: CostSettings) -> CostSettings:
    short = {"trial_s": _PAIRED_S, "runs": _PAIRED}
    return settings.model_copy(
        update={key: value for key, value in short.items() if key not in settings.model_fields_set}
    )


def _near(settings: CostSettings, result: Result) -> CostSettings:
    """With the tester's part, so that runs over the cable need not be repeated."""
    found = (*settings.tester, *_found(settings, result, "tester"))
    return settings.model_copy(update={"tester": found})


def _among(settings: CostSettings, earlier: Sequence[Result]) -> CostSettings:
    """With the lowest level of the earlier runs."""
    found = [one for result in earlier for one in _found(settings, result, "batches")]
    return settings.model_copy(update={"level": tuple(sorted(found, key=lambda one: one.found.value))})


def _found(settings: CostSettings, result: Result, figure: str) -> list[Known]:
    """A figure of all rows that have it; the rows of a size are in the order of the bursts."""
    found = []
    for size in dict.fromkeys(row.frame_bytes for row in result.rows):
        own = [row for row in result.rows if row.frame_bytes == size]
        found += [
            Known(size=size, burst=burst, found=row.figures[figure])
            for burst, row in zip(settings.bursts, own, strict=True)
            if size is not None and figure in row.figures
        ]
    return found


def _known(every: Sequence[Known], size: int, burst: int) -> Quantity | None:
    return next((one.found for one in every if (one.size, one.burst) == (size, burst)), None)


def _others(records: Sequence[TrialRecord], batches_ns: float) -> Quantity | None:
    """CPU time a forwarded frame beside the sender's: of threads, and of soft interrupts on other CPUs; None where it
    is nothing."""
    found = []
    for record in records:
        taken_ns = sum(record.facts.threads_ns.values()) + sum(record.facts.soft_interrupts_ns.values())
        frames = record.facts.tracked.forwarded_frames
        if frames:
            found.append(taken_ns / frames)
    if not found or sorted(found)[len(found) // 2] < _OTHERS_LEAST * batches_ns:
        return None
    return combined([Quantity(value=ns, unit="ns") for ns in found], least=0.0)


def _sum(one: Quantity, other: Quantity) -> Quantity:
    return difference(one, other.model_copy(update={"value": -other.value, "interval": _turned(other.interval)}))


def _turned(interval: Interval | None) -> Interval | None:
    return None if interval is None else Interval(lower=-interval.upper, upper=-interval.lower)


def _per_core(own: Quantity) -> Quantity | None:
    """Frames/s of a core that does nothing but the device's part; None where that is not surely above zero."""
    if own.bounds is None or own.bounds[0] <= 0:
        return None
    low, high = own.bounds
    ends = Interval(lower=NS_PER_S / high, upper=NS_PER_S / low)
    return Quantity(value=NS_PER_S / own.value, unit="frames/s", interval=ends)


def _remarks(plan: Plan) -> list[str]:
    if any(name.partition(":")[0] == "lab" for name in (plan.dut or "",)):
        return []
    return [phrase("the tester's part was measured on a cable of the kernel's veth")]


def _check(plan: Plan, capabilities: Capabilities) -> None:
    if plan.pairs() != [(0, 1)]:
        raise PlanError("pattern", "cost is measured from one port to one other", "leave it out")


def _sentence(result: Result) -> str:
    rows = [row for row in result.rows if "cost" in row.figures]
    parts = [
        phrase(
            "{own} of CPU time in the device, of {whole} in all; the tester's part is {tester}",
            own=digits.text(row.figures["cost"]),
            whole=digits.text(row.figures["whole"]),
            tester=digits.text(row.figures["tester"]),
        )
        for row in rows[:1]
    ]
    if not parts:
        return ""
    size = rows[0].frame_bytes
    return phrase("A frame of {size} bytes takes {parts}.", size=size, parts=both(parts))


PROCEDURE = Procedure(
    name="cost",
    title=phrase("Cost of a frame"),
    standard="no standard",
    summary="The CPU time that one frame takes in a device on this host, in ns, without the tester's part.",
    settings=CostSettings,
    generator=cost,
    figure="cost",
    example="keisoku cost --dut lab:bridge\nkeisoku cost --tx veth0 --rx veth1 --size 64,1518 --bursts 1,8,64",
    sizes="64",
    needs=("cost",),
    check=_check,
    in_pairs=_in_pairs,
    among=_among,
    near=_near,
    columns={phrase("CPU time a frame"): "cost"},
    sentence=_sentence,
)

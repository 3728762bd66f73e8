"""The CPU time that a frame takes in a device which works on this host, at each size and burst."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from itertools import chain
from statistics import median
from typing import Annotated

from pydantic import Field, field_validator

from keisoku.errors import PlanError
from keisoku.ground.report import digits
from keisoku.ground.run.result import Result, Row
from keisoku.ground.run.settings import Option, Settings, not_an_option
from keisoku.ground.statistics.difference import difference
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.analysis.calm import NEAR_KNOWN, level_of
from keisoku.subjects.device.entry import COSTS, Procedure
from keisoku.subjects.device.method.cost_inside import CostInside
from keisoku.subjects.device.method.frame_cost import LOST, PAIRED, BatchLoad, FrameCost
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.plan.rate import Load
from keisoku.subjects.device.plan.uri import is_lab
from keisoku.subjects.device.procedure.own.cost_plot import cost_plot
from keisoku.subjects.device.procedure.own.inside_plot import inside_plot
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord


class EarlierFigure(Settings):
    """What earlier runs found at one size and burst."""

    size: int
    burst: int
    found: Quantity
    """In ns a frame."""


class CostSettings(Settings):
    """The CPU time of a frame in a device on this host, without the tester's part."""

    trial_s: float = Field(0.1, gt=0)
    """Length of each run; longer for a load of fewer than 20 batches in that time."""
    runs: int = Field(10, ge=1)
    """Calm runs through the device, and as many over the cable, at each size; up to three times as many are made where
    some are slow. At least two are made where no earlier run is known."""
    bursts: tuple[int, ...] = Field((64,), min_length=1)
    """Frames that arrive together: powers of two up to 256, each measured by itself."""
    rate_fps: Load | None = None
    """Load (default: batch after batch, as fast as they are carried)."""
    process: Annotated[tuple[str, ...], Option("PID|NAME", several=True)] = ()
    """Process whose threads belong to the device, such as ovs-vswitchd or qemu-system-x86; its CPU time counts.
    The daemons of a laboratory are known."""
    inside: bool = False
    """Also measure where inside the device the time goes: which stages of the kernel, programs and threads."""
    reopens: bool = not_an_option(True)
    """Whether ports are opened again between runs; in pairs both sides have the same opening."""
    level: tuple[EarlierFigure, ...] = not_an_option(())
    """The time of a frame in calm batches of earlier runs through the device."""
    pace_ns: float | None = not_an_option(None)
    """The pace of the core in the first of these runs, ns a piece of work."""
    tester: tuple[EarlierFigure, ...] = not_an_option(())
    """The tester's part, where it is known: then no run over the cable is made."""

    @field_validator("bursts")
    @classmethod
    def _powers_of_two(cls, given: tuple[int, ...]) -> tuple[int, ...]:
        other = next((size for size in given if size not in _BURSTS), None)
        if other is not None:
            raise PlanError("bursts", f"{other} is no power of two up to 256", "use such as 1,8,64")
        return given


_BESIDE = 30
"""Runs before one, and after it, that show whether it was slow."""
_LOSSES = 3
"""Runs of a side that show how many frames it loses."""
_BURSTS = tuple(2**power for power in range(9))


def cost(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """One row a size and burst, with the figures of `FrameCost`."""
    settings = inputs.plan.settings_of(CostSettings)
    rows: list[Row] = []
    within: list[Row] = []
    remarks = []
    for size in inputs.plan.frame_bytes:
        for burst in settings.bursts:
            load = BatchLoad(
                size=size,
                burst=burst,
                fps=inputs.fps(settings.rate_fps, size),
                trial_s=settings.trial_s,
                runs=settings.runs,
                processes=settings.process,
                reopens=settings.reopens,
            )
            level, tester = (_known(each, size, burst) for each in (settings.level, settings.tester))
            measured = FrameCost(load, level, tester, settings.pace_ns)
            inside = CostInside(measured) if settings.inside else None
            yield from (inside or measured).measure(inputs)
            rows.append(_row(measured, several=len(settings.bursts) > 1))
            if inside is not None:
                within += _stages(inside, several=len(settings.bursts) > 1)
                remarks += inside.remarks
    if not is_lab(inputs.plan.dut):
        remarks.append(phrase("the tester's part was measured on a cable of the kernel's veth"))
    if rows and not any("instructions" in row.figures for row in rows) and settings.reopens:
        remarks.append(phrase("the processor counts no instructions here, as in most virtual machines"))
    result = Result(measurement="cost", rows=[*rows, *within], remarks=remarks)
    return result.model_copy(update={"sentence": _sentence(result)}) if within else result


def _row(measured: FrameCost, several: bool) -> Row:
    load, figures, remarks = measured.load, measured.figures(), measured.remarks
    if not figures:
        remarks = [phrase("this host never left its core undisturbed"), *remarks]
    case = phrase("bursts of {burst}", burst=load.burst) if several else ""
    return Row(frame_bytes=load.size, figures=figures, case=case, remark=join_texts("; ", remarks))


def _stages(inside: CostInside, several: bool) -> list[Row]:
    """A row for each stage."""
    load, parts = inside.cost.load, inside.parts()
    whole = sum(part.value for part in parts.values())
    group = phrase("Stage, in bursts of {burst}", burst=load.burst) if several else phrase("Stage")
    return [
        Row(
            frame_bytes=load.size,
            figures={"part": part, "share": part.scaled(100 / whole, "%")},
            case=stage,
            group=group,
        )
        for stage, part in parts.items()
    ]


def _in_pairs(settings: CostSettings) -> CostSettings:
    """Raises PlanError for what pairs cannot say."""
    if settings.inside:
        raise PlanError("inside", "pairs are too short to look inside the device", "measure each side by itself")
    return settings.model_copy(
        update={key: value for key, value in PAIRED.items() if key not in settings.model_fields_set}
    )


def _near(settings: CostSettings, result: Result) -> CostSettings:
    """With the tester's part, so that runs over the cable need not be repeated, and the pace of the core then."""
    found = (*settings.tester, *_found(settings, result, "tester"))
    paces = [row.figures["pace"].value for row in result.rows if "pace" in row.figures]
    pace_ns = settings.pace_ns or next(iter(paces), None)
    return settings.model_copy(update={"tester": found, "pace_ns": pace_ns})


def _among(settings: CostSettings, earlier: Sequence[Result]) -> CostSettings:
    """With the level of the earlier runs."""
    known: dict[tuple[int, int], list[Quantity]] = {}
    for each in (one for result in earlier for one in _found(settings, result, "batches")):
        known.setdefault((each.size, each.burst), []).append(each.found)
    level = [
        EarlierFigure(size=size, burst=burst, found=Quantity(value=level_of([one.value for one in found]), unit="ns"))
        for (size, burst), found in known.items()
    ]
    return settings.model_copy(update={"level": tuple(level)})


def _alike(results: Sequence[Result]) -> list[Result]:
    """Each row as it is beside those of the runs before and after it."""
    places = [{(row.frame_bytes, row.case): row for row in result.rows} for result in results]

    def alike(number: int, row: Row) -> Row:
        beside = places[max(0, number - _BESIDE) : number + _BESIDE + 1]
        rows = [rows[place] for rows in beside if (place := (row.frame_bytes, row.case)) in rows]
        return _beside(row, [one.figures for one in rows if "batches" in one.figures])

    return [
        result.model_copy(update={"rows": [alike(number, row) for row in result.rows]})
        for number, result in enumerate(results)
    ]


def _incomparable(figure: str, a: Sequence[Row | None], b: Sequence[Row | None]) -> str:
    """A side that loses more frames only seems to take less time, but where the time of each frame that passes
    counts: that of a device which takes it elsewhere."""
    measured = [[row.figures for row in side if row is not None and "loss" in row.figures] for side in (a, b)]
    asks_for_losses = figure in ("lost", "loss")
    if asks_for_losses or min(map(len, measured)) < _LOSSES or all("elsewhere" in each for each in chain(*measured)):
        return ""
    of_a, of_b = (median(each["loss"].value for each in side) for side in measured)
    if abs(of_b - of_a) <= 100 * LOST:
        return ""
    return phrase("A lost {a:.3g} % of its frames, and B {b:.3g} %: a lost frame takes less time", a=of_a, b=of_b)


def _beside(row: Row, known: Sequence[Mapping[str, Quantity]]) -> Row:
    """Without figures if the run was slow. Without CPU time elsewhere if a quarter of the runs, of which these are the
    figures, had none: what the others had is another program's."""
    figures = row.figures
    if "batches" not in figures:
        return row
    others = figures.get("elsewhere")
    elsewhere_ns = [each["elsewhere"].value for each in known if "elsewhere" in each]
    of_device = 4 * (len(known) - len(elsewhere_ns)) < len(known)
    level_ns = level_of([each["batches"].value for each in known])
    # A few ns are nothing beside what the frame takes elsewhere.
    most_ns = NEAR_KNOWN * level_ns + (NEAR_KNOWN - 1) * (median(elsewhere_ns) if of_device else 0.0)
    if figures["batches"].value > most_ns:
        return row.model_copy(update={"figures": {}, "remark": phrase("this run was slow as a whole beside others")})
    if others is None or of_device:
        return row
    kept = {name: each for name, each in figures.items() if name not in ("elsewhere", "core")}
    less = {name: difference(kept[name], others) for name in ("cost", "whole")}
    return row.model_copy(update={"figures": kept | less})


def _found(settings: CostSettings, result: Result, figure: str) -> list[EarlierFigure]:
    """A figure of all rows that have it; the rows of a size are in the order of the bursts."""
    found = []
    for size in dict.fromkeys(row.frame_bytes for row in result.rows):
        own = [row for row in result.rows if row.frame_bytes == size]
        found += [
            EarlierFigure(size=size, burst=burst, found=row.figures[figure])
            for burst, row in zip(settings.bursts, own, strict=False)
            if size is not None and figure in row.figures
        ]
    return found


def _known(every: Sequence[EarlierFigure], size: int, burst: int) -> Quantity | None:
    return next((one.found for one in every if (one.size, one.burst) == (size, burst)), None)


def _check(plan: Plan, capabilities: Capabilities) -> None:
    if plan.pairs() != [(0, 1)]:
        raise PlanError("pattern", "cost is measured from one port to one other", "leave it out")


def _sentence(result: Result) -> str:
    rows = [row for row in result.rows if "cost" in row.figures]
    if not rows:
        return ""
    # Of several bursts the largest one, as in the table of sizes.
    row = [each for each in rows if each.frame_bytes == rows[0].frame_bytes][-1]
    size = phrase("{size} bytes", size=row.frame_bytes)
    said = phrase(
        "A frame of {size} takes {own} of CPU time in the device ({whole} in all, of which {tester} are the tester's).",
        size=join_texts(", ", [size, row.case]) if row.case else size,
        own=digits.text(row.figures["cost"]),
        whole=digits.value_text(row.figures["whole"]),
        tester=digits.value_text(row.figures["tester"]),
    )
    stages = [one for one in result.rows if "part" in one.figures and one.frame_bytes == row.frame_bytes]
    stages = [one for one in stages if one.group == stages[-1].group]
    if not stages:
        return said
    parts = [join_texts(" ", [one.case, _with_share(one)]) for one in stages]
    return join_texts(" ", [said, phrase("Inside: {stages}.", stages=join_texts("; ", parts))])


def _with_share(row: Row) -> str:
    share, part = digits.value_text(row.figures["share"]), digits.text(row.figures["part"])
    return join_texts("", [share, " (", part, ")"])


PROCEDURE = Procedure(
    name="cost",
    title=phrase("Cost of a frame"),
    standard=phrase("CPU time by batches of frames"),
    summary="The CPU time that one frame takes in a device on this host.",
    settings=CostSettings,
    of_cpu=True,
    generator=cost,
    figure="cost",
    units=COSTS,
    example="keisoku cost --dut lab:bridge\nkeisoku cost --tx veth0 --rx veth1 --size 64,1518 --bursts 1,8,64",
    sizes="64",
    needs=("cost",),
    times_batches=True,
    check=_check,
    in_pairs=_in_pairs,
    near=_near,
    among=_among,
    alike=_alike,
    incomparable=_incomparable,
    plots=(cost_plot, inside_plot),
    columns={phrase("CPU time a frame"): "cost", phrase("A core carries at most"): "core"},
    sentence=_sentence,
)

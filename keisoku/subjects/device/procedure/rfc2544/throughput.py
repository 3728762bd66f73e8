"""RFC 2544 §26.1: throughput, the highest load at which the DUT forwards every frame."""

from __future__ import annotations

from collections.abc import Generator
from math import inf

from keisoku.ground.entry import StandIn
from keisoku.ground.report import digits
from keisoku.ground.report.sentence import both, ends
from keisoku.ground.report.table import LIMIT
from keisoku.ground.run.result import Result, Row
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.analysis.samples import samples_of
from keisoku.subjects.device.entry import COSTS, Procedure
from keisoku.subjects.device.method import deviations
from keisoku.subjects.device.method.frame_cost import PAIRED, BatchLoad, FrameCost
from keisoku.subjects.device.method.latency_figures import latency_figures
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.repetitions import device_slowdown, repetition
from keisoku.subjects.device.method.search import RETRIES, SearchOutcome, search
from keisoku.subjects.device.method.throughput_figure import NEARLY, throughput_figure
from keisoku.subjects.device.plan.settings import ThroughputSettings
from keisoku.subjects.device.plot.size_plots import throughput_plot
from keisoku.subjects.device.procedure.rfc2544.search_plot import search_plot
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

LIMITED = phrase("limited by the tester")
"""Remark of a row whose throughput is a bound for that reason."""
SHARED = phrase("limited by the CPU that the device and the tester share")
UNSTEADY = phrase("some loads passed in one trial and failed in another")
_SHARED = ("cost", "whole", "core")
"""Figures of a row that say so."""
_COST_S = 10.0
"""So much of a plan's time must be left for a frame's cost."""
LOW = 0.1
"""The lowest of the loads at which CSIT measures latency, as a share of the throughput."""
_LOW_S = 1.0
"""A trial at that load is no longer."""
_LATENCY = "low_load_latency"


def throughput(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """One row a frame size: 'throughput' (frames/s), 'bit_rate' (bit/s), 'line_share' (%), 'low_load_latency' (ns).

    Measured: the interval is from the load that passed all its trials to the one above it that passed none. At least:
    the tester, or a ceiling, kept the search from a higher load. Not measured: the row has no figures, because the
    tester's own failure is never a throughput of zero.
    """
    every, rows = [], []
    for place, size in enumerate(inputs.plan.frame_bytes):
        share_s = inputs.share_s(place)
        until_s = inf if share_s is None else inputs.spent.seconds + share_s
        found = yield from search(inputs, size, enough_s=share_s)
        every.append(found)
        rows.append((yield from _with_latency(inputs, _row(inputs, found), found.fps, until_s)))
    plan = inputs.plan
    rows = yield from _with_costs(inputs, rows)
    said: dict[str, list[str]] = {}
    for found, row in zip(every, rows, strict=True):
        for remark in _remarks(found, row):
            said.setdefault(remark, []).append(str(found.frame_bytes))
    remarks = [phrase("{size} byte: {remark}", size=", ".join(sizes), remark=remark) for remark, sizes in said.items()]
    if any(_LATENCY in row.figures for row in rows):
        remarks.append(
            phrase(
                "Latency at low load is the mean at {percent:.0f} % of the throughput, which RFC 2544 does not ask for",
                percent=100 * LOW,
            )
        )
    return Result(
        measurement="throughput",
        rows=rows,
        deviations=deviations.throughput(plan) + deviations.rfc2544(plan, inputs.capabilities.simulated),
        remarks=deviations.ceiling(plan.settings_of(ThroughputSettings).ceiling_percent) + remarks,
    )


def _with_latency(inputs: MethodInput, row: Row, fps: float, until_s: float) -> Generator[Trial, TrialRecord, Row]:
    """The row with the mean latency at a low load, of one short trial, if a load of `fps` has passed and there is time
    until `until_s`, in seconds that the method has spent. It is no part of RFC 2544."""
    settings, size, low_fps = inputs.plan.settings_of(ThroughputSettings), row.frame_bytes or 0, LOW * fps
    if settings.paired or low_fps * settings.trial_s < 1:
        return row
    trial = inputs.latency_trial(
        phrase("low load {frame_bytes} byte", frame_bytes=size), size, low_fps, min(settings.trial_s, _LOW_S)
    )
    if inputs.spent.seconds + RETRIES * trial.seconds > until_s:
        return row
    record = yield from repetition(trial)
    tracked = record.facts.tracked
    if not record.valid or tracked.latency is None:
        return row
    samples, slowdown = [samples_of(record, tracked)], device_slowdown([record])
    found = latency_figures(inputs.bias, [tracked.latency], size, low_fps, samples=samples, slowdown=slowdown)
    return row.model_copy(update={"figures": row.figures | {_LATENCY: found["mean"]}})


def _with_costs(inputs: MethodInput, rows: list[Row]) -> Generator[Trial, TrialRecord, list[Row]]:
    """The rows with the CPU time of a frame in the device, where the tester ran out of the CPU that the device uses
    too: from the plan's own measurement of it, or else measured at the smallest and the largest of those sizes. It is
    no part of RFC 2544."""
    plan = inputs.plan
    bounded = [place for place, row in enumerate(rows) if row.remark == LIMITED]
    if "cost" not in inputs.capabilities.abilities or plan.pairs() != [(0, 1)] or not bounded:
        return rows
    rows, measured_at = list(rows), []
    earlier = inputs.earlier.get("cost")
    known = {row.frame_bytes: row.figures for row in earlier.rows} if earlier else {}
    for place in bounded:
        row = rows[place]
        found = known.get(row.frame_bytes, {})
        if "cost" not in found and place in (bounded[0], bounded[-1]) and _has_time(inputs):
            fewer = PAIRED if plan.settings_of(ThroughputSettings).paired else {}
            measured = FrameCost(BatchLoad(size=row.frame_bytes or 0, **fewer))
            yield from measured.measure(inputs)
            found = measured.figures()
        if "cost" in found:
            own = {name: found[name] for name in _SHARED if name in found}
            rows[place] = row.model_copy(update={"figures": row.figures | own, "remark": SHARED})
            measured_at.append(place)
    if not {bounded[0], bounded[-1]} <= {*measured_at}:
        return rows
    between = phrase(
        "{limit}; the device's part was measured at {sizes} byte",
        limit=SHARED,
        sizes=", ".join(str(rows[place].frame_bytes) for place in measured_at),
    )
    for place in set(bounded) - set(measured_at):
        rows[place] = rows[place].model_copy(update={"remark": between})
    return rows


def _has_time(inputs: MethodInput) -> bool:
    within_s = inputs.plan.within_s
    return within_s is None or within_s - inputs.spent.seconds >= _COST_S


def _shares(result: Result) -> list[str]:
    """What the device took of the CPU that it shares with the tester, at the first size at which that was measured:
    the others are in the table."""
    return [
        phrase(
            "The device took {share:.0f} % of the CPU that it shares with the tester: {own} for each frame of {size}"
            " bytes; a dedicated core would carry {core} at most.",
            share=100 * row.figures["cost"].value / row.figures["whole"].value,
            own=digits.text(row.figures["cost"]),
            size=row.frame_bytes,
            core=digits.text(row.figures["core"]),
        )
        for row in result.rows
        if all(name in row.figures for name in _SHARED)
    ][:1]


def _row(inputs: MethodInput, found: SearchOutcome) -> Row:
    size = found.frame_bytes
    line_fps = inputs.line_fps(size)
    throughput = throughput_figure(found, line_fps)
    if throughput is None:
        return Row(frame_bytes=size, figures={}, remark=found.given_up)
    figures = {"throughput": throughput, "bit_rate": throughput.scaled(size * 8, "bit/s")}
    if line_fps is not None:
        figures["line_share"] = throughput.scaled(100 / line_fps, "%")
    return Row(
        frame_bytes=size,
        figures=figures,
        trial=found.record.index if found.record else None,
        remark=_remark(found),
    )


def _remark(found: SearchOutcome) -> str:
    if found.given_up:
        return phrase("given up before the resolution was reached")
    if found.limited_by_tester:
        return LIMITED
    if found.unsteady:
        return UNSTEADY
    return phrase("no load passed without loss") if found.record is None else ""


def _remarks(found: SearchOutcome, row: Row) -> list[str]:
    remarks = [found.given_up] if found.given_up else []
    if found.limited_by_tester and found.record is not None and not row.remark.startswith(SHARED):
        remarks.append(phrase("limited by the tester, not by the DUT: all that the tester could offer was forwarded"))
    if found.unsteady:
        remarks.append(
            phrase(
                "the DUT, or what shares its processor, does not always do the same: the interval is from"
                " the load that passed all its trials to the one that failed all of them"
            )
        )
    return remarks


def _limit(row: Row) -> str:
    """Whose limit the throughput of a row is; empty where none was measured."""
    found, share = row.figures.get("throughput"), row.figures.get("line_share")
    if found is None:
        return ""
    if row.remark.startswith(SHARED):
        return phrase("shared CPU")
    if row.remark.startswith(LIMITED):
        return phrase("tester")
    if share is not None and share.value >= 100 * NEARLY:
        return phrase("line")
    return phrase("not found") if found.bound or row.remark.startswith(UNSTEADY) else phrase("device")


def _sentence(result: Result) -> str:
    known = ends(result.rows, "throughput")
    if not known:
        return ""
    shares = dict(ends(result.rows, "line_share"))
    parts = []
    for size, rate in known:
        rate_text = digits.value_text(rate)
        parts.append(
            phrase(
                "{rate} of {size}-byte frames ({share} of the link)",
                rate=rate_text,
                size=size,
                share=digits.value_text(shares[size]),
            )
            if size in shares
            else phrase("{rate} of {size}-byte frames", rate=rate_text, size=size)
        )
    said = phrase("Forwards {rates} without losing one.", rates=both(parts))
    return join_texts(" ", [said, *_shares(result)])


PROCEDURE = Procedure(
    name="throughput",
    title=phrase("Throughput"),
    standard="RFC 2544 §26.1",
    summary="The highest load at which the device forwards every frame.",
    settings=ThroughputSettings,
    of_cpu=True,
    generator=throughput,
    figure="throughput",
    units={"frames/s": "throughput core", "bit/s": "bit_rate", "%": "line_share calm"}
    | {"ns": f"{_LATENCY} {COSTS['ns']}"}
    | {unit: COSTS[unit] for unit in ("frames", "")},
    of_line=("line_share",),
    example="keisoku throughput --dut lab:bridge --size 64,1518 --duration 2s --waits 0.1s",
    over_two_hosts="counts",
    plots=(throughput_plot, search_plot),
    columns={
        phrase("Throughput"): "throughput",
        phrase("Bit rate"): "bit_rate",
        phrase("Of the line"): "line_share",
        phrase("Latency at low load"): _LATENCY,
        phrase("CPU time a frame"): "cost",
        phrase("A core carries at most"): "core",
    },
    words={LIMIT: _limit},
    sentence=_sentence,
    adds=_shares,
    is_steady=True,
    over_time=True,
    bounds_throughput=True,
    stand_in=StandIn(
        "cost",
        phrase(
            "the throughput is a bound on both sides, because the tester and the device share a CPU: the CPU time of a"
            " frame in the device is compared, which both runs measured"
        ),
    ),
    in_pairs=lambda settings: settings.model_copy(update={"paired": True}),
    times_batches=True,
)

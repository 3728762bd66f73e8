"""RFC 2889 §5.1 to §5.4 and §5.6.3.1, the part of §5.6 that a NIC can do: how many frames/s a switch forwards.

The pattern of ports is the plan's: mesh (§5.1), many-to-one, one-to-many, one-and-many (§5.2), partial-mesh (§5.4);
§5.3 is a mesh over the ports of several devices, including its optional local traffic.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.analysis.loss_ratio import loss_of
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method import rfc2889
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.search import SearchOutcome, search
from keisoku.subjects.device.method.throughput_figure import throughput_figure
from keisoku.subjects.device.plan.settings import ThroughputSettings
from keisoku.subjects.device.procedure.rfc2889.settings import ForwardingSettings
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import why_invalid

MFR = phrase(
    "RFC 2889 §5.6.3.1: the MFR is the highest rate at the given loads and the throughput, not at steps up to the MOL"
)


def forwarding(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """A row a size with 'throughput' and 'offered' (the MOL) of a port, 'frmol' and 'mfr' of all ports, the latter at
    'mfr_load' (%) and 'mfr_offered' of a port; then a row a load with 'load' (%), 'offered', 'forwarding_rate', 'loss'
    (%) and 'flooded' (frames)."""
    plan, settings = inputs.plan, inputs.plan.settings_of(ForwardingSettings)
    rows: list[Row] = []
    found = rfc2889.deviations(plan, inputs.capabilities.simulated, "§5", settings.trial_s)
    for size in plan.frame_bytes:

        def load(fps: float, size: int = size) -> Trial:
            return inputs.trial(
                phrase("{fps:,.0f} frames/s, {size} byte", fps=fps, size=size), size, fps, settings.trial_s
            )

        maximum, full = yield from rfc2889.at_most(inputs, size, settings.maximum_fps, load)
        found += rfc2889.lowered(inputs, size, settings.maximum_fps, maximum) + rfc2889.late_starts(full)
        records = {100.0: full}
        for percent in settings.loads_percent:
            if percent not in records:
                records[percent] = yield from rfc2889.attempt(load(maximum * percent / 100))
        limit = yield from search(_for_search(inputs, maximum), size)
        if limit.fps < maximum * (1 - settings.resolution_percent / 100):
            # §5.6.3.1: MFR is the MOL if the throughput is.
            found.append(MFR)
        rows.append(_summary(limit, inputs.line_fps(size), full, records))
        rows += [_row(percent, records[percent]) for percent in settings.loads_percent]
    return Result(measurement="forwarding", rows=rows, deviations=list(dict.fromkeys(found)))


def _for_search(inputs: MethodInput, maximum: float) -> MethodInput:
    """The inputs with the values that the throughput search reads."""
    own = inputs.plan.settings_of(ForwardingSettings)
    settings = ThroughputSettings(trial_s=own.trial_s, resolution_percent=own.resolution_percent, maximum_fps=maximum)
    return replace(inputs, plan=inputs.plan.model_copy(update={"throughput": settings}))


def _summary(limit: SearchOutcome, line_fps: float | None, full: TrialRecord, records: dict[float, TrialRecord]) -> Row:
    throughput = throughput_figure(limit, line_fps)
    figures = {
        **({} if throughput is None else {"throughput": throughput}),
        "offered": Quantity(value=full.offered_fps, unit="frames/s"),
    }
    measured = [(load, record) for load, record in records.items() if record.valid]
    if full.valid:
        # RFC 2285 §3.6.2: the forwarding rate at the maximum offered load.
        figures["frmol"] = rfc2889.forwarding_rate(full)
    # Where no load of the plan was carried as it is to be, the search's last one alone says nothing of the highest.
    if limit.record is not None and (measured or not limit.limited_by_tester):
        share = 100 * limit.record.trial.frames_per_second / full.trial.frames_per_second
        measured.append((share, limit.record))
    if measured:
        # RFC 2285 §3.6.3: "The highest forwarding rate [...] taken from an iterative set of forwarding rate
        # measurements". RFC 2889 §5.1.4.2: "The Oload applied to the device MUST also be cited."
        at, best = max(measured, key=lambda pair: rfc2889.forwarding_rate(pair[1]).value)
        rate = rfc2889.forwarding_rate(best)
        if not all(one.valid for one in records.values()):
            rate = Quantity(value=rate.value, unit=rate.unit, bound="at least")
        figures |= {
            "mfr": rate,
            "mfr_load": Quantity(value=at, unit="%", uncertainty=0.0),
            "mfr_offered": Quantity(value=best.offered_fps, unit="frames/s"),
        }
    remark = phrase("limited by the tester") if limit.limited_by_tester else ""
    if limit.record is None and limit.above_by == "loss":
        remark = phrase("no load passed without loss")
    trial = full.index if limit.record is None else limit.record.index
    return Row(
        frame_bytes=full.trial.frame_bytes, case=phrase("all loads"), figures=figures, trial=trial, remark=remark
    )


def _row(percent: float, record: TrialRecord) -> Row:
    figures = {
        "load": Quantity(value=percent, unit="%", uncertainty=0.0),
        "offered": Quantity(value=record.offered_fps, unit="frames/s"),
    }
    if record.valid:
        figures["forwarding_rate"] = rfc2889.forwarding_rate(record)
        figures["loss"] = loss_of(record)
        figures["flooded"] = rfc2889.frames(rfc2889.flooded(record))
    return Row(
        frame_bytes=record.trial.frame_bytes,
        case=f"{percent:g} %",
        figures=figures,
        trial=record.index,
        remark=join_texts("; ", why_invalid(record)),
    )


PROCEDURE = Procedure(
    name="forwarding",
    title=phrase("Forwarding rate"),
    standard=phrase("RFC 2889 §5.1 to §5.4 and §5.6"),
    summary="Throughput, forwarding rates at given loads, FRMOL and maximum forwarding rate (MFR), for any pattern.",
    settings=ForwardingSettings,
    of_cpu=True,
    generator=forwarding,
    figure="throughput",
    units={
        "frames/s": "throughput offered frmol mfr mfr_offered forwarding_rate",
        "%": "mfr_load load loss",
        "frames": "flooded",
    },
    example="keisoku forwarding --dut sim:gs908e --ports 1,2,3,4 --pattern mesh --size 64 --duration 1s",
    is_steady=True,
)

"""Convergence: how long each flow is interrupted when something happens to the device (RFC 6412, RFC 6413).

The engine carries the events out, at the times that a trial states; this file only says which, and computes from the
lost frames of each flow. RFC 6413 estimates times from rates or from numbers of lost frames; here every frame has a
number and a time, so that each interruption has two ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from statistics import median

from keisoku.errors import PlanError
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Interval, Quantity, count
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.device.analysis.hops import hop_counts
from keisoku.subjects.device.analysis.outage import (
    NOTHING,
    Between,
    Impact,
    Reach,
    loss_derived_ns,
    rate_derived_ns,
    reaches,
)
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method.event_settings import names_only
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.search import RETRIES
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.procedure.rfc6412.flow_rows import flow_files
from keisoku.subjects.device.procedure.rfc6412.settings import ConvergenceSettings
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.event import Event
from keisoku.subjects.device.record.trial import Constant, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import why_invalid, without_links

SAMPLING_NS = 10_000_000
"""RFC 6413 §4.1.4: the sampling interval of the rate should be 10 ms or less."""
_DEFAULT_FPS = 10_000.0
NO_EVENT = phrase("no event")
"""The case of a row of a trial in which nothing was done to the device."""
HOPS = phrase("Hop count")
"""Header of the column of cases."""
_INTERVALS = 20_000
"""So many at most of all flows together, so that a record of a thousand flows stays small."""


def convergence(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """One row for each event of each size. Times in ns: 'interruption' (the longest), 'interruption_median',
    'interruption_least', 'onset', 'convergence_first', 'convergence_median', 'convergence' (the last flow),
    'rate_derived', 'loss_derived'; counts: 'flows', 'affected', 'outages', 'lost', 'duplicated', 'reordered',
    'moved'. Where hop counts are compared, then one for each that is not as expected: 'frames', 'flows', 'first' and
    'last' (s since the load began), 'longest' (s, of a flow).

    Raises PlanError for a pacing that is not constant.
    """
    settings, rows = inputs.plan.settings_of(ConvergenceSettings), []
    without: list[str] = []
    if any(content.pacing != Constant() for content in inputs.plan.contents()):
        problem = "interruptions are known to the time between two frames, which must be constant"
        raise PlanError("pacing", problem, "leave it out")
    events = settings.happening(inputs.capabilities, settings.rounds)
    pairs = inputs.plan.pairs()
    flows = len(pairs) * sum(content.streams for content in inputs.plan.contents())
    flows_of_a_port = flows / len({transmit for transmit, _ in pairs})
    for size in inputs.plan.frame_bytes:
        rate = inputs.fps(settings.rate_fps, size) or min(_DEFAULT_FPS, inputs.line_fps(size) or _DEFAULT_FPS)
        # Whole frames of each flow: with a thousand flows, what is rounded would be more than the tester may leave out.
        frames = math.ceil(settings.length_s(events) * rate / flows_of_a_port)
        length_s = frames * flows_of_a_port / rate
        interval_ns = max(SAMPLING_NS, round(length_s * 1e9 * flows / _INTERVALS))
        trial = inputs.trial(
            phrase("convergence, {size} byte", size=size), size, rate, length_s, interval_ns=interval_ns
        )
        more: dict[str, object] = {"events": events, "links_may_fail": True}
        more["anywhere"] = bool(inputs.plan.listening())
        if settings.hops:
            more["changes"] = "changed"
        record = yield from _calm(trial.model_copy(update=more))
        without += without_links(record.facts)
        if record.valid:
            rows += _rows(record, size)
            rows += _hops(record, size, settings) if settings.hops else []
        else:
            rows.append(Row(frame_bytes=size, figures={}, remark=join_texts("; ", why_invalid(record))))
    return Result(
        measurement="convergence",
        rows=rows,
        remarks=[
            phrase(
                "Each interruption lasts from the last frame before it to the first one behind it, as they were "
                "sent. Its length is known to ± one frame gap; its ends, and what is counted from the event, to one "
                "frame gap."
            ),
            phrase(
                "Convergence is from the event to the end of the last interruption of a flow. That of the first flow"
                " is the detection and the first repair; from there to the last flow the device repairs the others."
            ),
            *without,
        ],
        deviations=[
            phrase(
                "RFC 6413 §4.1.6: no frame may be lost in the last 5 s of a trial, and here in the "
                "last {watch_s:g} s less the convergence time",
                watch_s=settings.watch_s,
            )
        ]
        if settings.watch_s < 5
        else [],
    )


def _calm(trial: Trial) -> Generator[Trial, TrialRecord, TrialRecord]:
    """The trial, again while the tester or its host disturbs it: what nobody sent while the host stopped the sender
    cannot show when an interruption began. Loss plays no part."""
    tried: list[TrialRecord] = []
    while len(tried) <= RETRIES:
        record = yield trial
        tried.append(record)
        if record.valid and not record.facts.sent.interruptions:
            break
    return max(tried, key=lambda record: (record.valid, -record.facts.sent.interrupted_ns))


def _rows(record: TrialRecord, size: int) -> list[Row]:
    found = reaches(record)
    names = [_name(record, reach) for reach in found]
    used = [
        (name, reach, found[place + 1].moment if place + 1 < len(found) else None)
        for place, (name, reach) in enumerate(zip(names, found, strict=True))
        if reach.event is not None or reach.affected or len(found) == 1
    ]
    return [
        Row(
            frame_bytes=size,
            case=name,
            group=phrase("Event"),
            figures=_figures(record, reach, stop),
            trial=record.index,
            remark="; ".join(_remarks(reach)),
        )
        for name, reach, stop in used
    ]


def _hops(record: TrialRecord, size: int, settings: ConvergenceSettings) -> list[Row]:
    """Frames that came with another hop count than expected: in a loop, or by another way."""
    found = []
    watch_ns = settings.watch_s * 1e9
    round_ns = watch_ns * max(1, len(record.trial.events) // settings.rounds)
    for one in hop_counts(record):
        loops = one.is_loop(watch_ns, round_ns)
        times = {"first": one.first_ns, "last": one.last_ns, "longest": one.longest_ns}
        figures = {"frames": count(one.frames, "frames"), "flows": count(one.flows)}
        figures |= {name: Quantity(value=time_ns / 1e9, unit="s") for name, time_ns in times.items()}
        found.append(
            Row(
                frame_bytes=size,
                case=phrase("{expected} to {found}", expected=one.expected, found=one.found),
                group=HOPS,
                figures=figures,
                trial=record.index,
                remark=phrase("a loop") if loops else phrase("another way"),
            )
        )
    return found


def _name(record: TrialRecord, reach: Reach) -> str:
    """'link-down', 'link-down undone', 'link-down 2', 'command'."""
    events = record.trial.events
    if reach.event is None:
        return phrase("before the event") if events else NO_EVENT
    event = events[reach.event]

    def is_alike(other: Event) -> bool:
        return other.undo == event.undo and other.called == event.called

    name = event.called
    before, again = sum(map(is_alike, events[: reach.event])), sum(map(is_alike, events)) > 1
    return name + (" undone" if event.undo else "") + (f" {before + 1}" if again else "")


def _remarks(reach: Reach) -> list[str]:
    affected = reach.affected
    found = []
    if not affected:
        found.append(phrase("no loss"))
    if several := sum(len(impact.outages) > 1 for impact in affected):
        found.append(
            plural(
                "{count} flow was interrupted more than once",
                "{count} flows were interrupted more than once",
                count=several,
            )
        )
    if carried := sum(impact.came_from_before for impact in affected):
        found.append(
            plural(
                "{count} flow was interrupted already when it happened",
                "{count} flows were interrupted already when it happened",
                count=carried,
            )
        )
    if away := sum(not impact.is_back for impact in affected):
        found.append(
            plural(
                "{count} flow did not come back in this time",
                "{count} flows did not come back in this time",
                count=away,
            )
        )
    if run_together := sum(outage.is_intermittent for impact in affected for outage in impact.outages):
        found.append(
            plural(
                "{count} interruption was joined with others, because there were too many for the record",
                "{count} interruptions were joined with others, because there were too many for the record",
                count=run_together,
            )
        )
    return found


def _figures(record: TrialRecord, reach: Reach, stop: Between | None) -> dict[str, Quantity]:
    impacts, affected = reach.impacts, reach.affected
    figures: dict[str, Quantity] = {}
    if affected:
        lengths = [impact.interruption for impact in affected]
        figures["interruption"] = _time(_largest(lengths))
        figures["interruption_median"] = _time(_median(lengths))
        figures["interruption_least"] = _time(_least(lengths))
    else:
        # A shorter one falls between two frames of a flow.
        gaps_ns = [record.facts.sent.sending_ns / max(1, one.offered_frames - 1) for one in record.facts.streams]
        figures["interruption"] = _time(Between(0.0, 0.0, max(gaps_ns)))
    if onsets := [impact.onset for impact in affected if impact.onset is not None]:
        figures["onset"] = _time(_least(onsets))
    if times := [impact.convergence for impact in affected if impact.convergence is not None]:
        figures["convergence_first"] = _time(_least(times))
        figures["convergence_median"] = _time(_median(times))
        figures["convergence"] = _time(_largest(times))
    start = reach.moment or NOTHING
    derived = rate_derived_ns(record, start, stop or Between.from_ends(math.inf, math.inf))
    if derived is not None:
        figures["rate_derived"] = _time(derived)
    lost = sum(impact.lost for impact in impacts)
    if affected:
        figures["loss_derived"] = _time(loss_derived_ns(record, impacts))
    counts = {
        "flows": len(impacts),
        "affected": len(affected),
        "outages": sum(len(impact.outages) for impact in affected),
        "moved": sum(_has_moved(impact) for impact in impacts),
    }
    frames = {
        "lost": lost,
        "duplicated": sum(impact.duplicated for impact in impacts),
        "reordered": sum(impact.reordered for impact in impacts),
    }
    figures |= {name: count(number) for name, number in counts.items()}
    return figures | {name: count(number, "frames") for name, number in frames.items()}


def _has_moved(impact: Impact) -> bool:
    return impact.port_before != impact.port_after


def _time(time: Between) -> Quantity:
    """Where it is likely, and the ends beyond which it cannot be."""
    if not math.isfinite(time.highest):
        return Quantity(value=time.lowest, unit="ns", bound="at least")
    interval = Interval(lower=time.lowest, upper=time.highest, confidence=1.0)
    return Quantity(value=time.likely, unit="ns", interval=interval, covers="resolution")


def _largest(times: Sequence[Between]) -> Between:
    """Bounds of the largest of them."""
    return _each(max, times)


def _least(times: Sequence[Between]) -> Between:
    return _each(min, times)


def _median(times: Sequence[Between]) -> Between:
    return _each(median, times)


def _each(of: Callable[[list[float]], float], times: Sequence[Between]) -> Between:
    return Between(
        of([time.lowest for time in times]), of([time.likely for time in times]), of([time.highest for time in times])
    )


def _without_event(result: Result) -> list[str]:
    """That nothing was done to the device, if so: whoever reads 'at most 100 µs' should not take it for convergence."""
    if not result.rows or any(row.case != NO_EVENT for row in result.rows if row.case):
        return []
    return [phrase("No event was given (--event), so that this is what the device does by itself, not convergence.")]


def _check(plan: Plan, capabilities: Capabilities) -> None:
    plan.settings_of(ConvergenceSettings).check("convergence", capabilities)


PROCEDURE = Procedure(
    name="convergence",
    title=phrase("Convergence"),
    standard=phrase("RFC 6412, RFC 6413, exact"),
    summary="How long each flow is interrupted by an event, how long after it, and by which port frames leave then.",
    settings=ConvergenceSettings,
    generator=convergence,
    figure="interruption",
    units={
        "ns": "interruption interruption_median interruption_least onset rate_derived loss_derived"
        " convergence_first convergence_median convergence",
        "frames": "lost duplicated reordered frames",
        "": "flows affected outages moved",
        "s": "first last longest",
    },
    example="keisoku convergence --dut lab:faulty --event path-lost --streams 100 --watch 1s --waits 0.1s",
    sizes="64",
    pace={"watch_s": 10.0},
    rows_when_simulated=True,
    also_needs=lambda settings: ["compare"] if settings.hops else [],
    check=_check,
    adds=_without_event,
    from_afar=names_only("convergence"),
    files=flow_files,
)

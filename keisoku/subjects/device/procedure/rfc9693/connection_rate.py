"""RFC 9693: the highest rate of new connections of which each is answered afterwards, by binary search."""

from __future__ import annotations

from collections.abc import Generator

from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import phrase
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.rfc2889 import UNDECIDED, Boundary, highest
from keisoku.subjects.device.method.search import CEILING_WITHOUT_LINK_FPS
from keisoku.subjects.device.procedure.rfc9693 import connection_trial
from keisoku.subjects.device.procedure.rfc9693.connection_trial import ConnectionOutcome, attempt, count, no_command
from keisoku.subjects.device.procedure.rfc9693.settings import ConnectionRateSettings
from keisoku.subjects.device.record.trial import NS_PER_S, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

_LONGEST_S = 60.0
"""A search whose trials would become longer ends: the device has no room for so many connections."""
_FAILURES = 2
"""A rate fails if it fails in so many trials in a row."""


def connection_rate(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """A row a size with 'rate' (connections/s), then a row a trial with the rate that was offered, 'offered_rate', and
    the counts of connections."""
    settings = inputs.plan.settings_of(ConnectionRateSettings)
    rows: list[Row] = []
    for size in inputs.plan.frame_bytes:
        seen: list[ConnectionOutcome] = []

        def probe(
            fps: float, size: int = size, seen: list[ConnectionOutcome] = seen
        ) -> Generator[Trial, TrialRecord, bool | None]:
            if seen and settings.connections / fps > _LONGEST_S:
                return False
            for _ in range(_FAILURES):
                trial = connection_trial.connection_trial(inputs, settings, size, settings.connections, fps)
                one = yield from attempt(trial)
                seen.append(one)
                if one.passed is not False:
                    break
            # A short trial counts although its last frame was late, so its rate may be far below that asked for.
            slow = one.passed and _offered_rate(one).value < fps * (1 - settings.resolution_percent / 100)
            return None if slow else one.passed

        ceiling = inputs.fps(settings.maximum_fps, size) or inputs.line_fps(size) or CEILING_WITHOUT_LINK_FPS
        found = yield from highest(probe, ceiling, settings.resolution_percent / 100)
        rows.append(_summary(size, found, seen))
        rows += [_row(one, size) for one in seen]
    return Result(measurement="connection_rate", rows=rows, deviations=connection_trial.deviations(inputs, settings))


def _summary(size: int, found: Boundary, seen: list[ConnectionOutcome]) -> Row:
    case = phrase("highest rate")
    if not found.passed:
        any_valid = any(one.record.valid for one in seen)
        remark = phrase("connections failed at every rate that was tried") if any_valid else UNDECIDED
        return Row(frame_bytes=size, case=case, figures={}, trial=seen[-1].record.index, remark=remark)
    figure = found.figure("connections/s")
    shows = next(one.record.index for one in seen if one.passed and one.opening.frames_per_second == found.passed)
    remark = phrase("limited by the tester") if found.limited_by_tester else ""
    return Row(frame_bytes=size, case=case, figures={"rate": figure}, trial=shows, remark=remark)


def _row(one: ConnectionOutcome, size: int) -> Row:
    row = one.row(size)
    if not row.figures:
        return row
    kept = {name: row.figures[name] for name in ("valid", "refused", "forgotten")}
    figures = {"offered_rate": _offered_rate(one), "offered": count(one.opening.connections)} | kept
    return row.model_copy(update={"figures": figures})


def _offered_rate(one: ConnectionOutcome) -> Quantity:
    """At which connections were opened, from the first to the last; what was asked for where that is no time."""
    facts = one.record.facts.opening
    span_ns = facts.sent.sending_ns if facts is not None else 0
    if facts is None or span_ns <= 0:
        return Quantity(value=one.opening.frames_per_second, unit="connections/s")
    rate = (facts.sent.offered_frames - 1) * NS_PER_S / span_ns
    return Quantity(value=rate, unit="connections/s", uncertainty=NS_PER_S / span_ns)


PROCEDURE = Procedure(
    name="connection_rate",
    title=phrase("Connection establishment rate"),
    standard="RFC 9693",
    summary="The highest rate of new connections that a NAT or firewall takes without failing one.",
    settings=ConnectionRateSettings,
    of_cpu=True,
    generator=connection_rate,
    figure="rate",
    units={"connections/s": "rate offered_rate", "connections": "offered valid refused forgotten"},
    example="keisoku connection-rate --dut lab:nat?table=100000 --waits 0.2s",
    sizes="64",
    own_flows=True,
    floods=True,
    from_afar=no_command,
    needs=("connections",),
    connections=lambda settings: settings.most,
)

"""RFC 9693: how fast a device removes connections when it is told to forget all of them.

The time that this takes contains the call itself. So one connection is forgotten as well, and the difference counts.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Generator

from keisoku.errors import PlanError
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.ground.statistics.uncertainty import half_width
from keisoku.language import phrase
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.procedure.rfc9693 import connection_trial
from keisoku.subjects.device.procedure.rfc9693.connection_trial import ConnectionOutcome, attempt, count, no_command
from keisoku.subjects.device.procedure.rfc9693.settings import ConnectionTeardownSettings
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

_STAMPS_S = 2e-9
"""Both times are whole nanoseconds, each from one stamp to another."""


def connection_teardown(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """A row a size with 'rate' (connections/s) and 'time' (s), then a row a repetition with the number of valid
    'connections', the 'time' in which they were forgotten, and that of one connection, 'one_connection'.

    Raises PlanError if nothing makes the device forget its connections.
    """
    settings = inputs.plan.settings_of(ConnectionTeardownSettings)
    rows: list[Row] = []
    for size in inputs.plan.frame_bytes:
        found: list[tuple[ConnectionOutcome, float, float]] = []
        for _ in range(settings.repetitions):
            many = yield from attempt(_trial(inputs, settings, size, settings.connections))
            # Each trial begins by making the device forget those of the one before.
            after = yield from attempt(_trial(inputs, settings, size, 1))
            alone = yield from attempt(_trial(inputs, settings, size, 1))
            if after.opened.forgot_ns is None or alone.opened.forgot_ns is None:
                raise PlanError(
                    "forget", "nothing makes the device forget its connections", "give a command with --forget"
                )
            if many.passed and after.record.valid and alone.record.valid:
                found.append((many, after.opened.forgot_ns / 1e9, alone.opened.forgot_ns / 1e9))
        rows.append(_summary(settings, size, found))
        rows += [
            Row(
                frame_bytes=size,
                case=phrase("trial {number}", number=many.record.index + 1),
                figures={
                    "connections": count(many.valid),
                    "time": Quantity(value=whole_s, unit="s"),
                    "one_connection": Quantity(value=alone_s, unit="s"),
                },
                trial=many.record.index,
            )
            for many, whole_s, alone_s in found
        ]
    return Result(
        measurement="connection_teardown", rows=rows, deviations=connection_trial.deviations(inputs, settings)
    )


def _trial(inputs: MethodInput, settings: ConnectionTeardownSettings, size: int, connections: int) -> Trial:
    return connection_trial.connection_trial(inputs, settings, size, connections, settings.open_fps)


def _summary(
    settings: ConnectionTeardownSettings, size: int, found: list[tuple[ConnectionOutcome, float, float]]
) -> Row:
    case = phrase("mean of {count}", count=len(found))
    if len(found) < 2:
        remark = phrase("fewer than two repetitions were valid")
        return Row(frame_bytes=size, case=case, figures={}, remark=remark)
    times = [whole_s - alone_s for _, whole_s, alone_s in found]
    mean = statistics.fmean(times)
    error = math.hypot(half_width(times), _STAMPS_S)
    more = settings.connections - 1
    time = Quantity(value=mean, unit="s", uncertainty=error)
    if mean <= error or more < 1:
        remark = phrase("the time is not longer than that of one connection by more than it scatters: use more of them")
        return Row(frame_bytes=size, case=case, figures={"time": time}, trial=found[0][0].record.index, remark=remark)
    interval = Interval(lower=more / (mean + error), upper=more / (mean - error))
    rate = Quantity(value=more / mean, unit="connections/s", interval=interval)
    return Row(frame_bytes=size, case=case, figures={"rate": rate, "time": time}, trial=found[0][0].record.index)


PROCEDURE = Procedure(
    name="connection_teardown",
    title=phrase("Connection tear-down rate"),
    standard="RFC 9693",
    summary="How fast a NAT or firewall removes connections when it is told to forget all of them.",
    settings=ConnectionTeardownSettings,
    of_cpu=True,
    generator=connection_teardown,
    figure="rate",
    units={"connections/s": "rate", "s": "time one_connection", "connections": "connections"},
    example="keisoku connection-teardown --dut lab:nat?table=100000 --waits 0.2s",
    sizes="64",
    own_flows=True,
    floods=True,
    from_afar=no_command,
    needs=("connections",),
    connections=lambda settings: settings.most,
)

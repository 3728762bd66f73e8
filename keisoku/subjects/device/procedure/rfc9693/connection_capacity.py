"""RFC 9693: the largest number of connections of which each is answered, by search.

A trial with too many connections tells how many of them are valid, which is a good guess of the largest number; so
after the first number that fails, few trials are needed.
"""

from __future__ import annotations

from collections.abc import Generator

from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.language import phrase
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.rfc2889 import UNDECIDED
from keisoku.subjects.device.procedure.rfc9693 import connection_trial
from keisoku.subjects.device.procedure.rfc9693.connection_trial import ConnectionOutcome, attempt, count, no_command
from keisoku.subjects.device.procedure.rfc9693.settings import ConnectionCapacitySettings
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

_FAILURES = 2
"""A number of which few fail does so in so many trials in a row: a frame lost by chance must not lower the capacity."""


def connection_capacity(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """A row a size with 'connections', then a row a trial, then a row for each of the first connections that failed in
    the trial with the smallest number of connections that failed, with 'opened' (s since the first was)."""
    rows: list[Row] = []
    for size in inputs.plan.frame_bytes:
        rows += yield from _of_size(inputs, size)
    found = connection_trial.deviations(inputs, inputs.plan.settings_of(ConnectionCapacitySettings))
    found.append(
        phrase(
            "RFC 9693: all trials open connections at one rate, not at the highest one for each number of connections"
        )
    )
    return Result(measurement="connection_capacity", rows=rows, deviations=found)


def _of_size(inputs: MethodInput, size: int) -> Generator[Trial, TrialRecord, list[Row]]:
    settings = inputs.plan.settings_of(ConnectionCapacitySettings)
    most = settings.most_connections
    low, high = 0, most + 1
    asked, step, guessed = min(settings.connections, most), 0, False
    seen: list[ConnectionOutcome] = []
    while high - low > max(1, settings.resolution_percent / 100 * low):
        one = yield from _judged(inputs, settings, size, asked, seen)
        if one.passed is None:
            break
        if one.passed:
            low = asked
        else:
            high = asked
        if high > most:
            asked = min(2 * low, most)
        elif not one.passed and low < one.valid and not guessed:
            asked, step, guessed = one.valid, 0, True
            continue
        elif one.passed or (one.valid == low and not step):
            # The guess was right: the next trial decides, unless the device holds more than it showed.
            step = 2 * step or max(1, int(settings.resolution_percent / 100 * low))
            asked = min(low + step, (low + high) // 2)
        else:
            # A guess that fails says little: with full buckets of a hash table, one number below the other would.
            asked = (low + high) // 2
        guessed = False
    return [_summary(size, low, high, most, seen), *(one.row(size) for one in seen), *_named(settings, size, seen)]


def _judged(
    inputs: MethodInput,
    settings: ConnectionCapacitySettings,
    size: int,
    connections: int,
    seen: list[ConnectionOutcome],
) -> Generator[Trial, TrialRecord, ConnectionOutcome]:
    """The trial that decides about a number of connections; all of them are added to `seen`."""
    for _ in range(_FAILURES):
        trial = connection_trial.connection_trial(inputs, settings, size, connections, settings.open_fps)
        one = yield from attempt(trial)
        seen.append(one)
        # Where many fail, chance is not the reason.
        if one.passed is not False or connections - one.valid > settings.resolution_percent / 100 * connections:
            break
    return one


def _summary(size: int, low: int, high: int, most: int, seen: list[ConnectionOutcome]) -> Row:
    last = seen[-1]
    if not low:
        failed = [one.opening.connections for one in seen if one.passed is False]
        remark = phrase("not even {least} connections were all valid", least=min(failed)) if failed else UNDECIDED
        return Row(frame_bytes=size, case=phrase("capacity"), figures={}, trial=last.record.index, remark=remark)
    if high > most or last.passed is None:
        figure = Quantity(value=low, unit="connections", bound="at least")
    elif high - low == 1:
        figure = count(low)
    else:
        interval = Interval(lower=low, upper=high - 1)
        figure = Quantity(value=low, unit="connections", interval=interval, covers="resolution")
    shows = next(one.record.index for one in seen if one.passed and one.opening.connections == low)
    return Row(frame_bytes=size, case=phrase("capacity"), figures={"connections": figure}, trial=shows)


def _named(settings: ConnectionCapacitySettings, size: int, seen: list[ConnectionOutcome]) -> list[Row]:
    failed = [one for one in seen if one.passed is False]
    if not failed:
        return []
    edge = min(failed, key=lambda one: one.opening.connections)
    return [
        Row(
            frame_bytes=size,
            case=phrase("failed {number}", number=number + 1),
            figures={"opened": opened},
            trial=edge.record.index,
            remark=said,
        )
        for number, (opened, said) in enumerate(edge.failed(settings.named))
    ]


PROCEDURE = Procedure(
    name="connection_capacity",
    title=phrase("Connection capacity"),
    standard="RFC 9693",
    summary="How many connections a NAT or firewall holds at the same time, and which ones fail beyond that.",
    settings=ConnectionCapacitySettings,
    generator=connection_capacity,
    figure="connections",
    units={
        "connections": "connections offered valid refused forgotten reset taken shared kept_ports",
        "frames": "foreign",
        "addresses": "outer_addresses",
        "ports": "outer_ports",
        "s": "opened",
    },
    example="keisoku connection-capacity --dut lab:nat?table=10000 --waits 0.2s",
    sizes="64",
    own_flows=True,
    floods=True,
    from_afar=no_command,
    needs=("connections",),
    connections=lambda settings: settings.most,
    fills_device=True,
)

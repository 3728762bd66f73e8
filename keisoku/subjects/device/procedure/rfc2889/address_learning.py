"""RFC 2889 §5.8: address learning rate, by binary search with a constant number of addresses."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import phrase
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method import rfc2889
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.search import CEILING_WITHOUT_LINK_FPS, TESTER_MARGIN
from keisoku.subjects.device.procedure.rfc2889.address_trial import (
    NO_PAUSE_BEFORE,
    AddressOutcome,
    address_trial,
    least_learning_fps,
)
from keisoku.subjects.device.procedure.rfc2889.settings import AddressLearningSettings
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import TOLERANCE

ADDRESSES = 1024
"""Number of addresses if the caching capacity is not known."""
SAME = 0.01
"""Numbers of addresses are the same if they differ by at most this share."""


def address_learning(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """A row with the 'learning_rate' (addresses/s), whose interval is the search's last bracket, and
    a row for each iteration with 'tried', 'offered', 'forwarded' (%) and 'flooded'.

    Raises PlanError if the device would forget addresses during a trial.
    """
    plan, settings = inputs.plan, inputs.plan.settings_of(AddressLearningSettings)
    addresses = settings.addresses or _capacity(inputs) or ADDRESSES
    least = least_learning_fps(settings, addresses)
    rows: list[Row] = []
    remarks = [
        phrase("{addresses} addresses were offered in each trial", addresses=addresses),
        phrase("the ageing time of the device is assumed to be {ageing_s:g} s", ageing_s=settings.ageing_s),
    ]
    for size in plan.frame_bytes:
        line = inputs.line_fps(size) or CEILING_WITHOUT_LINK_FPS
        low, high = 0.0, min(inputs.fps(settings.maximum_fps, size) or line, line)
        ceiling, rate, limited = high, high, False
        seen: list[AddressOutcome] = []
        while low < high * (1 - settings.resolution_percent / 100) and rate > least:
            one = yield from address_trial(inputs, settings, size, addresses, rate)
            seen.append(one)
            if one.learned is None and one.record.offered_share >= 1 - TOLERANCE:
                remarks.append(
                    phrase(
                        "{size} byte: the search ended early: at {rate:,.0f} addresses/s no trial could be used",
                        size=size,
                        rate=rate,
                    )
                )
                break
            if one.learned is None:
                # This is the tester's limit, not the device's: the rate that it reached may be tried.
                high, limited = rate * TESTER_MARGIN * one.record.offered_share, True
                rate = high
                continue
            low, high = (rate, high) if one.learned else (low, rate)
            limited = limited and bool(one.learned)
            rate = (low + high) / 2
        open_ended = limited or (low and low == ceiling)
        rows.append(_row(size, rfc2889.Boundary(low, high, bool(open_ended)), seen))
        rows += [one.row({"tried": _rate(one.record.trial.frames_per_second)}) for one in seen]
        if open_ended:
            remarks.append(phrase("{size} byte: at least this rate: the tester offered no more", size=size))
    found = [NO_PAUSE_BEFORE, *rfc2889.deviations(plan, inputs.capabilities.simulated, "§5.8", None, sizes=False)]
    return Result(measurement="address_learning", rows=rows, deviations=found, remarks=remarks)


def _capacity(inputs: MethodInput) -> int | None:
    result = inputs.earlier.get("address_caching")
    found = [row.figures["addresses"].value for row in result.rows if "addresses" in row.figures] if result else []
    return int(found[0]) if found else None


def _row(size: int, limit: rfc2889.Boundary, seen: list[AddressOutcome]) -> Row:
    low = limit.passed
    passed = [one.record.index for one in seen if one.record.trial.frames_per_second == low]
    return Row(
        frame_bytes=size,
        case=phrase("learning rate"),
        figures={"learning_rate": limit.figure("addresses/s")} if low else {},
        trial=passed[-1] if passed else None,
        remark="" if low else _nothing(seen),
    )


def _nothing(seen: Sequence[AddressOutcome]) -> str:
    """Why no rate passed: a table that is too small holds as many addresses at each."""
    remark = phrase("at no rate were all addresses learned")
    failed = [one for one in seen if one.learned is False]
    known = [one.known_addresses for one in failed]
    if len(failed) > 1 and max(known) and max(known) - min(known) <= SAME * max(known):
        remark += phrase(
            ", and at each the device knew {known} of {addresses}: its table may hold no more",
            known=max(known),
            addresses=failed[0].addresses,
        )
    return remark


def _rate(value: float) -> Quantity:
    return Quantity(value=value, unit="addresses/s", uncertainty=0.0)


PROCEDURE = Procedure(
    name="address_learning",
    title=phrase("Address learning rate"),
    standard="RFC 2889 §5.8",
    summary="How fast a device learns addresses, by binary search.",
    settings=AddressLearningSettings,
    of_cpu=True,
    generator=address_learning,
    figure="learning_rate",
    units={"addresses/s": "learning_rate tried", "frames": "offered flooded", "%": "forwarded"},
    example="keisoku address-learning --dut lab:bridge --ports 1,2,3 --addresses 1000 --ageing 300s",
    sizes="64",
    own_flows=True,
    least_ports=3,
)

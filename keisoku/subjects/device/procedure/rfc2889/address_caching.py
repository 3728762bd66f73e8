"""RFC 2889 §5.7: address caching capacity, by the binary search of §5.7.3."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from keisoku.errors import PlanError
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import phrase, plural
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method import rfc2889
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.procedure.rfc2889.address_trial import (
    NO_PAUSE_BEFORE,
    AddressOutcome,
    address_trial,
    least_learning_fps,
)
from keisoku.subjects.device.procedure.rfc2889.settings import AddressCachingSettings
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

SLOWER = 0.4
"""Share of the rate at which the device seems to have learned that it surely learns at."""


def address_caching(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """A row with the 'addresses' learned at the learning port and all entries of the 'table', then a row for
    each iteration with what was 'tried', 'offered' (test frames), 'forwarded' (%) and 'flooded'. The count is exact,
    unless the search was stopped by its limit or by the tester, which a remark says.

    Raises PlanError if the device would forget addresses during a trial.
    """
    plan, settings = inputs.plan, inputs.plan.settings_of(AddressCachingSettings)
    least = least_learning_fps(settings, settings.most_addresses)
    if settings.learning_fps <= least:
        raise PlanError(
            "learning_fps",
            f"the device forgets the first of {settings.most_addresses} addresses before it has learned the last",
            f"use more than {least:.0f} frames/s, or fewer addresses",
        )
    rows: list[Row] = []
    deviations: list[str] = []
    remarks: list[str] = [
        phrase("the ageing time of the device is assumed to be {ageing_s:g} s", ageing_s=settings.ageing_s)
    ]
    for size in plan.frame_bytes:
        low, high = 0, settings.most_addresses + 1
        number = min(settings.addresses, settings.most_addresses)
        seen: list[AddressOutcome] = []
        while high - low >= 2:
            seen.append((yield from address_trial(inputs, settings, size, number, settings.learning_fps)))
            if seen[-1].learned is None:
                break
            low, high = (number, high) if seen[-1].learned else (low, number)
            number = low + (high - low) // 2
        spoiled = bool(seen) and seen[-1].learned is None
        again = None if spoiled else (yield from _slowly(inputs, settings, size, low, seen))
        rows.append(_row(inputs, size, low, seen, again))
        rows += [one.row({"tried": _count(one.addresses)}) for one in (*seen, *([again] if again else []))]
        if again is not None and again.learned:
            deviations.append(
                phrase(
                    "RFC 2889 §5.7.3: new addresses in frames of {size} byte came at {learning_fps:g}/s, "
                    "which is faster than the device learns them",
                    size=size,
                    learning_fps=settings.learning_fps,
                )
            )
        if spoiled:
            remarks.append(
                phrase(
                    "{size} byte: the search ended early: at {number} addresses no trial could be used",
                    size=size,
                    number=number,
                )
            )
        elif low == settings.most_addresses:
            remarks.append(
                plural(
                    "{size} byte: at least {count} address: the search went no further",
                    "{size} byte: at least {count} addresses: the search went no further",
                    size=size,
                    count=low,
                )
            )
    found = [
        NO_PAUSE_BEFORE,
        *deviations,
        *rfc2889.deviations(plan, inputs.capabilities.simulated, "§5.7", None, sizes=False),
    ]
    return Result(measurement="address_caching", rows=rows, deviations=found, remarks=remarks)


def _slowly(
    inputs: MethodInput, settings: AddressCachingSettings, size: int, low: int, seen: Sequence[AddressOutcome]
) -> Generator[Trial, TrialRecord, AddressOutcome | None]:
    """The smallest number of addresses that was not learned, once more at a lower rate, where the device has known more
    addresses at once than that: then its table is no reason for the failure. None if there is no such doubt."""
    failed = min((one.addresses for one in seen if one.learned is False), default=None)
    most = max(seen, key=lambda one: one.known_addresses)
    if failed is None or most.known_addresses <= max(low, failed):
        return None
    share = most.known_addresses / most.addresses
    fps = max(1.05 * least_learning_fps(settings, failed), SLOWER * share * settings.learning_fps)
    if fps >= settings.learning_fps:
        return None
    return (yield from address_trial(inputs, settings, size, failed, fps))


def _row(
    inputs: MethodInput, size: int, addresses: int, seen: Sequence[AddressOutcome], again: AddressOutcome | None
) -> Row:
    # Learning frames taught the device the tester's own address at each port as well.
    own = len(inputs.plan.port_fields())
    passed = [one.record.index for one in seen if one.addresses == addresses]
    count = _at_least if addresses == inputs.plan.settings_of(AddressCachingSettings).most_addresses else _count
    figures = {"addresses": count(addresses), "table": count(addresses + own)} if addresses else {}
    remark = "" if addresses else phrase("no address was learned")
    if again is not None:
        most = max(seen, key=lambda one: one.known_addresses)
        fps = most.record.trial.frames_per_second
        if again.learned:
            figures = {
                name: _at_least(most.known_addresses + more) for name, more in (("addresses", 0), ("table", own))
            }
            remark = phrase(
                "the device learns more slowly than {rate:g} addresses/s: it did not learn "
                "{addresses} addresses at this rate, but at {lower:.3g} addresses/s, and it has "
                "known {known} at once: use a lower --learning-fps to find its capacity",
                rate=fps,
                addresses=again.addresses,
                lower=again.record.trial.frames_per_second,
                known=most.known_addresses,
            )
        else:
            remark = phrase(
                "the device has known {known} of {addresses} addresses at once, but not every one of "
                "{fewer}, at a lower rate neither: places in its table depend on the addresses",
                known=most.known_addresses,
                addresses=most.addresses,
                fewer=again.addresses,
            )
    trial = passed[-1] if passed else None
    return Row(frame_bytes=size, case=phrase("capacity"), figures=figures, trial=trial, remark=remark)


def _at_least(number: int) -> Quantity:
    return Quantity(value=number, unit="addresses", bound="at least")


def _count(number: int) -> Quantity:
    return Quantity(value=number, unit="addresses", uncertainty=0.0)


PROCEDURE = Procedure(
    name="address_caching",
    title=phrase("Address caching capacity"),
    standard="RFC 2889 §5.7",
    summary="How many addresses a device learns, by binary search.",
    settings=AddressCachingSettings,
    generator=address_caching,
    figure="addresses",
    units={"addresses": "addresses table tried", "frames": "offered flooded", "%": "forwarded"},
    example="keisoku address-caching --dut lab:bridge --ports 1,2,3 --most-addresses 1000 --ageing 300s",
    sizes="64",
    own_flows=True,
    least_ports=3,
)

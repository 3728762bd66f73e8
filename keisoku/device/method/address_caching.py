"""RFC 2889 §5.7: address caching capacity, by the binary search of §5.7.3."""

from __future__ import annotations

from collections.abc import Generator

from keisoku.analysis.quantity import Quantity
from keisoku.device.method import rfc2889
from keisoku.device.method.address_trial import NO_PAUSE_BEFORE, Seen, address_trial, least_learning_fps
from keisoku.device.method.setting import Setting
from keisoku.device.plan.rfc2889_settings import AddressCachingSettings
from keisoku.device.record.trial import Trial, TrialRecord
from keisoku.errors import PlanError
from keisoku.run.result import Result, Row


def address_caching(setting: Setting) -> Generator[Trial, TrialRecord, Result]:
    """A row with the 'addresses' learned at the learning port and all entries of the 'table', then a row for
    each iteration with what was 'tried', 'offered' (test frames), 'forwarded' (%) and 'flooded'. The count is exact,
    unless the search was stopped by its limit or by the tester, which a remark says.

    Raises PlanError if the device would forget addresses during a trial.
    """
    plan, settings = setting.plan, setting.plan.of(AddressCachingSettings)
    least = least_learning_fps(settings, settings.most_addresses)
    if settings.learning_fps <= least:
        raise PlanError(
            "learning_fps",
            f"the device forgets the first of {settings.most_addresses} addresses before it has learned the last",
            f"use more than {least:.0f} frames/s, or fewer addresses",
        )
    rows: list[Row] = []
    remarks: list[str] = [f"the ageing time of the device is assumed to be {settings.ageing_s:g} s"]
    for size in plan.frame_bytes:
        low, high = 0, settings.most_addresses + 1
        number = min(settings.addresses, settings.most_addresses)
        seen: list[Seen] = []
        while high - low >= 2:
            seen.append((yield from address_trial(setting, settings, size, number, settings.learning_fps)))
            if seen[-1].learned is None:
                break
            low, high = (number, high) if seen[-1].learned else (low, number)
            number = low + (high - low) // 2
        spoiled = bool(seen) and seen[-1].learned is None
        rows.append(_row(setting, size, low, seen))
        rows += [one.row({"tried": _count(one.addresses)}) for one in seen]
        if spoiled:
            remarks.append(f"{size} byte: the search ended early: at {number} addresses no trial could be used")
        elif low == settings.most_addresses:
            remarks.append(f"{size} byte: at least {low} addresses: the search went no further")
    found = [NO_PAUSE_BEFORE, *rfc2889.deviations(plan, setting.capabilities.simulated, "§5.7", None, sizes=False)]
    return Result(measurement="address_caching", rows=rows, deviations=found, remarks=remarks)


def _row(setting: Setting, size: int, addresses: int, seen: list[Seen]) -> Row:
    # Learning frames taught the device the tester's own address at each port as well.
    own = len(setting.plan.port_fields())
    passed = [one.record.index for one in seen if one.addresses == addresses]
    return Row(
        frame_bytes=size,
        case="capacity",
        figures={"addresses": _count(addresses), "table": _count(addresses + own)} if addresses else {},
        trial=passed[-1] if passed else None,
        remark="" if addresses else "no address was learned",
    )


def _count(number: int) -> Quantity:
    return Quantity(value=number, unit="addresses", uncertainty=0.0)

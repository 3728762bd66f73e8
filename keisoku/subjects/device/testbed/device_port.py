"""Ports of a device that keisoku makes itself: `lab:bridge#1`, `sim:gs908e#2`. Opens nothing."""

from __future__ import annotations

import re

from keisoku.errors import PlanError
from keisoku.subjects.device.testbed.requirements import WantedTestbed

_URI = re.compile(r"(?P<device>\w+:.+)#(?P<number>[1-9]\d{0,3})")


def device_and_numbers(wanted: WantedTestbed) -> tuple[str, list[int]]:
    """The one device of all ports ('lab:bridge'), and the ports' numbers from 1.

    Raises PlanError for invalid names, for ports of several devices and for a port that is given twice.
    """
    device, numbers = wanted.device, []
    for port in wanted.ports:
        match = _URI.fullmatch(port.name)
        if match is None:
            raise PlanError(port.field, f"{port.name!r} is not the name of a port", f"write {port.scheme}:DEVICE#PORT")
        if match["device"] != (device := device or match["device"]):
            problem = f"is not at the device of the first port, {device}"
            raise PlanError(port.field, problem, "use ports of one device, or of this host")
        numbers.append(int(match["number"]))
    wanted.check_apart(numbers, [f"port {number}" for number in numbers])
    for field, given in (("address", wanted.addresses), ("gateway", wanted.gateways)):
        if given:
            raise PlanError(field, f"{device} needs no address", "leave it out, or use ports of this host")
    assert device is not None, "there are ports"
    return device, numbers

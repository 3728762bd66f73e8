"""Where a port of an OTG configuration is: a device of the lab, a simulated one, or this host. Opens nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass

from keisoku.device.engine.fpga.port import FpgaAddress, is_fpga
from keisoku.device.engine.port import PortAddress
from keisoku.errors import PlanError

_OF_DEVICE = re.compile(r"(?P<kind>sim|lab):(?P<name>[^#]+)#(?P<number>[1-9]\d{0,3})")


@dataclass(frozen=True)
class DevicePort:
    """`lab:bridge#1`, `sim:gs908e#2`: a port, by number, of a device that keisoku makes."""

    kind: str
    device: str
    number: int


Location = DevicePort | FpgaAddress | PortAddress


def parse(text: str, path: str) -> Location:
    """Raises PlanError with the path for what names no port."""
    match = _OF_DEVICE.fullmatch(text)
    if match is not None:
        return DevicePort(match["kind"], match["name"], int(match["number"]))
    if text.startswith(("xdp:", "packet:")):
        return PortAddress.parse(text, path)
    if is_fpga(text):
        return FpgaAddress.parse(text, path)
    remedy = (
        "write xdp:INTERFACE or packet:INTERFACE (with @NAMESPACE), lab:DEVICE#PORT, sim:DEVICE#PORT or fpga:LINK#0"
    )
    raise PlanError(path, f"{text!r} names no port", remedy)


def together(places: list[tuple[str, Location]]) -> None:
    """Raises PlanError, with the path, unless all ports are of one device or all of this host."""
    first = _of(places[0][1]) if places else None
    for path, place in places:
        if _of(place) != first:
            raise PlanError(path, "is not at the device of the first port", "use ports of one device, or of this host")


def _of(place: Location) -> tuple[str, str] | None:
    if isinstance(place, FpgaAddress):
        return ("fpga", place.target)
    return (place.kind, place.device) if isinstance(place, DevicePort) else None

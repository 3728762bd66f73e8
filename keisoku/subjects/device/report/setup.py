"""What was connected to what in the run of a device, from its context alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keisoku.ground.report import digits
from keisoku.ground.report.about import Setup, TesterPort
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.plot.device import Device


def setup(device: Device) -> Setup | None:
    """The tester's ports around the device; None where the context has none."""
    context = device.run.context
    ports = context.get("ports")
    if not ports:
        return None
    speed = context.get("link_bits_per_second")
    speed_text = digits.value_text(Quantity(value=float(speed), unit="bit/s")) if speed else ""
    versions = context.get("versions") or {}
    tester = [
        f"keisoku {versions.get('keisoku', '')}".rstrip(),
        str(context.get("engine") or ""),
        str(context.get("host") or ""),
    ]
    return Setup(
        device=device.name,
        ports=[
            _port(each, _sends(context, number, len(ports)), number, speed_text) for number, each in enumerate(ports)
        ],
        tester=", ".join(part for part in tester if part),
        calibration=_calibration(context),
    )


def _sends(context: Mapping[str, Any], number: int, count: int) -> bool:
    """Whether a port of a simulated device sends: the only one that does, or else all but the last one."""
    routes = (context.get("traffic") or {}).get("routes") or []
    senders = {str(route).partition(" ")[0] for route in routes}
    return str(number + 1) in senders if len(senders) == 1 else number < max(1, count - 1)


def _port(port: Any, sends: bool, number: int, speed: str) -> TesterPort:
    """A port of the tester; of a simulated device only its number is known."""
    if not isinstance(port, Mapping):
        return TesterPort(phrase("port {number}", number=port), speed, sends, not sends)
    detail = join_texts(", ", [part for part in (str(port.get("engine") or ""), speed) if part])
    name = str(port.get("interface") or port.get("name") or number + 1)
    return TesterPort(name, detail, bool(port.get("transmits")), bool(port.get("receives")))


def _calibration(context: Mapping[str, Any]) -> str:
    found = context.get("calibration")
    if isinstance(found, Mapping) and found.get("made_at"):
        return phrase("measured at {time}", time=found["made_at"])
    if context.get("engine") == "simulated":
        return phrase("not necessary in simulated time")
    return phrase("subtracted, see below") if found else phrase("none")

"""What a run is about: what the user said of it, and what was connected to what. It adds nothing to the records."""

from __future__ import annotations

from dataclasses import dataclass

from keisoku.language import phrase

ABOUT = {
    "device": phrase("Device"),
    "model": phrase("Model"),
    "serial": phrase("Serial number"),
    "firmware": phrase("Firmware"),
    "configuration": phrase("Configuration"),
    "operator": phrase("Operator"),
    "site": phrase("Site"),
    "note": phrase("Note"),
}
"""Names of the plan's table `about` (`ground/run/settings.py`), in the order of a page."""


@dataclass(frozen=True)
class TesterPort:
    """One port of the tester."""

    name: str
    detail: str
    """Its engine and speed, as far as they are known."""
    transmits: bool
    receives: bool


@dataclass(frozen=True)
class Setup:
    """What was connected to what."""

    device: str
    ports: list[TesterPort]
    tester: str
    """Program, engine and host."""
    calibration: str
    """Of the tester; or that there was none."""

    @property
    def columns(self) -> list[list[TesterPort]]:
        """Ports on either side of the device: those that transmit, and those that only receive."""
        return [[port for port in self.ports if port.transmits is side] for side in (True, False)]

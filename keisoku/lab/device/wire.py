"""The devices that are a wire between two ports: `cable`, and `faulty`, which changes or drops chosen frames."""

from __future__ import annotations

from typing import ClassVar

from pydantic import field_validator

from keisoku.lab.device.device import LabDevice, Site
from keisoku.lab.device.parameter import TimeText, time_ns


class Cable(LabDevice):
    """One veth pair between the tester's ports; there is no DUT, so nothing that could be limited."""

    family: ClassVar[str] = "cable"
    title: ClassVar[str] = "bare cable"
    most_ports: ClassVar[int] = 2

    @field_validator("capacity", "burst", "cost")
    @classmethod
    def _unlimited(cls, given: str) -> str:
        raise ValueError

    @classmethod
    def written(cls) -> str:
        """It has no parameters."""
        return f"{cls.family} alone"

    def build(self, site: Site) -> None:
        """Nothing to build."""


class FaultyWire(LabDevice):
    """The wire of core/bpf/faulty.c, which the lab attaches once all ports are up."""

    family: ClassVar[str] = "faulty"
    title: ClassVar[str] = "faulty device"
    parameters: ClassVar[str] = "outage=50ms"
    most_ports: ClassVar[int] = 2
    events: ClassVar[tuple[str, ...]] = ("path-lost",)

    outage: TimeText = "50ms"
    """How long it loses every frame when the event 'path-lost' happens."""

    @property
    def outage_ns(self) -> int:
        """The same in ns."""
        return time_ns(self.outage)

    def build(self, site: Site) -> None:
        """Nothing to build."""

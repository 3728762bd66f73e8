"""What some devices of a lab can do besides forwarding: each ability with the methods that such a device must have.

A kind of a device that has one can do without it: its `resets`, `leads` or `counts` is False then.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from keisoku.ground.lab.device.counted import Counted
from keisoku.ground.lab.device.device import LabDevice, Site
from keisoku.ground.lab.device.port import LabPort


class ResettableDevice(LabDevice):
    """It can stop forwarding and begin again while its ports stay up. Both are done in the DUT's namespace."""

    resets: ClassVar[bool] = True

    @abstractmethod
    def halt(self) -> None:
        """Forward nothing from now on."""

    @abstractmethod
    def restart(self, site: Site) -> None:
        """Begin again after `halt`."""


class EventfulDevice(LabDevice):
    """It can cause its `events` in itself. Both are done in the DUT's first namespace."""

    @abstractmethod
    def happen(self, event: str, site: Site) -> int | None:
        """Cause an event. The moment in ns of CLOCK_MONOTONIC, if the device knows it; None: while the call lasted."""

    @abstractmethod
    def mend(self, event: str, site: Site) -> int | None:
        """The same to undo it."""


class LeadingDevice(LabDevice):
    """It can be given routes to networks behind a tester's port."""

    leads: ClassVar[bool] = True

    @abstractmethod
    def lead_networks(self, port: LabPort, count: int) -> None:
        """In the port's namespace of the DUT: route `count` networks (`frame/networks.py`) to a port."""

    def await_networks(self, port: LabPort, count: int) -> None:
        """In the DUT's first namespace: wait until these networks are reached; where routers tell each other, that
        takes a while."""


class CountingDevice(LabDevice):
    """It counts by itself what it drops."""

    counts: ClassVar[bool] = True

    @abstractmethod
    def counted(self, port: LabPort) -> Counted:
        """In the port's namespace of the DUT: what was done to frames there."""

"""Bridges whose outputs have a queue for each traffic class: mqprio, and in a cycle of gates taprio and ETF.

A class is the precedence of IP (`traffic_class`). Cycles begin at whole multiples of their length in CLOCK_TAI.
"""

from __future__ import annotations

import re
from typing import ClassVar

from pydantic import Field, ValidationInfo, field_validator

from keisoku.ground.lab.device.kernel_part import ETF, MQPRIO, TAPRIO, WIRE_SIZES, KernelPart
from keisoku.ground.lab.device.parameter import TimeText, time_ns
from keisoku.ground.lab.device.queued import Queued
from keisoku.ground.lab.device.traffic_class import CLASSIFIERS, classify, priority_map

_SLOT = re.compile(r"([0-9a-f]{1,2}):(.+)")
_LEAST_SLOT_NS = 1000
_MOST_SLOTS = 64


class Mqprio(Queued):
    """Gives each traffic class a queue of its own (multiqueue priority)."""

    family: ClassVar[str] = "mqprio"
    title: ClassVar[str] = "Linux bridge with a queue for each class (mqprio)"
    parameters: ClassVar[str] = "classes=2 to 8"
    parts: ClassVar[tuple[KernelPart, ...]] = (MQPRIO, *CLASSIFIERS)

    classes: int = Field(2, ge=2, le=8)

    @property
    def queues(self) -> int:
        """One a class."""
        return self.classes

    def disciplines(self) -> list[str]:
        """In software."""
        return [f"root handle 1: mqprio {self._queues()} hw 0"]

    def filters(self) -> list[str]:
        """A class by IP precedence."""
        return classify(self.classes)

    def _queues(self) -> str:
        own = " ".join(f"1@{number}" for number in range(self.classes))
        return f"num_tc {self.classes} map {priority_map(list(range(self.classes)))} queues {own}"


class Taprio(Mqprio):
    """Opens and closes the queues of traffic classes in a cycle (time-aware shaper, IEEE 802.1Qbv)."""

    family: ClassVar[str] = "taprio"
    title: ClassVar[str] = "Linux bridge with a time-aware shaper (taprio)"
    parameters: ClassVar[str] = "classes=2 to 8&slots=1:5ms,2:5ms (open classes as a hexadecimal mask: time)"
    parts: ClassVar[tuple[KernelPart, ...]] = (TAPRIO, *CLASSIFIERS)

    slots: str = "ff:10ms"

    @field_validator("slots")
    @classmethod
    def _times(cls, given: str) -> str:
        if not 1 <= len(slots(given)) <= _MOST_SLOTS:
            raise ValueError
        return given

    def disciplines(self) -> list[str]:
        """In software, with the kernel's timers."""
        return [f"root handle 1: {WIRE_SIZES} taprio {self._queues()} {self._cycle()} clockid CLOCK_TAI"]

    def _cycle(self) -> str:
        every = (1 << self.classes) - 1
        entries = " ".join(f"sched-entry S {mask & every:02x} {time}" for mask, time in slots(self.slots))
        return f"base-time 0 {entries}"


class Etf(Taprio):
    """Gives each frame a launch time in its class's slot, and sends it then (earliest TxTime first)."""

    family: ClassVar[str] = "etf"
    title: ClassVar[str] = "Linux bridge with launch times (taprio and ETF)"
    parameters: ClassVar[str] = f"{Taprio.parameters}&delay=20ms&delta=10ms"
    parts: ClassVar[tuple[KernelPart, ...]] = (TAPRIO, ETF, *CLASSIFIERS)

    delay: TimeText = "20ms"
    """How much later than now a frame is launched at the earliest."""
    delta: TimeText = "10ms"
    """How much before its launch time a frame is handed on. The kernel drops it if it comes to that too late."""

    @field_validator("delta")
    @classmethod
    def _before(cls, given: str, others: ValidationInfo) -> str:
        if time_ns(given) >= time_ns(others.data.get("delay", "0s")):
            raise ValueError
        return given

    def disciplines(self) -> list[str]:
        """taprio sets launch times and leaves waiting to a queue of ETF in each class."""
        early = f"flags 0x1 txtime-delay {time_ns(self.delay)}"
        queue = f"etf clockid CLOCK_TAI delta {time_ns(self.delta)} skip_sock_check"
        return [
            f"root handle 1: {WIRE_SIZES} taprio {self._queues()} {self._cycle()} {early} clockid CLOCK_TAI",
            *(f"parent 1:{number} {queue}" for number in range(1, self.classes + 1)),
        ]


def slots(text: str) -> list[tuple[int, int]]:
    """The mask of open classes and the time in ns of each slot. Raises ValueError or PlanError."""
    found = [_SLOT.fullmatch(part) for part in text.split(",")]
    times = [(int(slot[1], 16), time_ns(slot[2])) for slot in found if slot]
    if len(times) != len(found) or any(time < _LEAST_SLOT_NS for _, time in times):
        raise ValueError
    return times

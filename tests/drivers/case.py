"""What a case is: a sentence, the drivers and engines it is for, and its work in the guest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from drivers.driver import DRIVERS, Driver

if TYPE_CHECKING:
    from drivers.bed import Bed

ENGINES = ("packet", "xdp", "afxdp")
"""Another engine of host ports needs only to be added here."""


@dataclass(frozen=True)
class Case:
    """One row of the table."""

    name: str
    sentence: str
    work: Callable[[Bed], None]
    each_engine: bool
    """It is carried out with every engine; otherwise once for each driver."""
    absent: dict[str, str]
    """Drivers that it is not carried out with, and what they or their emulated cards lack."""

    @property
    def drivers(self) -> tuple[str, ...]:
        return tuple(driver.name for driver in DRIVERS if driver.name not in self.absent)

    @property
    def engines(self) -> tuple[str | None, ...]:
        return ENGINES if self.each_engine else (None,)


def case(
    each_engine: bool = True, lacking: Callable[[Driver], str] = lambda driver: ""
) -> Callable[[Callable[[Bed], None]], Case]:
    """Makes a case of a function of a bed; its docstring is what the table says. `lacking` says what a driver lacks for
    it, if anything."""

    def made(work: Callable[[Bed], None]) -> Case:
        absent = {driver.name: why for driver in DRIVERS if (why := lacking(driver))}
        assert work.__doc__, work.__name__
        return Case(work.__name__, " ".join(work.__doc__.split()), work, each_engine, absent)

    return made

"""Names of an FPGA instrument's ports: `fpga:sim#0`, `fpga:/dev/ttyUSB0#1`, `fpga:jtag#0`. Opens nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from keisoku.errors import PlanError

SIMULATED = "sim"
PORTS = 2
_URI = re.compile(r"fpga:(?P<target>[^\s#]+)#(?P<number>\d+)")


@dataclass(frozen=True)
class FpgaAddress:
    """A port of an instrument: where the instrument is reached, and the port's number, from 0 as on the board."""

    target: str
    """'sim' for the Verilated model, a serial device, 'jtag', 'jtag:SERIAL', or HOST:PORT."""
    number: int

    @classmethod
    def parse(cls, text: str, field: str = "port") -> Self:
        """Raises PlanError naming `field` if `text` is no such name, or the instrument has no such port."""
        match = _URI.fullmatch(text)
        if match is None:
            remedy = "write fpga:/dev/ttyUSB0#0, fpga:jtag#0, fpga:HOST:PORT#1 or fpga:sim#0"
            raise PlanError(field, f"{text!r} names no port of an instrument", remedy)
        number = int(match["number"])
        if number >= PORTS:
            raise PlanError(field, f"the instrument has no port {number}", f"use 0 to {PORTS - 1}")
        return cls(match["target"], number)

    @property
    def simulated(self) -> bool:
        """Whether this is a port of the Verilated model."""
        return self.target == SIMULATED

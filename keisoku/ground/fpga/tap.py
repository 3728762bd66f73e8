"""The JTAG port of an ECP5 (IEEE 1149.1): identifies the part and scans its user register. Drives no pins itself.

There must be one part in the chain, as on the boards of fpga/board. It never changes the configuration: its only
instructions are the one that reset selects (IDCODE) and ER1.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

from keisoku.errors import EngineError
from keisoku.ground.fpga.jtag import bytes_of, scan_bits

_LATTICE = 0x043
"""The lower 12 bits of IDCODE: manufacturer (JEP106) and the one that begins every IDCODE."""
_ER1 = 0x32
_INSTRUCTION_BITS = 8
_MOST_WANTED = 1024
"""Units of one scan: with more the adapter would still be busy after the end of the answer."""


class JtagWire(Protocol):
    """TCK, TMS, TDI and TDO of an adapter. Raises EngineError if it fails."""

    def move(self, tms: Sequence[int]) -> None:
        """A clock for each bit of TMS; TDI is 0."""
        ...

    def shift(self, bits: Sequence[int], wanted: bool) -> list[int]:
        """A clock for each bit of TDI with TMS 0, and 1 at the last. Returns TDO before each clock, if it is wanted."""
        ...

    def close(self) -> None:
        """Closes the adapter; twice is no error."""
        ...


class Tap:
    """The state machine rests in Run-Test/Idle between calls."""

    def __init__(self, wire: JtagWire) -> None:
        """Raises EngineError if no ECP5 answers."""
        self._wire = wire
        wire.move([1, 1, 1, 1, 1, 0])  # Test-Logic-Reset from anywhere, which chooses IDCODE
        self.idcode = sum(bit << place for place, bit in enumerate(self.scan([0] * 32)))
        if self.idcode in (0, 0xFFFF_FFFF):
            raise EngineError("there is no answer on the JTAG cable: check the board's power and all four wires")
        if self.idcode & 0xFFF != _LATTICE:
            raise EngineError(f"JTAG finds a part with the code {self.idcode:08x}, which is no ECP5")
        wire.move([1, 1, 0, 0])  # to Shift-IR
        wire.shift([_ER1 >> place & 1 for place in range(_INSTRUCTION_BITS)], wanted=False)
        wire.move([1, 0])

    def scan(self, bits: Sequence[int], wanted: bool = True) -> list[int]:
        """Shifts `bits` through the chosen register; returns what came out, if it is wanted."""
        self._wire.move([1, 0, 0])  # to Shift-DR
        found = self._wire.shift(bits, wanted)
        self._wire.move([1, 0])  # by Update-DR
        return found


class JtagTransport:
    """The link's bytes through the user register, as in docs/fpga-link.md."""

    def __init__(self, wire: JtagWire) -> None:
        """Raises EngineError if no ECP5 answers."""
        self._wire = wire
        self._tap = Tap(wire)

    def write(self, data: bytes) -> None:
        """Sends all of `data`. Raises EngineError if the adapter fails."""
        self._tap.scan(scan_bits(data, 0), wanted=False)

    def read(self, count: int, timeout_s: float) -> bytes:
        """Up to `count` bytes, fewer if they have not arrived within `timeout_s`. Raises EngineError."""
        until = time.monotonic() + timeout_s
        data = bytearray()
        while True:
            wanted = min(count - len(data), _MOST_WANTED)
            data += bytes_of(self._tap.scan(scan_bits(b"", wanted)), wanted)
            if len(data) >= count or time.monotonic() > until:
                return bytes(data)

    def close(self) -> None:
        """Closes the adapter; twice is no error."""
        self._wire.close()

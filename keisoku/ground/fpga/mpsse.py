"""JTAG by an FTDI adapter (FT232H, FT2232H, FT4232H), whose MPSSE drives the pins. Knows no state machine.

The package pyftdi opens the adapter and carries its bytes over USB; the commands are those of FTDI's AN 108.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from keisoku.errors import EngineError

FREQUENCY_HZ = 10_000_000
_TCK, _TDI, _TDO, _TMS = 1, 2, 4, 8
"""Of ADBUS."""
_OUTPUTS = _TCK | _TDI | _TMS
_BYTES_OUT, _BYTES_BOTH = 0x19, 0x39
"""Least significant bit first; out at the falling, in at the rising edge of TCK, which begins low."""
_BITS_OUT, _BITS_BOTH = 0x1B, 0x3B
_TMS_OUT, _TMS_BOTH = 0x4B, 0x6B
_SEND_NOW = 0x87
_MOST_TMS = 7
_MOST_OCTETS = 256
"""Limit for one command: its answer must fit into the adapter's buffer."""
_ATTEMPTS = 20


class UsbDevice(Protocol):
    """The part of pyftdi's `Ftdi` that is needed."""

    def write_data(self, data: bytes) -> int:
        """Commands to the adapter."""
        ...

    def read_data_bytes(self, size: int, attempt: int) -> bytes:
        """The received bytes, fewer than `size` if they do not arrive."""
        ...

    def close(self) -> None:
        """Closes the USB device."""
        ...


class MpsseWire:
    """The four pins, at an adapter that is in MPSSE mode."""

    def __init__(self, device: UsbDevice) -> None:
        self._device: UsbDevice | None = device
        self._commands = bytearray()

    def move(self, tms: Sequence[int]) -> None:
        """A clock for each bit of TMS; TDI is 0. It is sent with the next shift."""
        for start in range(0, len(tms), _MOST_TMS):
            part = tms[start : start + _MOST_TMS]
            self._commands += bytes([_TMS_OUT, len(part) - 1, _octet(part)])

    def shift(self, bits: Sequence[int], wanted: bool) -> list[int]:
        """A clock for each bit of TDI with TMS 0, and 1 at the last. Returns TDO before each clock, if it is wanted."""
        *most, last = bits
        whole = len(most) // 8
        found: list[int] = []
        for start in range(0, whole, _MOST_OCTETS):
            some = range(start, min(whole, start + _MOST_OCTETS))
            octets = bytes(_octet(most[8 * place : 8 * place + 8]) for place in some)
            command = _BYTES_BOTH if wanted else _BYTES_OUT
            self._commands += bytes([command]) + (len(octets) - 1).to_bytes(2, "little") + octets
            if wanted:
                found += [octet >> place & 1 for octet in self._exchange(len(octets)) for place in range(8)]
        rest = most[8 * whole :]
        if rest:
            self._commands += bytes([_BITS_BOTH if wanted else _BITS_OUT, len(rest) - 1, _octet(rest)])
        self._commands += bytes([_TMS_BOTH if wanted else _TMS_OUT, 0, last << 7 | 1])
        if not wanted:
            self._flush()
            return []
        answers = self._exchange(bool(rest) + 1)
        if rest:  # bits come in from the top
            found += [answers[0] >> (8 - len(rest) + place) & 1 for place in range(len(rest))]
        return [*found, answers[-1] >> 7]

    def close(self) -> None:
        """Closes the adapter; twice is no error."""
        device, self._device = self._device, None
        if device is not None:
            device.close()

    def _exchange(self, octets: int) -> bytes:
        self._commands.append(_SEND_NOW)
        device = self._flush()
        try:
            found = bytes(device.read_data_bytes(octets, _ATTEMPTS))
        except OSError as error:  # pyftdi's own is one
            raise EngineError(f"the JTAG adapter can no longer be read: {error}") from error
        if len(found) < octets:
            raise EngineError("the JTAG adapter does not answer")
        return found

    def _flush(self) -> UsbDevice:
        if self._device is None:
            raise EngineError("the JTAG adapter was closed")
        commands, self._commands = bytes(self._commands), bytearray()
        try:
            self._device.write_data(commands)
        except OSError as error:
            raise EngineError(f"the JTAG adapter can no longer be written: {error}") from error
        return self._device


def open_adapter(serial: str | None) -> MpsseWire:
    """The adapter of this serial number, or the only one. Raises EngineError if there is none, or more than one."""
    try:
        from pyftdi.ftdi import Ftdi
    except ImportError as error:
        raise EngineError("JTAG needs the package pyftdi; install it with pip") from error
    try:
        there: list[Any] = [device for device, _ in Ftdi.list_devices()]
    except (OSError, ValueError) as error:  # without libusb: ValueError
        raise EngineError(f"USB cannot be searched for JTAG adapters: {error}") from error
    fitting = [device for device in there if serial in (None, device.sn)]
    names = ", ".join(str(device.sn) for device in there)
    if not fitting:
        what = "no FTDI adapter is connected" if not there else f"no adapter has serial number {serial}, but {names}"
        raise EngineError(f"{what}; JTAG needs an FT232H, FT2232H or FT4232H that this user may open")
    if len(fitting) > 1:
        raise EngineError(f"several FTDI adapters are connected ({names}): write fpga:jtag:SERIAL")
    (one,) = fitting
    device = Ftdi()
    try:
        device.open_mpsse(
            one.vid, one.pid, one.bus, one.address, direction=_OUTPUTS, initial=_TMS, frequency=FREQUENCY_HZ
        )
    except (OSError, ValueError) as error:
        raise EngineError(f"the JTAG adapter {one.sn} cannot be opened: {error}") from error
    return MpsseWire(device)


def _octet(bits: Sequence[int]) -> int:
    return sum(bit << place for place, bit in enumerate(bits))

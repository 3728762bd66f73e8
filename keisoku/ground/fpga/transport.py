"""What carries the bytes between host and instrument: a serial line, JTAG, or a TCP connection on this machine.

The bytes have no meaning here. The Verilated model (`keisoku.ground.fpga.sim.Model`) is a transport too.
"""

import ipaddress
import select
import socket
import time
from typing import Protocol

from keisoku.errors import EngineError, PlanError
from keisoku.ground.fpga.mpsse import open_adapter
from keisoku.ground.fpga.tap import JtagTransport

DEFAULT_BAUD = 1_000_000
_JTAG = "jtag"
_FORMS = "write a serial line such as /dev/ttyUSB0, jtag, or host:port"


class Transport(Protocol):
    """Bytes to and from an instrument, in order; any of them may be lost or changed."""

    def write(self, data: bytes) -> object:
        """Sends all of `data`."""
        ...

    def read(self, count: int, timeout_s: float) -> bytes:
        """Up to `count` bytes, fewer if they have not arrived within `timeout_s`."""
        ...

    def close(self) -> None:
        """Closes the line; twice is no error."""
        ...


class SerialTransport:
    """A serial line: 8 data bits, no parity, one stop bit."""

    def __init__(self, path: str, baud: int = DEFAULT_BAUD) -> None:
        """Raises EngineError if the line cannot be opened."""
        try:
            import serial  # type: ignore[import-untyped]
        except ImportError as error:
            raise EngineError("a serial line needs the package pyserial; pip install 'keisoku[board]'") from error
        try:
            self._serial = serial.Serial(path, baud, timeout=0, write_timeout=5)
        except (OSError, ValueError) as error:
            raise EngineError(f"{path} cannot be opened as a serial line: {error}") from error
        self._path = path
        self._timeout_s = 0.0

    def write(self, data: bytes) -> None:
        """Sends all of `data`. Raises EngineError if the adapter has gone."""
        try:
            self._serial.write(data)
        except OSError as error:
            raise EngineError(f"{self._path} can no longer be written: {error}") from error

    def read(self, count: int, timeout_s: float) -> bytes:
        """Up to `count` bytes, fewer after `timeout_s`. Raises EngineError if the adapter has gone."""
        try:
            if timeout_s != self._timeout_s:  # setting it configures the line again
                self._serial.timeout = self._timeout_s = timeout_s
            return bytes(self._serial.read(count))
        except OSError as error:
            raise EngineError(f"{self._path} can no longer be read: {error}") from error

    def close(self) -> None:
        """Closes the line."""
        self._serial.close()


class TcpTransport:
    """A TCP connection to an instrument on this machine: the Verilated model as a server, or a bridge to a board."""

    def __init__(self, host: str, port: int, connect_timeout_s: float = 5.0) -> None:
        """Raises EngineError if there is no listener."""
        self._name = f"{host}:{port}"
        try:
            self._socket = socket.create_connection((host, port), connect_timeout_s)
        except OSError as error:
            raise EngineError(f"no connection to {self._name}: {error.strerror or error}") from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.settimeout(connect_timeout_s)

    def write(self, data: bytes) -> None:
        """Sends all of `data`. Raises EngineError if the connection has ended."""
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise EngineError(f"the connection to {self._name} has ended: {error.strerror or error}") from error

    def read(self, count: int, timeout_s: float) -> bytes:
        """Up to `count` bytes, fewer after `timeout_s`. Raises EngineError if the connection has ended."""
        until = time.monotonic() + timeout_s
        data = bytearray()
        while len(data) < count:
            ready, _, _ = select.select([self._socket], [], [], max(until - time.monotonic(), 0))
            if not ready:
                break
            try:
                piece = self._socket.recv(count - len(data))
            except OSError as error:
                raise EngineError(f"the connection to {self._name} has ended: {error.strerror or error}") from error
            if not piece:
                raise EngineError(f"the connection to {self._name} has ended")
            data += piece
        return bytes(data)

    def close(self) -> None:
        """Ends the connection."""
        self._socket.close()


def open_transport(target: str, field: str = "target") -> Transport:
    """Opens `/dev/ttyUSB0`, `/dev/ttyUSB0@3000000` (baud), `127.0.0.1:7000`, `jtag` or `jtag:SERIAL`.

    Raises PlanError, naming `field`, if `target` is none of these or not on this machine, and EngineError if it cannot
    be opened.
    """
    if target.startswith("/"):
        path, at, baud = target.partition("@")
        if at and not (baud.isdecimal() and int(baud) > 0):
            raise PlanError(field, f"{baud!r} is not a rate in baud", "write for example /dev/ttyUSB0@1000000")
        return SerialTransport(path, int(baud) if at else DEFAULT_BAUD)
    if target == _JTAG or target.startswith(f"{_JTAG}:"):
        serial = target.partition(":")[2]
        return JtagTransport(open_adapter(serial or None))
    host, _, port = target.rpartition(":")
    if not (host and port.isdecimal() and 0 < int(port) < 65536):
        raise PlanError(field, f"{target!r} is no instrument", _FORMS)
    host = host.strip("[]")
    if not _is_loopback(host):
        raise PlanError(field, f"{host} is not this machine", "the link is not encrypted: tunnel it to 127.0.0.1")
    return TcpTransport(host, int(port))


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

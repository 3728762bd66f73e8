"""The far end of file transfers: writes received files into one directory, and reports times and hashes.

It writes only there, only under the name of the transfer, and never overwrites a file.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keisoku.errors import EngineError
from keisoku.ground.host.address import address_text, family, socket_address
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.control import Control
from keisoku.subjects.stream.file.chunks import CHUNK_BYTES, WriteBehind, forget
from keisoku.subjects.stream.message import random_bytes
from keisoku.subjects.stream.session import OPENING

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")
_ACCEPT_S = 6.0
_STALL_S = 60.0
MOST_BYTES = 1 << 44


class FileEnd:
    """One transfer's end in `directory`; `close` removes a file that was not kept."""

    def __init__(self, directory: Path, message: Mapping[str, Any]) -> None:
        """Raises EngineError if there is such a file already, or no room; ValueError for a name that cannot be."""
        name, self._bytes = str(message["name"]), int(message["bytes"])
        if not _NAME.fullmatch(name) or not 0 < self._bytes <= MOST_BYTES:
            raise ValueError("no name, or no size")
        self._final = directory / name
        if self._final.exists():
            raise EngineError(f"{name} exists already in the server's directory; give another --name")
        # One is written while another, that is verified, may be there.
        if shutil.disk_usage(directory).free < 2 * self._bytes:
            raise EngineError("the server's disk has no room for the file; free some space there")
        self.path = directory / f"keisoku-{secrets.token_hex(6)}.part"
        self._direct = bool(message["direct"])
        self._bps = None if message["bps"] is None else float(message["bps"])

    def write(self) -> int:
        """The ns that so many bytes take from memory until they are on the disk."""
        content = random_bytes(CHUNK_BYTES)
        left = self._bytes
        begun_ns = time.monotonic_ns()
        behind = WriteBehind(self.path, self._direct, self._bps)
        while left:
            count = min(len(behind.room), left)
            behind.room[:count] = content[:count]
            behind.put(count)
            left -= count
        behind.finish()
        return time.monotonic_ns() - begun_ns

    def receive(self, control: Control, place: Place, address: str, host: str) -> None:
        """Takes the file from the client's connection and answers when it is on the disk.

        Raises EngineError if that connection does not come.
        """
        token = secrets.randbits(63)
        with place.inside(lambda: socket.socket(family(address), socket.SOCK_STREAM)) as listener:
            listener.bind(socket_address(address, 0))
            listener.listen(1)
            listener.settimeout(_ACCEPT_S)
            control.send({"port": listener.getsockname()[1], "token": token})
            try:
                stream, peer = listener.accept()
            except TimeoutError as error:
                raise EngineError("the file's connection did not come; measure again") from error
        with stream:
            stream.settimeout(_STALL_S)
            opening = b""
            while len(opening) < OPENING.size and (part := stream.recv(OPENING.size - len(opening))):
                opening += part
            if address_text(peer) != host or opening != OPENING.pack(token, 0):
                raise EngineError("another client connected in place of the file's sender; measure again")
            control.send({"bytes": self._take(stream)})

    def sync(self) -> None:
        """Waits until a file that another server wrote is on the disk. Raises EngineError if it is not there."""
        try:
            handle = os.open(self.path, os.O_RDWR)
        except OSError as error:
            raise EngineError(
                f"the FTP server did not write into this server's directory ({error.strerror}); see --ftp-directory"
            ) from error
        try:
            os.fdatasync(handle)
        finally:
            os.close(handle)

    def sha256(self) -> str:
        """SHA-256 of the file, read from the disk."""
        forget(self.path)
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def keep(self) -> None:
        """Gives the file its name. Raises EngineError if another one took it meanwhile."""
        try:
            os.link(self.path, self._final)
        except OSError as error:
            raise EngineError(f"{self._final.name} cannot be made: {error.strerror}; give another --name") from error

    def close(self) -> None:
        """Removes what was not kept."""
        self.path.unlink(missing_ok=True)

    def _take(self, stream: socket.socket) -> int:
        behind = WriteBehind(self.path, self._direct, self._bps)
        left = self._bytes
        try:
            while left and (count := stream.recv_into(behind.room, min(len(behind.room), left))):
                behind.put(count)
                left -= count
        except BaseException:
            behind.abandon()
            raise
        behind.finish()
        return self._bytes - left


def answer(
    end: FileEnd | None, message: Mapping[str, Any], control: Control, place: Place, address: str, host: str
) -> None:
    """Carries out one message of the client. Raises EngineError if it fails, ValueError for an unknown message."""
    if end is None:
        raise ValueError("no transfer has begun")
    match message["op"]:
        case "write":
            control.send({"ns": end.write()})
        case "receive":
            end.close()
            end.receive(control, place, address, host)
        case "clear":
            end.close()
            control.send({"cleared": True})
        case "sync":
            end.sync()
            control.send({"synced": True})
        case "sha256":
            control.send({"sha256": end.sha256()})
        case "keep":
            end.keep()
            control.send({"kept": True})
        case _:
            raise ValueError(f"{message['op']}")

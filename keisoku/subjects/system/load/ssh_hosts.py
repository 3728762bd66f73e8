"""`SshHosts`: connections to hosts from which clients load, by the system's own ssh; one for each host, until the end.

It asks for no password, forwards nothing, and trusts no host whose key ssh does not know. Both ends watch the
connection: when it or this process ends, no process of ours stays there.
"""

from __future__ import annotations

import contextlib
import re
import secrets
import subprocess
import threading
import zlib
from pathlib import Path
from shlex import quote
from types import TracebackType
from typing import Self

from keisoku.errors import EngineError, PlanError
from keisoku.ground.host.program import Program
from keisoku.ground.host.temporary_folder import TemporaryFolder

SCHEME = "ssh://"
SSH = Program("ssh", "openssh-client")
_DESTINATION = re.compile(
    r"ssh://(?:[A-Za-z0-9_][\w.+-]*@)?(?:[A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.%\w]+\])(?::\d{1,5})?"
)
_CONNECT_S = 10
_PATIENCE_S = 5.0
_SETTINGS = (
    "BatchMode=yes",
    f"ConnectTimeout={_CONNECT_S}",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "ServerAliveInterval=2",
    "ServerAliveCountMax=2",
    "LogLevel=ERROR",
)
_OPTIONS = ("-a", "-x", "-T", *(f"-o{setting}" for setting in _SETTINGS))


def check_destination(text: str) -> str:
    """Itself. Raises PlanError for text that is not ssh://[USER@]HOST[:PORT]."""
    if not _DESTINATION.fullmatch(text):
        raise PlanError(
            "target", f"'{text}' is no host to reach by ssh", "write ssh://USER@HOST or ssh://USER@HOST:PORT"
        )
    return text


class SshHosts:
    """A context manager: a connection opens when it is first wanted, and all close on exit."""

    def __init__(self, configuration: Path | None = None) -> None:
        """`configuration`: a file like ~/.ssh/config, which is then not read; None: what ssh reads by itself."""
        self._configuration = configuration
        self._masters: dict[str, subprocess.Popen[bytes]] = {}
        self._folder: TemporaryFolder | None = None

    def __enter__(self) -> Self:
        self._folder = TemporaryFolder("ssh")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for master in self._masters.values():
            with contextlib.suppress(OSError):
                if master.stdin:
                    master.stdin.close()
        for master in self._masters.values():
            try:
                master.wait(_PATIENCE_S)
            except subprocess.TimeoutExpired:
                master.kill()
                master.wait()
        self._masters.clear()
        if self._folder:
            self._folder.remove()

    def command(self, destination: str, script: str) -> list[str]:
        """What runs a shell's script there. Raises PlanError or EngineError if the host cannot be reached."""
        self._open(destination)
        # A user's own shell may be none of POSIX's: it only has to know a quoted word.
        return [*self._ssh(destination), f"exec /bin/sh -c {quote(script)}"]

    def _ssh(self, destination: str, *more: str) -> list[str]:
        assert self._folder
        own = ["-F", str(self._configuration)] if self._configuration else []
        # %C would be as good, but a socket's path is short.
        path = self._folder.path / f"{zlib.crc32(destination.encode()):08x}"
        return [SSH.path or SSH.name, *own, *_OPTIONS, *more, "-S", str(path), "--", destination]

    def _open(self, destination: str) -> None:
        if destination in self._masters:
            if self._masters[destination].poll() is not None:
                raise EngineError(f"the connection to {destination} is lost; measure again")
            return
        if SSH.path is None:
            raise PlanError("target", "ssh is not installed", f"install the Debian package {SSH.package}")
        token = secrets.token_hex(8)
        command = [*self._ssh(destination, "-M"), f"echo {token}; exec cat >/dev/null"]
        pipe = subprocess.PIPE
        # When this process is gone its end of the pipe is, and so cat, and so the connection.
        master = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)
        self._masters[destination] = master
        killer = threading.Timer(_CONNECT_S + _PATIENCE_S, master.kill)
        killer.start()
        assert master.stdout
        assert master.stderr
        try:
            while (line := master.stdout.readline()) and token.encode() not in line:
                pass
        finally:
            killer.cancel()
        if not line:
            words = master.stderr.read().decode("utf-8", "replace").strip().splitlines()
            why = words[-1] if words else "it does not answer"
            raise EngineError(
                f"{destination} cannot be reached by ssh: {why}; try 'ssh -o BatchMode=yes {destination}'"
            )

"""`FtpServer`: vsftpd in a namespace of a lab, for measurements of transfers with a real FTP server.

Any client may read and write in one directory, which belongs to Debian's user `ftp`. It measures nothing.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from keisoku.errors import EngineError
from keisoku.ground.host.child import Child
from keisoku.ground.host.namespace import Namespace
from keisoku.ground.host.temporary_folder import TemporaryFolder

PORT = 21
USER = "ftp"
_PROGRAM = "/usr/sbin/vsftpd"
_EMPTY = Path("/run/vsftpd/empty")
"""The service of Debian's package makes this directory; vsftpd uses it as its chroot."""
_START_S = 10.0


class FtpServer:
    """A context manager. Clients see the parent of `directory` as their root and may write in `directory` alone.

    `bytes_per_second` limits each transfer (anon_max_rate; 0: no limit).

    Raises EngineError if vsftpd is not installed or does not start.
    """

    def __init__(self, namespace: Namespace, directory: Path, bytes_per_second: int = 0) -> None:
        # vsftpd looks for it from another directory.
        self._namespace, self._directory, self._rate = namespace, directory.resolve(), bytes_per_second
        self._child: Child | None = None
        self._folder: TemporaryFolder | None = None

    def __enter__(self) -> Self:
        if not installed():
            raise EngineError("vsftpd is not installed; install the Debian package vsftpd")
        _EMPTY.mkdir(parents=True, exist_ok=True)
        owner = pwd.getpwnam(USER)
        if not self._directory.parent.stat().st_mode & 0o001:
            raise EngineError(f"{self._directory.parent} is not accessible to the user ftp; set its mode to 0755")
        os.chown(self._directory, owner.pw_uid, owner.pw_gid)
        self._folder = TemporaryFolder("vsftpd")
        settings = self._folder.path / "vsftpd.conf"
        settings.write_text(self._text())
        try:
            child = self._child = self._namespace.run(
                lambda: Child(
                    [_PROGRAM, str(settings)],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            )
            deadline = time.monotonic() + _START_S
            while not self._namespace.run(_listens):
                if child.ended() or time.monotonic() > deadline:
                    raise EngineError("vsftpd did not start; start it by hand to see why")
                time.sleep(0.01)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End it; twice is no error."""
        if self._child is not None:
            self._child.end()
        if self._folder is not None:
            self._folder.remove()

    def _text(self) -> str:
        switched_on = (
            "listen",
            "anonymous_enable",
            "write_enable",
            "anon_upload_enable",
            "anon_other_write_enable",
            "no_anon_password",
            "pasv_enable",
        )
        lines = [f"{name}=YES" for name in switched_on]
        lines += ["background=NO", "local_enable=NO", "xferlog_enable=NO", "seccomp_sandbox=NO", "anon_umask=022"]
        lines += [f"anon_root={self._directory.parent}", f"secure_chroot_dir={_EMPTY}", f"anon_max_rate={self._rate}"]
        return "\n".join(lines) + "\n"


def installed() -> bool:
    """Whether this host has vsftpd."""
    return shutil.which(_PROGRAM) is not None


def _listens() -> bool:
    lines = Path("/proc/thread-self/net/tcp").read_text().splitlines()[1:]
    return any(line.split()[1].endswith(f":{PORT:04X}") and line.split()[3] == "0A" for line in lines)

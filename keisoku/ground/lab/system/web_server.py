"""`WebServer`: nginx in a server's namespace, with files of random bytes. It never touches the system's own nginx."""

from __future__ import annotations

import os
import random
from pathlib import Path

from keisoku.errors import PlanError
from keisoku.ground.host.namespace import Namespace
from keisoku.ground.host.program import Program
from keisoku.ground.lab.daemons import Daemons
from keisoku.ground.lab.system.shape import SystemShape

NGINX = Program("nginx", "nginx-light")
PORT = 80
_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def require() -> None:
    """Raises PlanError with the remedy if nginx is not installed."""
    if NGINX.path is None:
        raise PlanError("device", "a system needs nginx", f"install the Debian package {NGINX.package}")


class WebServer:
    """A daemon that is not a context manager: `start` starts it, `end` ends it and removes its directory."""

    def __init__(self, namespace: Namespace, address: str, shape: SystemShape) -> None:
        self._namespace, self._address, self._shape = namespace, address, shape
        self._daemons = Daemons(namespace.name)

    def start(self) -> None:
        """Starts nginx and waits until it listens. Raises EngineError with its last line of output if it does not."""
        directory = self._daemons.make_directory()
        files = directory / "files"
        files.mkdir()
        content = random.Random(1)
        for file in self._shape.files:
            (files / file.path[1:]).write_bytes(_content(content, file.size_bytes, bool(self._shape.compression)))
        configuration = directory / "nginx.conf"
        configuration.write_text(self._configuration(directory))
        arguments = ["-c", str(configuration), "-e", str(directory / "error.log")]
        ready = directory / "ready.sock"
        self._namespace.run(
            lambda: self._daemons.start(NGINX, *arguments, ready=ready, core=None, environment={"LC_ALL": "C"})
        )

    def end(self) -> None:
        """Ends it; no error if it never started."""
        self._daemons.end()

    def _configuration(self, directory: Path) -> str:
        shape = self._shape
        temporary = "".join(f"  {name}_temp_path {directory}/{name};\n" for name in _TEMPORARY)
        return (
            # Runs as the user who makes the lab: the directory is closed to all others.
            f"daemon off;\nuser {_user()};\nworker_processes {shape.workers};\n"
            f"pid {directory}/nginx.pid;\nerror_log {directory}/error.log crit;\nworker_rlimit_nofile 65536;\n"
            f"events {{ worker_connections {shape.worker_connections}; }}\n"
            f"http {{\n{temporary}  access_log off;\n  sendfile on;\n  keepalive_requests 1000000;\n"
            f"{self._compression()}  server {{\n    listen {self._address}:{PORT} backlog={shape.backlog};\n"
            f"    listen unix:{directory}/ready.sock;\n    root {directory}/files;\n  }}\n}}\n"
        )

    def _compression(self) -> str:
        level = self._shape.compression
        return f"  gzip on;\n  gzip_comp_level {level};\n  gzip_types *;\n  gzip_http_version 1.0;\n" if level else ""


def _content(source: random.Random, size_bytes: int, compressible: bool) -> bytes:
    if not compressible:
        return source.randbytes(size_bytes)
    block = source.randbytes(1000)
    return (block * (size_bytes // len(block) + 1))[:size_bytes]


def _user() -> str:
    import pwd  # this module exists only on Unix, as labs do

    return pwd.getpwuid(os.geteuid()).pw_name

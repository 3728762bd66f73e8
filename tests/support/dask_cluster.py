"""A Dask cluster of separate hosts: scheduler and workers in network namespaces that a bridge joins."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from pyroute2 import IPRoute

from keisoku.ground.host.namespace import Namespace
from keisoku.ground.host.undo import record, undo
from keisoku.ground.lab.system.line import bridge, host, join, pair
from support.ssh_servers import end_all, pids

_SCHEDULER, _CONGESTION = "198.18.9.254", "cubic"
_numbers = itertools.count(9_500)


def certificates(folder: Path) -> dict[str, str]:
    """Files of a new certificate for all ends of a cluster, as variables of Dask's configuration."""
    from distributed import Security

    folder.mkdir()
    made = Security.temporary()
    for name, content in (("ca.pem", made.tls_ca_file), ("host.pem", made.tls_client_cert)):
        (folder / name).write_text(content)
    (folder / "host.key").write_text(made.tls_client_key)
    ends = {"CERT": "host.pem", "KEY": "host.key"}
    named = {f"{end}__{what}": file for end in ("SCHEDULER", "WORKER", "CLIENT") for what, file in ends.items()}
    prefix = "DASK_DISTRIBUTED__COMM__TLS__"
    return {f"{prefix}{name}": str(folder / file) for name, file in {"CA_FILE": "ca.pem", **named}.items()}


class DaskCluster:
    """Standard `dask scheduler` and `dask worker`s, each of which announces what its place in `resources` says.

    `environment` is that of all of them; with that of `certificates` they use TLS.
    """

    def __init__(
        self,
        folder: Path,
        resources: Sequence[str],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.protocol = "tls" if environment and any("TLS" in name for name in environment) else "tcp"
        self.address = f"{self.protocol}://{_SCHEDULER}:8786"
        self._folder, self._resources = folder, resources
        self.environment = {
            **os.environ,
            **(environment or {}),
            "PYTHONPATH": ":".join(sys.path),
            "XDG_STATE_HOME": str(folder),
            "DASK_TEMPORARY_DIRECTORY": str(folder),
        }
        number = next(_numbers)
        self.switch = Namespace(f"keisoku-{os.getpid()}-{number}-switch")
        self.workers = [
            Namespace(f"keisoku-{os.getpid()}-{number}-server{place}") for place in range(1, len(resources) + 1)
        ]
        self._children: list[subprocess.Popen[bytes]] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.callback(self._reap)  # after all have been ended
            for place in (self.switch, *self.workers):
                stack.callback(undo, record("namespace", name=place.name))
                place.create()
                stack.callback(end_all, place.name)
            self.switch.run(self._plug)
            for number, worker in enumerate(self.workers, 1):
                worker.run(partial(host, "eth0", f"198.18.9.{number}", _CONGESTION))
            self._start(self.switch, "scheduler", "--host", _SCHEDULER, "--port", "8786", "--protocol", self.protocol)
            for number in range(len(self.workers)):
                self._serve(number)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def keisoku(self, *arguments: str, environment: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        """The command, beside the scheduler."""
        command = [sys.executable, "-m", "keisoku", *arguments]
        return self.switch.run(
            lambda: subprocess.Popen(
                command,
                cwd=self._folder,
                env={**self.environment, **(environment or {})},
                stdout=-1,
                stderr=-1,
                text=True,
                bufsize=1,
            )
        )

    def kill(self, worker: int) -> None:
        """Ends the process that measures, not the nanny that starts another one."""
        for pid in pids(self.workers[worker].name):
            if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, 9)

    def serve_again(self, worker: int) -> None:
        """Starts a worker that ended because it was given up, as a service is started again."""
        self._children[1 + worker].wait(120)
        self._serve(worker)

    def plug(self, worker: int, state: str) -> None:
        """Sets a worker's port at the switch 'up' or 'down'."""
        self.switch.run(lambda: _set(f"port{worker + 1}", state))

    def logs(self) -> str:
        """Of scheduler and workers."""
        return "".join(path.read_text() for path in self._folder.glob("*.dask.log"))

    def _plug(self) -> None:
        bridge("bridge")
        for place, worker in enumerate(self.workers, 1):
            pair(f"port{place}", "eth0", worker.path)
            join(f"port{place}", "bridge")
        host("bridge", _SCHEDULER, _CONGESTION)

    def _serve(self, worker: int) -> None:
        own = ["--nthreads", "1", "--resources", self._resources[worker], "--local-directory", str(self._folder)]
        self._start(self.workers[worker], "worker", self.address, *own)

    def _start(self, place: Namespace, what: str, *arguments: str) -> None:
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *arguments, "--no-dashboard"]
        with (self._folder / f"{place.name}.dask.log").open("a") as log:
            self._children.append(
                place.run(lambda: subprocess.Popen(command, env=self.environment, stdout=log, stderr=log))
            )

    def _reap(self) -> None:
        for child in self._children:
            child.wait()


def _set(name: str, state: str) -> None:
    with IPRoute() as route:
        route.link("set", index=route.link_lookup(ifname=name)[0], state=state)

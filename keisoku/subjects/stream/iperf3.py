"""iperf3 as an independent check of a throughput: its server for one client, and its client, by `--json`.

Its figures are kept beside ours and never in their place: iperf3 3.12 spends more on each call than a plain loop.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from keisoku.errors import EngineError
from keisoku.ground.host.child import Child
from keisoku.subjects.stream.trial import StreamTrial

_PATIENCE_S = 20.0
_START_S = 5.0
_Outcome = TypeVar("_Outcome")
Inside = Callable[[Callable[[], Any]], Any]
"""Calls what it is given in a namespace."""


class Iperf3Server:
    """`iperf3 -s`, for one client, on a port of its choice. Raises EngineError where there is no iperf3."""

    def __init__(self, inside: Inside, address: str, port: int) -> None:
        self.port = port
        self._output = tempfile.TemporaryFile()  # noqa: SIM115
        command = [program(), "-s", "-1", "-B", address, "-p", str(port)]
        self._child: Child = inside(lambda: Child(command, stdout=self._output, stderr=self._output))
        deadline = time.monotonic() + _START_S
        while not inside(lambda: _listens(port)):
            if self._child.ended() or time.monotonic() > deadline:
                self.close()
                raise EngineError("iperf3 did not start at the far end; try it there by hand")
            time.sleep(0.01)

    def close(self) -> None:
        """End it; twice is no error."""
        self._child.end()
        self._output.close()


def client(inside: Inside, address: str, port: int, trial: StreamTrial) -> dict[str, Any]:
    """iperf3's figures of a trial: `bps` received in `seconds`, and its `version`. Raises EngineError if it fails."""
    seconds = max(round(trial.duration_s), 1)
    command = [program(), "-c", address, "-p", str(port), "-J", "-t", str(seconds), "-l", str(trial.message_bytes)]
    command += ["-P", str(trial.streams)]
    if trial.protocol == "udp":
        command += ["-u", "-b", str(round(trial.bps)) if trial.bps else "0"]
    elif trial.congestion:
        command += ["-C", trial.congestion]
    if trial.direction != "forward":
        command.append("-R" if trial.direction == "reverse" else "--bidir")
    try:
        done = inside(lambda: subprocess.run(command, capture_output=True, timeout=seconds + _PATIENCE_S, check=False))
        told = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError) as error:
        raise EngineError(f"iperf3 did not answer: {error}; try it by hand") from error
    if "error" in told:
        raise EngineError(f"iperf3: {told['error']}; try it by hand")
    return read(told, trial)


def read(told: dict[str, Any], trial: StreamTrial) -> dict[str, Any]:
    """The figures of its JSON. Raises EngineError if they are not there."""
    try:
        bps, took_s = _bps(told["end"], trial), _seconds(told["end"], trial)
        version = str(told["start"]["version"]).removeprefix("iperf ")
    except (KeyError, TypeError, ValueError) as error:
        raise EngineError(f"the output of iperf3 is not that of version 3.12 ({error})") from error
    return {"bps": bps, "seconds": took_s, "version": version}


def program() -> str:
    """Its path. Raises EngineError where there is none."""
    found = shutil.which("iperf3")
    if found is None:
        raise EngineError("iperf3 is needed at both ends; install it (Debian: iperf3)")
    return found


def _bps(end: dict[str, Any], trial: StreamTrial) -> float:
    if trial.protocol == "udp":
        whole = end["sum"]
        return float(whole["bits_per_second"]) * (1 - float(whole.get("lost_percent") or 0) / 100)
    received = [end[name] for name in ("sum_received", "sum_received_bidir_reverse") if name in end]
    return sum(float(one["bits_per_second"]) for one in received)


def _seconds(end: dict[str, Any], trial: StreamTrial) -> float:
    whole = end["sum"] if trial.protocol == "udp" else end["sum_received"]
    return float(whole["seconds"])


def _listens(port: int) -> bool:
    """By the kernel's table of sockets: a connection would be taken for the one client."""
    wanted = f":{port:04X}"
    tables = (Path("/proc/thread-self/net/tcp"), Path("/proc/thread-self/net/tcp6"))
    return any(
        line.split()[1].endswith(wanted) and line.split()[3] == "0A"
        for table in tables
        if table.exists()
        for line in table.read_text().splitlines()[1:]
    )

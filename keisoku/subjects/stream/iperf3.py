"""iperf3 as an independent check of a throughput: its client, by `--json`. The far end starts its server.

Its figures are kept beside ours and never in their place: iperf3 3.12 spends more on each call than a plain loop.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

from keisoku.errors import EngineError
from keisoku.subjects.stream.trial import StreamTrial

_PATIENCE_S = 20.0
Inside = Callable[[Callable[[], Any]], Any]
"""Calls what it is given in a namespace."""


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

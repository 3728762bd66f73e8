"""The context that every record needs: versions, host, kernel, clock, governor. It measures nothing."""

from __future__ import annotations

import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from keisoku.language import phrase

_LIBRARIES = ("keisoku", "numpy", "scapy", "pyroute2", "pydantic")
NOT_VISIBLE = phrase("not visible")
"""In place of a governor that the machine does not show."""
_POLICIES = {
    os.SCHED_OTHER: "normal",
    os.SCHED_BATCH: "batch",
    os.SCHED_IDLE: "idle",
    os.SCHED_FIFO: "fifo",
    os.SCHED_RR: "rr",
}


def host_context() -> dict[str, object]:
    """Properties of this machine that can influence a result."""
    return {
        "host": platform.node(),
        "system": _os_release(),
        "kernel": platform.release(),
        "cpu": _cpu_model(),
        "cpus": os.cpu_count(),
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") or NOT_VISIBLE,
        "clock_source": _read("/sys/devices/system/clocksource/clocksource0/current_clocksource") or "unknown",
        "scheduling": _scheduling(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in _LIBRARIES},
    }


def _scheduling() -> dict[str, object]:
    """Whom this process shares CPUs with: with autogroups the kernel shares them among sessions, not processes, so that
    a run from a shell, and one in a session of its own, get different shares on a busy host (sched(7)). A process in no
    autogroup reads an empty file: its group is "" and the group's nice value is unknown."""
    group = _read("/proc/self/autogroup")
    return {
        "session": os.getsid(0),
        "own_session": os.getsid(0) == os.getpid(),
        "autogroups": _read("/proc/sys/kernel/sched_autogroup_enabled") == "1",
        "autogroup": group.partition(" ")[0].lstrip("/"),
        "autogroup_nice": int(group.rpartition(" ")[2]) if group else None,
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "policy": _POLICIES.get(os.sched_getscheduler(0), "other"),
        "cpus": sorted(os.sched_getaffinity(0)),
    }


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


@cache
def _cpu_model() -> str:
    models = [
        line.partition(":")[2].strip() for line in _read("/proc/cpuinfo").splitlines() if line.startswith("model name")
    ]
    return models[0] if models else platform.machine()


@cache
def _os_release() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


@cache
def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return phrase("not installed")

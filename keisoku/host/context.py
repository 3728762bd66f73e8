"""The context that every record needs: versions, host, kernel, clock, governor. It measures nothing."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_LIBRARIES = ("keisoku", "numpy", "scapy", "pyroute2", "pydantic")


def host_context() -> dict[str, object]:
    """Properties of this machine that can influence a result."""
    return {
        "host": platform.node(),
        "system": _os_release(),
        "kernel": platform.release(),
        "cpu": _cpu_model(),
        "cpus": os.cpu_count(),
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") or "not visible",
        "clock_source": _read("/sys/devices/system/clocksource/clocksource0/current_clocksource") or "unknown",
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in _LIBRARIES},
    }


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _cpu_model() -> str:
    models = [
        line.partition(":")[2].strip() for line in _read("/proc/cpuinfo").splitlines() if line.startswith("model name")
    ]
    return models[0] if models else platform.machine()


def _os_release() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.system()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"

"""The frequency governor of the CPUs, which decides how fast they run (Linux, admin-guide/pm/cpufreq)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from keisoku.errors import EngineError

CPUS = Path("/sys/devices/system/cpu")
_FILE = "cpufreq/scaling_governor"


def governors() -> dict[str, str]:
    """The governor of each CPU that has one, by 'cpu0'."""
    return {file.parents[1].name: file.read_text().strip() for file in CPUS.glob(f"cpu[0-9]*/{_FILE}")}


def set_governors(wanted: Mapping[str, str]) -> None:
    """Raises EngineError if the kernel refuses."""
    for cpu, governor in wanted.items():
        file = CPUS / cpu / _FILE
        try:
            file.write_text(governor)
        except OSError as error:
            raise EngineError(f"{file} refuses '{governor}': {error.strerror}; set it by hand, or leave it") from error

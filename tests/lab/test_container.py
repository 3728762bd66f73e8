"""A lab where /proc/sys is read-only, as the engines of containers make it for whoever is not --privileged."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.lab

_LAB = """
from keisoku.errors import EngineError
from keisoku.ground.host.namespace import run_in_namespace
from keisoku.ground.lab.device.lab import Lab
try:
    with Lab("bridge", own_core=False) as lab:
        read = lambda: open("/proc/sys/net/ipv4/conf/all/arp_ignore").read().strip()
        print("in the lab", run_in_namespace(lab.ports[0].dut_namespace_path, read))
except EngineError as error:
    print(error)
"""


def _read_only(place: str) -> str:
    """What the lab prints where `place` is bound read-only over itself."""
    bind = f"mount --bind {place} {place} && mount -o remount,ro,bind {place}"
    command = ["unshare", "--mount", "sh", "-c", f'{bind} && exec "$@"', "sh", sys.executable, "-c", _LAB]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def test_a_lab_can_be_made_in_a_container() -> None:
    assert _read_only("/proc/sys") == "in the lab 1\n"


def test_where_it_cannot_be_made_that_is_a_sentence() -> None:
    said = _read_only("/proc")
    assert "/proc/sys is read-only here" in said and "--privileged" in said

"""The wheel for aarch64 in a Debian root of that processor, which QEMU runs: it finds what this machine finds.

Simulated devices only: QEMU's user mode knows neither BPF nor the sockets that ports need.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from clean_root import mirror

DIST = Path(__file__).parent.parent / "dist"
EMULATOR = shutil.which("qemu-aarch64-static")
MEASURED = ["throughput", "--dut", "sim:apresia3124gt", "--size", "64,1518", "--duration", "50ms", "--out", "run"]

pytestmark = [
    pytest.mark.skipif(
        os.geteuid() != 0 or EMULATOR is None or shutil.which("debootstrap") is None or platform.machine() == "aarch64",
        reason="needs root, debootstrap and qemu-user-static on another processor",
    ),
    pytest.mark.timeout(1800),
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Debian's Python for aarch64 with the wheel and what it needs, unpacked: nothing of it has run."""
    made = tmp_path_factory.mktemp("aarch64")
    codename = platform.freedesktop_os_release()["VERSION_CODENAME"]
    wanted = ["--arch=arm64", "--foreign", "--variant=minbase", "--include=python3"]
    command = ["debootstrap", *wanted, codename, str(made), *mirror(codename)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    for package in (made / "var/cache/apt/archives").glob("*.deb"):
        subprocess.run(["dpkg", "-x", str(package), str(made)], check=True)
    (wheel,) = DIST.glob("keisoku-*_aarch64.whl")
    version = (made / "usr/bin/python3").readlink().name.removeprefix("python")
    glibc = [f"--platform=manylinux{form}_aarch64" for form in ("2014", "_2_17", "_2_28")]
    where = ["--target", str(made / "opt/keisoku"), "--only-binary=:all:", f"--python-version={version}", *glibc]
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", *where, str(wheel)], check=True)
    yield made
    shutil.rmtree(made)


def run(root: Path, *command: str, at: Path) -> str:
    """What keisoku printed there, which must succeed."""
    assert EMULATOR is not None
    emulated = [EMULATOR, "-L", str(root), str(root / "usr/bin/python3"), "-m", "keisoku", *command]
    environment = {"PYTHONPATH": str(root / "opt/keisoku"), "HOME": str(at), "PATH": "/usr/bin:/bin"}
    ended = subprocess.run(emulated, cwd=at, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_the_wheel_of_the_other_processor_says_what_it_has(root: Path, tmp_path: Path) -> None:
    said = run(root, "--version", at=tmp_path)
    assert "aarch64" in said and "xdp" in said and "left out" not in said


def test_a_simulated_device_measures_the_same_on_both_processors(root: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    run(root, *MEASURED, at=tmp_path / "there")
    (tmp_path / "here").mkdir()
    subprocess.run([sys.executable, "-m", "keisoku", *MEASURED], cwd=tmp_path / "here", check=True, capture_output=True)
    found = [(tmp_path / place / "run" / "result.json").read_text() for place in ("here", "there")]
    assert found[0] == found[1]

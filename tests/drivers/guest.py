"""A virtual machine in which the real Linux drivers of emulated cards run, and a process that carries out cases.

The host's root file system is the guest's, read only, below a file system in memory: the guest runs this tree with this
Python. The guest has no network but the cables between its own cards.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from drivers.driver import DRIVERS, ENDS
from drivers.initrd import initrd
from drivers.monitor import Monitor, arguments
from keisoku._core import clock_brackets
from keisoku.ground.host.child import Child

TREE = Path(__file__).parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "keisoku/drivers"
"""Where `setup.sh drivers` puts the kernel."""
QEMU = "qemu-system-x86_64"
_MEMORY_MIB = 3072
_BOOT_S = {"kvm": 60.0, "tcg": 900.0}
_CASE_S = 700.0
"""Longer than the guest's own limit for a case."""
_TEST_S = 1200.0
"""Between two reports of tests: the first one's files are imported before."""


class NoGuestError(Exception):
    """Why there can be no guest here, in one sentence."""


class Guest:
    """Started when it is made; `close` ends it. Raises NoGuestError where there can be none."""

    def __init__(self) -> None:
        self._kernel = kernel_folder()
        self._asked = 0
        self._folder = Path(tempfile.mkdtemp(prefix="keisoku-drivers-"))
        began_s = time.monotonic()
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        self.boot_s = time.monotonic() - began_s

    def carry_out(self, case: str, driver: str, engine: str | None) -> dict[str, Any]:
        """The outcome of a case: `outcome` (passed, failed, skipped), `reason`, `seconds`, `shown`."""
        self._asked += 1
        self._send({"case": case, "driver": driver, "engine": engine, "number": self._asked})
        while True:
            told = self._receive(_CASE_S)
            if told["number"] != self._asked:
                continue  # late words of a case that was given up
            if "ask" not in told:
                return told
            name, *parameters = told["ask"]
            try:
                getattr(self._monitor, name)(*parameters)
                self._send({"done": True})
            except (RuntimeError, TimeoutError, OSError) as error:
                self._send({"error": f"{name}: {error}"})

    def carry_out_tests(self, names: Sequence[str]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """Runs tests of this tree in the guest; gives the name of each that has ended, and pytest's reports of it in
        plain values."""
        self._send({"tests": list(names)})
        reports = []
        while "code" not in (told := self._receive(_TEST_S)):
            if "report" in told:
                reports.append(told["report"])
            else:
                yield told["finished"], reports
                reports = []
        if told["code"] not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            raise OSError(f"pytest ended with {told['code']} in the guest; its console: {self.console()}")

    def console(self) -> str:
        """The last lines that the guest's kernel and processes wrote."""
        path = self._folder / "console"
        return "\n".join(path.read_text(errors="replace").splitlines()[-40:]) if path.exists() else ""

    def close(self) -> None:
        if (process := getattr(self, "_process", None)) is not None:
            process.end()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self) -> None:
        settings = {
            "TREE": str(TREE),
            "PYTHON": sys.executable,
            "KERNEL_MODULES": str(self._kernel / "lib/modules"),
        }
        init = (Path(__file__).parent / "init").read_bytes()
        (self._folder / "initrd").write_bytes(initrd(self._kernel, init, settings))
        failures = []
        for accelerator in ("kvm", "tcg") if os.access("/dev/kvm", os.W_OK) else ("tcg",):
            try:
                self._boot(accelerator)
            except (OSError, ValueError) as error:
                failures.append(f"{accelerator}: {error}")
                self._process.end()
            else:
                self.accelerator = accelerator
                return
        raise NoGuestError(f"the guest does not boot ({'; '.join(failures)}): {self.console()}")

    def _boot(self, accelerator: str) -> None:
        for name in ("monitor", "cases", "console"):
            (self._folder / name).unlink(missing_ok=True)
        # A process of the journal: what a killed run leaves, the next one or `keisoku clean` ends.
        with (self._folder / "qemu").open("wb") as told:
            self._process = Child(self._command(accelerator), stdout=told, stderr=told)
        deadline = time.monotonic() + _BOOT_S[accelerator]
        while not (self._folder / "cases").exists() or not (self._folder / "monitor").exists():
            self._look()
            time.sleep(0.05)
        self._channel = socket.socket(socket.AF_UNIX)
        self._channel.connect(str(self._folder / "cases"))
        self._waiting = b""
        self._monitor = Monitor(self._folder / "monitor")
        self.facts = self._receive(deadline - time.monotonic())

    def _command(self, accelerator: str) -> list[str]:
        fast = (
            ["-accel", "kvm", "-cpu", "host"] if accelerator == "kvm" else ["-accel", "tcg,thread=multi", "-cpu", "max"]
        )
        words = "console=ttyS0 quiet panic=-1 net.ifnames=0 mitigations=off tsc=reliable"
        if accelerator == "tcg":
            # The guest sees this counter, and cannot find its rate while others want the CPU: its time ran 7 times too
            # fast.
            words += f" tsc_early_khz={counter_khz()}"
        folder = self._folder
        command = [
            QEMU, "-machine", "q35,hpet=off", *fast, "-smp", "2", "-m", str(_MEMORY_MIB),
            "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-serial", f"file:{folder / 'console'}",
            "-kernel", str(next((self._kernel / "boot").glob("vmlinuz-*"))), "-initrd", str(folder / "initrd"),
            "-append", words,
            "-fsdev", "local,id=root,path=/,readonly=on,security_model=none,multidevs=remap",
            "-device", "virtio-9p-pci,fsdev=root,mount_tag=root",
            "-device", "virtio-rng-pci",
            "-qmp", f"unix:{folder / 'monitor'},server=on,wait=off",
            "-device", "virtio-serial-pci",
            "-chardev", f"socket,id=cases,path={folder / 'cases'},server=on,wait=off",
            "-device", "virtserialport,chardev=cases,name=keisoku",
        ]  # fmt: skip
        place = 0
        for driver in DRIVERS:
            for end in range(ENDS):
                place += 1
                own = arguments(driver.name, end)
                command += ["-device", f"pcie-root-port,id={own['bus']},chassis={place},slot={place}"]
                command += ["-netdev", f"hubport,id={own['netdev']},hubid={driver.number}"]
                model = own.pop("driver")
                command += ["-device", ",".join([model, *(f"{key}={value}" for key, value in own.items())])]
        return command

    def _look(self) -> None:
        if self._process.ended():
            told = (self._folder / "qemu").read_text(errors="replace").strip()
            raise OSError(f"{QEMU} ended: {told or self.console()}")

    def _send(self, message: dict[str, Any]) -> None:
        self._channel.sendall(json.dumps(message).encode() + b"\n")

    def _receive(self, seconds: float) -> dict[str, Any]:
        deadline = time.monotonic() + seconds
        while b"\n" not in self._waiting:
            self._look()
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise OSError(f"the guest says nothing for {seconds:.0f} s; its console: {self.console()}")
            self._channel.settimeout(min(1.0, left_s))
            try:
                got = self._channel.recv(65_536)
            except TimeoutError:
                continue
            if not got:
                raise OSError(f"the guest ended; its console: {self.console()}")
            self._waiting += got
        line, _, self._waiting = self._waiting.partition(b"\n")
        told: dict[str, Any] = json.loads(line)
        return told


def counter_khz() -> int:
    """Of this host's counter, which an emulated guest sees as well."""
    (first, then, _), (last, now, _) = clock_brackets(time.CLOCK_MONOTONIC_RAW, 2, 20, 200_000_000)
    return round((last - first) / (now - then) * 1e6)


def kernel_folder() -> Path:
    """Of the guest's unpacked kernel package. Raises NoGuestError."""
    if os.uname().machine != "x86_64":
        raise NoGuestError("the guest is an x86_64 machine, and this one is not")
    if shutil.which(QEMU) is None:
        raise NoGuestError("there is no qemu-system-x86_64: run `make test-drivers` as root")
    known = subprocess.run([QEMU, "-device", "help"], capture_output=True, text=True, check=False).stdout
    absent = [driver.model for driver in DRIVERS if f'name "{driver.model}"' not in known]
    if absent:
        raise NoGuestError(f"this QEMU is too old for {', '.join(absent)}: version 8 or newer is needed")
    if not Path("/bin/busybox").exists():
        raise NoGuestError("there is no /bin/busybox: run `make test-drivers` as root")
    kernels = sorted(path.parents[3] for path in CACHE.glob("linux-image-*/lib/modules/*/modules.dep"))
    if not kernels:
        raise NoGuestError(f"there is no kernel for the guest in {CACHE}: run `make test-drivers` as root")
    return kernels[-1]

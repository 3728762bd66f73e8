"""A virtual machine that moves while it runs, from one QEMU process to another, both at one bridge in a namespace."""

from __future__ import annotations

import os
import shutil
import socket
import struct
import tempfile
import threading
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

from pyroute2 import IPRoute

from drivers.guest import QEMU, counter_khz, kernel_folder
from drivers.initrd import initrd
from drivers.monitor import Monitor
from keisoku.ground.host.child import Child
from keisoku.ground.host.namespace import Namespace, run_in_namespace
from keisoku.ground.host.two_ended.far_end import PROGRAM
from keisoku.ground.host.undo import record, undo

HERE, THERE = "198.51.100.1", "198.51.100.2"
"""Of the bridge's namespace, and of the machine."""
_SIDES = ("a", "b")
_BEGIN_S, _MOVE_S = 300.0, 120.0
_PORT = 8622
_SO_TIMESTAMPNS, _ALL, _IPV4 = 35, 3, 0x0800


@dataclass(frozen=True)
class Said:
    """A time of the machine's own clock, and when it was heard (CLOCK_MONOTONIC), in ns."""

    at_ns: int
    heard_ns: int


class MigratingMonitor(Monitor):
    """Moves the machine."""

    def moved(self, to: str) -> None:
        """Returns when the machine is there. Raises RuntimeError if it stays."""
        self._execute("migrate", uri=to)
        deadline = time.monotonic() + _MOVE_S
        while (state := self._execute("query-migrate"))["status"] != "completed":
            if state["status"] == "failed" or time.monotonic() > deadline:
                raise RuntimeError(f"the machine does not move: {state}")
            time.sleep(0.02)


class MigratingMachine:
    """Raises NoGuestError where there can be none, OSError if it does not start."""

    def __init__(self) -> None:
        self._kernel = kernel_folder()
        self._folder = Path(tempfile.mkdtemp(prefix="keisoku-moving-"))
        self.namespace = Namespace(f"keisoku-{os.getpid()}-1-tester")
        self._entry = record("namespace", name=self.namespace.name)
        self._processes: list[Child] = []
        self._threads: list[threading.Thread] = []
        self._over, self._serves = threading.Event(), threading.Event()
        self.said: list[Said] = []
        self.seen: dict[str, list[int]] = {side: [] for side in _SIDES}
        """When packets of the machine's far end came to the bridge from each side, by the kernel's stamps, in ns of
        CLOCK_MONOTONIC."""
        try:
            self._build()
            init = (Path(__file__).parent / "migrating_init").read_bytes()
            settings, parts = {"ADDRESS": THERE}, ("virtio_net",)
            (self._folder / "initrd").write_bytes(initrd(self._kernel, init, settings, parts, (PROGRAM,)))
            self._start("a")
            self._until_it_speaks()
        except BaseException:
            self.close()
            raise

    def move(self) -> None:
        """To the other QEMU process, which is started for it; returns when the machine is there."""
        way = self._folder / "way"
        self._start("b", "-incoming", f"unix:{way}")
        while not way.exists():
            time.sleep(0.01)
        monitor = MigratingMonitor(self._folder / "monitor-a")
        monitor.moved(f"unix:{way}")
        monitor.close()

    def close(self) -> None:
        """Ends both and removes the namespace with all that is in it."""
        self._over.set()
        for process in self._processes:
            process.end()
        for thread in self._threads:
            thread.join()
        undo(self._entry)
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _build(self) -> None:
        self.namespace.create()
        with IPRoute(netns=str(self.namespace.path)) as route:
            route.link("set", index=1, state="up")
            route.link("add", ifname="br0", kind="bridge")
            bridge = route.link_lookup(ifname="br0")[0]
            for side in _SIDES:
                run_in_namespace(self.namespace.path, partial(_tap, f"tap-{side}"))
                port = route.link_lookup(ifname=f"tap-{side}")[0]
                route.link("set", index=port, master=bridge, state="up")
                watching = run_in_namespace(self.namespace.path, partial(_watching, f"tap-{side}"))
                self._on_thread(self._watch, watching, self.seen[side])
            route.addr("add", index=bridge, address=HERE, prefixlen=24)
            route.link("set", index=bridge, state="up")

    def _start(self, side: str, *more: str) -> None:
        console, monitor = self._folder / f"console-{side}", self._folder / f"monitor-{side}"
        with socket.socket(socket.AF_UNIX) as listening, (self._folder / f"qemu-{side}").open("wb") as told:
            listening.bind(str(console))
            listening.listen()
            listening.settimeout(_BEGIN_S)
            command = self._command(side, console, monitor, *more)
            began = run_in_namespace(self.namespace.path, lambda: Child(command, stdout=told, stderr=told))
            self._processes.append(began)
            self._on_thread(self._listen, listening.accept()[0])
        while not monitor.exists():
            time.sleep(0.01)

    def _command(self, side: str, console: Path, monitor: Path, *more: str) -> list[str]:
        words = "console=ttyS0 quiet panic=-1 net.ifnames=0 mitigations=off tsc=reliable ipv6.disable=1"
        return [
            QEMU, "-machine", "q35,hpet=off", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "1", "-m", "256",
            "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-chardev", f"socket,id=console,path={console}", "-serial", "chardev:console",
            "-qmp", f"unix:{monitor},server=on,wait=off",
            "-kernel", str(next((self._kernel / "boot").glob("vmlinuz-*"))), "-initrd", str(self._folder / "initrd"),
            "-append", f"{words} tsc_early_khz={counter_khz()}",
            "-netdev", f"tap,id=n0,ifname=tap-{side},script=no,downscript=no",
            "-device", "virtio-net-pci,netdev=n0,mac=52:54:00:00:02:01",
            *more,
        ]  # fmt: skip

    def _until_it_speaks(self) -> None:
        deadline = time.monotonic() + _BEGIN_S
        while not self._serves.is_set() or not self.said:
            if self._processes[0].ended() or time.monotonic() > deadline:
                raise OSError(f"the machine does not begin: {(self._folder / 'qemu-a').read_text(errors='replace')}")
            time.sleep(0.05)

    def _on_thread(self, work: object, *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _listen(self, console: socket.socket) -> None:
        rest = b""
        with console:
            while more := console.recv(4096):
                heard_ns = time.monotonic_ns()
                *lines, rest = (rest + more).split(b"\n")
                for line in lines:
                    if b"listening" in line:
                        self._serves.set()
                    if line.startswith(b"at "):
                        self.said.append(Said(round(float(line.split()[1]) * 1e9), heard_ns))

    def _watch(self, watching: socket.socket, seen: list[int]) -> None:
        with watching:
            while not self._over.is_set():
                try:
                    data, beside, _, address = watching.recvmsg(64, 64)
                except TimeoutError:
                    continue
                header = 4 * (data[0] & 15)
                if address[1] != _IPV4 or address[2] == socket.PACKET_OUTGOING or data[9] != 17:
                    continue
                if struct.unpack_from("!H", data, header)[0] == _PORT:
                    ahead_ns = time.time_ns() - time.monotonic_ns()
                    seconds, rest_ns = struct.unpack("qq", beside[0][2])
                    seen.append(seconds * 1_000_000_000 + rest_ns - ahead_ns)


def _tap(name: str) -> None:
    with IPRoute() as route:
        route.link("add", ifname=name, kind="tuntap", mode="tap")


def _watching(name: str) -> socket.socket:
    # A bridge takes what comes at its ports before it is of a protocol.
    made = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ALL))
    made.bind((name, _ALL))
    made.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    made.settimeout(0.1)
    return made

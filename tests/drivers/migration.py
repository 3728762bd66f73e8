"""A small guest that is moved from one QEMU to another while it runs: its card is a port of a bridge at either.

The far end of an outage runs in it, as its first process. The host that measures is a namespace at the same bridge.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from pyroute2 import IPRoute

from drivers.guest import NoGuestError, counter_khz, kernel
from drivers.initrd import initrd
from drivers.monitor import Monitor
from keisoku.ground.host.child import Child
from keisoku.ground.host.namespace import Namespace, run_in_namespace
from keisoku.ground.host.two_ended.far_end import PROGRAM
from keisoku.ground.host.undo import record, undo

NEAR, GUEST = "198.18.60.1", "198.18.60.2"
_numbers = itertools.count(8_500)
_MODULES = ("virtio_net",)
_MEMORY_MIB = 192
_BRIDGE, _NEAR_PORT = "b", "p"
_CARD = "02:00:00:00:60:02"
_START_S = 60.0


class MovingGuest:
    """The bed and the guest at the first QEMU; made on entry, removed on exit.

    Raises NoGuestError where there can be no guest.
    """

    def __init__(self) -> None:
        self._kernel = kernel()
        number = next(_numbers)
        self._switch, self.near = (Namespace(f"keisoku-{os.getpid()}-{number}-{name}") for name in ("switch", "tester"))
        self._processes: list[Child] = []

    def __enter__(self) -> MovingGuest:
        self._entries = [record("namespace", name=one.name) for one in (self._switch, self.near)]
        self._folder = Path(tempfile.mkdtemp(prefix="keisoku-migration-"))
        try:
            self._network()
            settings = {"ADDRESS": GUEST}
            init = (Path(__file__).parent / "init_moving").read_bytes()
            files = {"bin/keisoku-far": PROGRAM}
            (self._folder / "initrd").write_bytes(initrd(self._kernel, init, settings, _MODULES, files))
            self._first = self._started("first")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.end()
        shutil.rmtree(self._folder, ignore_errors=True)
        undo(*self._entries)

    def move(self, bytes_per_second: int) -> dict[str, Any]:
        """To a second QEMU; returns what the first one says of it. It may be called once."""
        waiting = self._folder / "moves"
        second = self._started("second", "-incoming", f"unix:{waiting}")
        told = self._first.migrate(waiting, bytes_per_second)
        self._first.close()
        second.close()
        return told

    def console(self) -> str:
        """What the guest's kernel and its process wrote at the first QEMU."""
        path = self._folder / "first.console"
        return path.read_text(errors="replace") if path.exists() else ""

    def _network(self) -> None:
        for one in (self._switch, self.near):
            one.create()
        with IPRoute(netns=str(self._switch.path)) as route, self.near.path.open("rb") as there:
            route.link("add", ifname=_BRIDGE, kind="bridge", br_forward_delay=0, br_stp_state=0)
            peer = {"ifname": "eth0", "net_ns_fd": there.fileno()}
            route.link("add", ifname=_NEAR_PORT, kind="veth", peer=peer)
            (bridge,) = route.link_lookup(ifname=_BRIDGE)
            (port,) = route.link_lookup(ifname=_NEAR_PORT)
            route.link("set", index=bridge, state="up")
            route.link("set", index=port, master=bridge, state="up")

        def near() -> None:
            with IPRoute() as route:
                (index,) = route.link_lookup(ifname="eth0")
                route.addr("add", index=index, address=NEAR, prefixlen=24)
                route.link("set", index=index, state="up")

        run_in_namespace(self.near.path, near)

    def _started(self, name: str, *more: str) -> Monitor:
        """A QEMU, and its card in the bridge."""
        with (self._folder / f"{name}.told").open("wb") as told:
            process = run_in_namespace(
                self._switch.path, lambda: Child(self._command(name, *more), stdout=told, stderr=told)
            )
        self._processes.append(process)
        monitor, until_s = self._folder / f"{name}.monitor", time.monotonic() + _START_S
        while not monitor.exists():
            if process.ended() or time.monotonic() > until_s:
                raise NoGuestError((self._folder / f"{name}.told").read_text(errors="replace"))
            time.sleep(0.05)
        found = Monitor(monitor)
        with IPRoute(netns=str(self._switch.path)) as route:
            (bridge,) = route.link_lookup(ifname=_BRIDGE)
            (card,) = route.link_lookup(ifname=name)
            route.link("set", index=card, master=bridge, state="up")
        return found

    def _command(self, name: str, *more: str) -> list[str]:
        words = "console=ttyS0 quiet panic=-1 net.ifnames=0 mitigations=off tsc=reliable"
        return [
            "qemu-system-x86_64", "-machine", "q35,hpet=off", "-accel", "tcg", "-cpu", "max",
            "-smp", "1", "-m", str(_MEMORY_MIB),
            "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-serial", f"file:{self._folder / name}.console",
            "-kernel", str(next((self._kernel / "boot").glob("vmlinuz-*"))), "-initrd", str(self._folder / "initrd"),
            # The guest cannot find the rate of its counter while others want the CPU.
            "-append", f"{words} tsc_early_khz={counter_khz()}",
            "-netdev", f"tap,id=net,ifname={name},script=no,downscript=no",
            "-device", f"virtio-net-pci,netdev=net,mac={_CARD}",
            "-device", "virtio-rng-pci",
            "-qmp", f"unix:{self._folder / name}.monitor,server=on,wait=off",
            *more,
        ]  # fmt: skip

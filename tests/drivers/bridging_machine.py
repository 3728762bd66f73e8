"""A virtual machine that is a bridge between two tap interfaces of this host: a data plane with threads of its own."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Self

from drivers.guest import QEMU, kernel_folder
from drivers.initrd import initrd
from keisoku.ground.host.child import Child

PORTS = ("kvm0", "kvm1")
_BEGIN_S, _ANSWER_S = 120.0, 20.0


class BridgingMachine:
    """Raises NoGuestError where there can be none, OSError if it does not start. It is emulated: a bridge says the same
    with and without KVM, which not every host has."""

    def __init__(self) -> None:
        kernel = kernel_folder()
        self._folder = Path(tempfile.mkdtemp(prefix="keisoku-machine-"))
        self._process: Child | None = None
        try:
            init = (Path(__file__).parent / "bridge_init").read_bytes()
            (self._folder / "initrd").write_bytes(initrd(kernel, init, {}, ("virtio_net", "bridge", "veth")))
            for port in PORTS:
                _told("ip", "tuntap", "add", port, "mode", "tap")
                _told("sysctl", "-qw", f"net.ipv6.conf.{port}.disable_ipv6=1")
                _told("ip", "link", "set", port, "up")
            with socket.socket(socket.AF_UNIX) as listening, (self._folder / "qemu").open("wb") as told:
                listening.bind(str(self._folder / "console"))
                listening.listen()
                listening.settimeout(_BEGIN_S)
                self._process = Child(self._command(kernel), stdout=told, stderr=told)
                self._console = listening.accept()[0]
            self._until("ready", _BEGIN_S)
        except BaseException:
            self.close()
            raise

    def be(self, side: str) -> None:
        """Becomes 'a', or the slower 'b'."""
        self._console.sendall(f"{side}\n".encode())
        self._until(f"is {side}", _ANSWER_S)

    def close(self) -> None:
        """Ends it and removes its interfaces."""
        if self._process is not None:
            self._process.end()
        for port in PORTS:
            subprocess.run(["ip", "link", "delete", port], capture_output=True, check=False)
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _command(self, kernel: Path) -> list[str]:
        cards = []
        for number, port in enumerate(PORTS):
            cards += ["-netdev", f"tap,id=n{number},ifname={port},script=no,downscript=no"]
            cards += ["-device", f"virtio-net-pci,netdev=n{number},mac=52:54:00:00:01:{number:02x}"]
        return [
            QEMU, "-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "1", "-m", "512",
            "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            "-chardev", f"socket,id=console,path={self._folder / 'console'}", "-serial", "chardev:console",
            "-kernel", str(next((kernel / "boot").glob("vmlinuz-*"))), "-initrd", str(self._folder / "initrd"),
            "-append", "console=ttyS0 quiet panic=-1 net.ifnames=0 mitigations=off",
            *cards,
        ]  # fmt: skip

    def _until(self, word: str, seconds: float) -> None:
        self._console.settimeout(seconds)
        heard = b""
        while word.encode() not in heard:
            if not (more := self._console.recv(4096)):
                raise OSError(f"the machine ended: {heard.decode(errors='replace')}")
            heard += more


def _told(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)

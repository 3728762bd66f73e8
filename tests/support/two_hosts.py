"""A faulty device between two hosts, which are network namespaces with a link of their own for control."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyroute2 import IPRoute

from keisoku.ground.host.namespace import Namespace, run_in_namespace
from keisoku.ground.host.undo import record, undo
from keisoku.ground.lab.device.faults import Faults
from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.lab.device.port import LabPort
from support.ssh_servers import end_all

NEAR, FAR = "198.18.8.1", "198.18.8.2"
MASTERS = "198.18.10.254", "198.18.11.254"
"""Addresses of the PTP master, for the near and the far host."""
_PTP4L = "[global]\nfree_running 1\nlogAnnounceInterval -3\nlogSyncInterval -6\nunicast_listen 1\nhybrid_e2e 1\n"
_numbers = itertools.count(9_700)


@dataclass(frozen=True)
class TwoHosts:
    """The lab, whose second port is at the far host; names of both namespaces."""

    lab: Lab
    near: str
    far: str

    def port(self, number: int, engine: str) -> str:
        """'packet:INTERFACE@NAMESPACE', by number from 1."""
        return f"{engine}:{self.lab.ports[number - 1].interface}@{(self.near, self.far)[number - 1]}"


@contextmanager
def two_hosts(faults: Faults | None, device: str = "faulty") -> Iterator[TwoHosts]:
    """Made on entry, removed on exit."""
    far = Namespace(f"keisoku-{os.getpid()}-{next(_numbers)}-server1")
    with ExitStack() as stack:
        lab = stack.enter_context(Lab(device, own_core=False, faults=faults))
        stack.callback(undo, record("namespace", name=far.name))
        far.create()
        near, port = lab.ports[0].namespace_path, lab.ports[1]
        run_in_namespace(near, lambda: _move(port, far))
        run_in_namespace(near, lambda: _up("control", NEAR))
        far.run(lambda: _up("control", FAR))
        far.run(lambda: _up(port.interface, port.ipv4))
        yield TwoHosts(lab, near.name, far.name)


@contextmanager
def ptp_master(hosts: TwoHosts, folder: Path) -> Iterator[None]:
    """linuxptp's ptp4l in a namespace of its own, a link away from both; its time is this machine's time of day."""
    own = Namespace(f"keisoku-{os.getpid()}-{next(_numbers)}-server2")
    with ExitStack() as stack:
        stack.callback(undo, record("namespace", name=own.name))
        own.create()
        stack.callback(end_all, own.name)
        for number, (host, address) in enumerate(zip((hosts.near, hosts.far), MASTERS, strict=True)):
            namespace = Namespace(host)
            namespace.run(partial(_join, f"clock{number}", own))
            namespace.run(partial(_up, "clock", address.replace(".254", ".1")))
            own.run(partial(_up, f"clock{number}", address))
        (folder / "ptp4l").write_text(f"{_PTP4L}uds_address {folder}/uds\n")
        command = [
            "stdbuf",
            "-oL",
            "ptp4l",
            "-S",
            "-4",
            "-E",
            "-i",
            "clock0",
            "-i",
            "clock1",
            "-f",
            str(folder / "ptp4l"),
        ]
        daemon = own.run(lambda: subprocess.Popen([*command, "-m", "-q"], stdout=subprocess.PIPE, text=True))
        stack.callback(daemon.wait)
        stack.callback(end_all, own.name)
        assert daemon.stdout is not None
        assert any("assuming the grand master role" in line for line in daemon.stdout)
        yield


def command_at(host: str, folder: Path, words: Sequence[str], ahead_s: int = 0) -> subprocess.Popen[str]:
    """keisoku as a process of that host, whose CLOCK_MONOTONIC is ahead by so much (time_namespaces(7))."""
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path), "XDG_STATE_HOME": str(folder)}
    apart = ["unshare", "--time", "--monotonic", str(ahead_s), "--fork"] if ahead_s else []
    command = [*apart, sys.executable, "-m", "keisoku", *words]
    return Namespace(host).run(
        lambda: subprocess.Popen(command, cwd=folder, env=environment, stdout=-1, stderr=-1, text=True)
    )


def _join(name: str, other: Namespace) -> None:
    with IPRoute() as route, other.path.open("rb") as there:
        route.link("add", ifname="clock", kind="veth", peer={"ifname": name, "net_ns_fd": there.fileno()})


def _move(port: LabPort, far: Namespace) -> None:
    with IPRoute() as route, far.path.open("rb") as other:
        route.link("set", index=route.link_lookup(ifname=port.interface)[0], net_ns_fd=other.fileno())
        peer = {"ifname": "control", "net_ns_fd": other.fileno()}
        route.link("add", ifname="control", kind="veth", peer=peer)


def _up(name: str, address: str) -> None:
    with IPRoute() as route:
        index = route.link_lookup(ifname=name)[0]
        route.addr("add", index=index, address=address, prefixlen=24)
        route.link("set", index=index, state="up")

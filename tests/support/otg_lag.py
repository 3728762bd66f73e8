"""A script with a LAG, the switch at its other side, and a capture between them."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import snappi

from keisoku.faces.otg.lacp.states import member_states
from keisoku.ground.host.namespace import FOLDER, run_in_namespace
from keisoku.ground.lab.device.vswitch import PROGRAMS

_RECEIVE_BUFFER_FORCE = 33


def three_ports(device: str) -> Any:
    """A configuration of the ports p1, p2 and p3 of a device."""
    config = snappi.Config()
    for number in (1, 2, 3):
        config.ports.port(name=f"p{number}", location=f"{device}#{number}")
    return config


def lag_of(config: Any, *ports: int) -> Any:
    """A LAG called `lag` of ports by number, of 1 and 2 if none is given."""
    lag = config.lags.lag(name="lag")[-1]
    for number in ports or (1, 2):
        member = lag.ports.port(port_name=f"p{number}")[-1]
        member.ethernet.name = f"m{number}"
    lag.protocol.lacp.actor_key = 5
    return lag


class FarSwitch:
    """The Open vSwitch of `lab:ovs`, which a test tells to have a LAG at its ports d1 and d2."""

    def __init__(self, namespace: str) -> None:
        self.place = FOLDER / namespace
        self._folder = Path("/run") / namespace

    def join(self, *settings: str) -> None:
        """A LAG with LACP."""
        bond = ["--", "add-bond", "switch", "far", "d1", "d2", "bond_mode=balance-tcp", "lacp=active", *settings]
        self._run("ovs-vsctl", *self._database, "del-port", "d1", "--", "del-port", "d2", *bond)

    def join_statically(self) -> None:
        """A LAG without LACP, whose conversations have a member each; the rest of the switch is port 3."""
        chosen = "bundle(symmetric_l3l4+udp,0,hrw,ofport,members:1,2)"
        flows = [*(f"in_port={port},actions=output:3" for port in (1, 2)), f"in_port=3,actions={chosen}"]
        words = ("-O", "OpenFlow13", "--bundle", "replace-flows", str(self._folder / "switch.mgmt"), "-")
        self._run("ovs-ofctl", *words, text="\n".join(flows) + "\n")

    def has_joined(self) -> bool:
        """Whether LACP has brought up both of its members."""
        control = str(self._folder / "ovs-vswitchd.ctl")
        states = member_states(self._run("ovs-appctl", "-t", control, "lacp/show", "far"), "")
        return len(states) == 2 and all(state.carries for state in states.values())

    @property
    def _database(self) -> tuple[str, str]:
        return f"--db=unix:{self._folder}/db.sock", "--timeout=20"

    def _run(self, name: str, *words: str, text: str = "") -> str:
        (program,) = [each for each in PROGRAMS if each.name == name]
        return program.run(*words, text=text)


class Tap:
    """The frames that passed an interface: whether each came in, and its octets."""

    def __init__(self, wire: socket.socket) -> None:
        self._wire, self._frames = wire, list[tuple[bool, bytes]]()

    def frames(self) -> list[tuple[bool, bytes]]:
        """All until now."""
        while True:
            try:
                frame, (_, _, way, *_) = self._wire.recvfrom(2048)
            except BlockingIOError:
                return self._frames
            self._frames.append((way != socket.PACKET_OUTGOING, frame))

    def of(self, port: int, came_in: bool) -> int:
        """How many UDP frames to a port."""
        own = [frame for way, frame in self.frames() if way == came_in and frame[12:14] == b"\x08\x00"]
        return sum(frame[23] == socket.IPPROTO_UDP and int.from_bytes(frame[36:38]) == port for frame in own)

    def lacp(self, came_in: bool) -> list[bytes]:
        """LACP's frames."""
        return [frame for way, frame in self.frames() if way == came_in and frame[12:15] == b"\x88\x09\x01"]


@contextmanager
def tap(namespace: Path, interface: str) -> Iterator[Tap]:
    """A capture that is not the tester's."""
    with run_in_namespace(namespace, lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))) as wire:
        wire.setsockopt(socket.SOL_SOCKET, _RECEIVE_BUFFER_FORCE, 1 << 24)
        wire.bind((interface, 3))
        wire.setblocking(False)
        yield Tap(wire)


def lag_metric(api: Any) -> Any:
    """Of the only LAG."""
    request = snappi.MetricsRequest()
    request.lag.lag_names = ["lag"]
    (found,) = api.get_metrics(request).lag_metrics
    return found


def lacp_metrics(api: Any) -> dict[str, Any]:
    """Of its members, by their ports."""
    request = snappi.MetricsRequest()
    request.lacp.lag_names = ["lag"]
    return {metric.lag_member_port_name: metric for metric in api.get_metrics(request).lacp_metrics}


def await_members(api: Any, count: int) -> Any:
    """The LAG's metric once so many members are up; a test's time limit ends it otherwise."""
    while (found := lag_metric(api)).member_ports_up != count:
        pass
    return found

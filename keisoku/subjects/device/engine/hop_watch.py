"""Watches where in this host's kernel the frames of a trial spend their time. It judges nothing."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from pathlib import Path

from keisoku._core import HopWatch as CoreWatch
from keisoku.errors import PlanError
from keisoku.ground.host.kernel_symbols import KernelSymbols
from keisoku.ground.host.namespace import run_in_namespace
from keisoku.ground.host.namespace_names import inode, namespace_names
from keisoku.subjects.device.engine.frame_waits import Interface, KernelInterface, Passed, Port, waits_of
from keisoku.subjects.device.engine.wired_port import WiredPort
from keisoku.subjects.device.record.facts import Facts

FIELD = "why_late"


class HopWatch:
    """Open for many trials. Raises PlanError if the kernel does not let this process do it."""

    def __init__(self, ports: Sequence[WiredPort]) -> None:
        self._ports = ports
        self._functions: dict[int, str] = {0: ""}
        try:
            self.core = CoreWatch()
        except RuntimeError as error:
            remedy = "run it as root on Linux 5.15 or newer with BTF, or leave it out"
            raise PlanError(FIELD, f"the kernel does not show where frames are: {error}", remedy) from error

    def begin(self, first_stream: int, streams: int) -> None:
        """Follows the frames of so many streams, of which this is the first one's number."""
        self.core.begin(first_stream, streams)

    def end(self, facts: Facts, first_stream: int, start_ns: int) -> Facts:
        """The facts with the waits since `begin`; the first frame was due at `start_ns` (CLOCK_MONOTONIC)."""
        text, frames, hops = self.core.end()
        kept = json.loads(text)
        if new := {one["handler"] for one in kept["interfaces"]} - self._functions.keys():
            symbols = KernelSymbols(FIELD)
            self._functions |= {address: symbols.name(address) for address in new}
        names = namespace_names()
        ports = [_port(port, names) for port in self._ports]
        own = {port.interface for port in ports}
        interfaces: dict[Interface, KernelInterface] = {}
        for one in kept["interfaces"]:
            interface = one["namespace"], one["interface"]
            interfaces[interface] = KernelInterface(
                name=one["name"],
                namespace=names.get(one["namespace"], f"net:[{one['namespace']}]"),
                qdisc=one["qdisc"],
                handler=self._functions[one["handler"]],
                of_tester=interface in own,
            )
        absent = [(event, why) for event, why in kept["absent"]]
        passed = Passed(interfaces, frames, hops, kept["unread"], absent)
        return facts.model_copy(update={"waits": waits_of(passed, ports, first_stream, start_ns)})

    def close(self) -> None:
        """Ends all programs; more than once is no error."""
        self.core.close()


def _port(port: WiredPort, names: dict[int, str]) -> Port:
    peer = None if port.peer is None else _number(*port.peer)
    number = _number(port.interface, port.namespace)
    return Port(number, port.interface, names.get(inode(port.namespace), ""), peer)


def _number(interface: str, namespace: Path | None) -> Interface | None:
    """None if it is gone, as an interface may be that a test removes."""

    def number() -> int | None:
        try:
            return socket.if_nametoindex(interface)
        except OSError:
            return None

    index = number() if namespace is None else run_in_namespace(namespace, number)
    return None if index is None else (inode(namespace), index)

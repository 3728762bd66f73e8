"""Watches where this host's kernel drops the test frames of a trial, and names the places. It judges nothing."""

from __future__ import annotations

import errno
import json
from collections.abc import Sequence
from typing import Any

from keisoku._core import DropWatch as CoreWatch
from keisoku.errors import PlanError
from keisoku.ground.host.kernel_symbols import KernelSymbols
from keisoku.ground.host.namespace_names import inode, namespace_file, namespace_names
from keisoku.ground.host.packet_readers import packet_readers
from keisoku.subjects.device.engine.drop_places import Watched, with_places
from keisoku.subjects.device.engine.wired_port import WiredPort
from keisoku.subjects.device.record.drops import DropPlace
from keisoku.subjects.device.record.facts import Facts

FIELD = "why_lost"
_KINDS = {1: "freed", 2: "program", 3: "redirect", 4: "devmap", 5: "cpumap"}
_ANSWERS = {"0": "XDP_ABORTED", "1": "XDP_DROP"}
_NOT_TAKEN = ("OTHERHOST", "UNHANDLED_PROTO")
"""The kernel's own protocols do not want it, and a program that reads a packet socket had it before."""
_FAMILIES = {1: "inet", 2: "ip", 3: "arp", 5: "netdev", 7: "bridge", 10: "ip6"}


class DropWatch:
    """Open for many trials. Raises PlanError if the kernel does not let this process do it."""

    def __init__(self, ports: Sequence[WiredPort]) -> None:
        own = [(str(port.namespace) if port.namespace else None, port.interface) for port in ports]
        self._own = {port.interface for port in ports}
        self._namespaces = {inode(port.namespace) for port in ports}
        self._functions: dict[int, str] = {}
        try:
            self._watch = CoreWatch(own)
        except RuntimeError as error:
            remedy = "run it as root on Linux 5.15 or newer with BTF, or leave it out"
            raise PlanError(FIELD, f"the kernel does not show where it drops frames: {error}", remedy) from error

    def begin(self, first_stream: int, streams: int) -> None:
        """Watches the frames of so many streams, of which this is the first one's number."""
        self._watch.begin(first_stream, streams)

    def end(self, facts: Facts, first_stream: int, start_ns: int) -> Facts:
        """The facts with the places, since `begin`; the first frame was due at `start_ns` (CLOCK_MONOTONIC)."""
        told, entries = self._watch.end()
        found = json.loads(told)
        self._name({place["location"] for place in found["places"] if place["location"]})
        namespaces = namespace_names()
        watched = Watched(
            places={place["number"]: self._place(place, namespaces) for place in found["places"]},
            frames={place["number"]: place["frames"] for place in found["places"]},
            entries=entries,
            unread=found["unread"],
            unplaced=found["unplaced"],
            absent=[(part, why) for part, why in found["absent"]],
        )
        return facts.model_copy(update={"drops": with_places(facts.streams, first_stream, start_ns, watched)})

    def close(self) -> None:
        """Ends all programs; more than once is no error."""
        self._watch.close()

    def _name(self, locations: set[int]) -> None:
        """Keeps the names of the functions at these addresses: the kernel's table of them is read for new ones only."""
        if new := locations - self._functions.keys():
            symbols = KernelSymbols(FIELD)
            self._functions |= {location: symbols.name(location) for location in new}

    def _place(self, told: dict[str, Any], namespaces: dict[int, str]) -> DropPlace:
        kind = _KINDS[told["kind"]]
        reason = told["reason"].removeprefix("SKB_DROP_REASON_")
        if kind == "program":
            reason = _ANSWERS.get(reason, reason)
        elif kind != "freed":
            reason = errno.errorcode.get(int(reason), "")
        rule = ""
        if told["rule"] is not None:
            family, table, chain, handle = told["rule"]
            rule = "/".join([_FAMILIES.get(family, str(family)), table, chain, *([str(handle)] if handle else [])])
        program = ""
        if told["program"] is not None:
            name, line = told["program"]
            program = f"{name} ({line})" if line else name
        of_tester = told["namespace"] in self._namespaces and told["name"] in self._own
        readers: list[str] = []
        if reason in _NOT_TAKEN and not of_tester and (file := namespace_file(told["namespace"])):
            readers = packet_readers(file, told["interface"])
        return DropPlace(
            kind=kind,
            reason=reason,
            function=self._functions.get(told["location"], ""),
            interface=told["name"] or (f"CPU {told['interface']}" if kind == "cpumap" else ""),
            namespace=namespaces.get(told["namespace"], f"net:[{told['namespace']}]") if told["namespace"] else "",
            qdisc=told["qdisc"],
            rule=rule,
            program=program,
            readers=tuple(readers),
            of_tester=of_tester,
        )

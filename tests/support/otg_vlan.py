"""Tags of a script's devices and flows, and which tags a device of the lab sees."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from keisoku.ground.host.namespace import FOLDER, run_in_namespace
from support.command_line import device_of

_AUXILIARY, _SOL_PACKET, _HAS_TAG, _HAS_TPID = 8, 263, 1 << 4, 1 << 6
"""PACKET_AUXDATA, TP_STATUS_VLAN_VALID and TP_STATUS_VLAN_TPID_VALID: the kernel tells the outermost tag beside the
frame."""
Tags = tuple[tuple[int, int], ...]
"""Ethertype and control word of each, the outermost first."""
PLAIN, IN_SERVICE = ((0x8100, 7),), ((0x88A8, 100), (0x8100, 5 << 13 | 7))
WORDS = {0x8100: "x8100", 0x88A8: "x88A8"}


def tag(ethernet: Any, tags: Tags) -> None:
    for ethertype, control in tags:
        name = f"{ethernet.name}-{ethertype:x}"
        ethernet.vlans.add(name=name, tpid=WORDS[ethertype], id=control & 0xFFF, priority=control >> 13)


def flow_of(config: Any, ends: tuple[str, str], tags: Tags) -> Any:
    flow = config.flows.flow(name=" to ".join(ends))[-1]
    flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = [ends[0]], [ends[1]]
    flow.packet.ethernet()[-1].ether_type.value = tags[0][0]
    for _, control in tags:
        vlan = flow.packet.vlan()[-1]
        vlan.id.value, vlan.priority.value = control & 0xFFF, control >> 13
    flow.packet.ipv4().udp()
    flow.size.fixed, flow.rate.pps, flow.duration.fixed_packets.packets = 128, 200, 200
    flow.metrics.enable = flow.metrics.loss = True
    return flow


@contextmanager
def observed() -> Iterator[socket.socket]:
    """What arrives at the device from the tester's first port from now on."""
    dut = device_of(os.getpid())
    with run_in_namespace(
        FOLDER / dut, lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    ) as wire:
        wire.setsockopt(_SOL_PACKET, _AUXILIARY, 1)
        wire.bind(("d1", 3))
        wire.setblocking(False)
        yield wire


def tags_of(wire: socket.socket, sender_mac: str) -> set[Tags]:
    """Of the frames that arrived from MAC addresses that begin so."""
    found: set[Tags] = set()
    beginning = bytes.fromhex(sender_mac.replace(":", ""))
    while True:
        try:
            frame, beside, _, sender = wire.recvmsg(64, 256)
        except BlockingIOError:
            return found
        if sender[2] == socket.PACKET_OUTGOING or not frame[6:12].startswith(beginning):
            continue
        status, *_, control, ethertype = struct.unpack("=IIIHHHH", beside[0][2][:20])
        tags = [(ethertype if status & _HAS_TPID else 0x8100, control)] if status & _HAS_TAG else []
        at = 12
        while (inner := struct.unpack_from("!HH", frame, at))[0] in WORDS:
            tags.append(inner)
            at += 4
        found.add(tuple(tags))

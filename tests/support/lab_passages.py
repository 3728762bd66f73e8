"""Frames sent along a lab's passages, and what comes out compared with what the device says of itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import scapy.contrib.mpls
import scapy.layers.inet
import scapy.layers.inet6
import scapy.layers.l2
import scapy.layers.vxlan
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import NoPayload, Packet

from keisoku.ground.host.program import Program
from keisoku.ground.lab.device.catalogue import find_device
from keisoku.ground.lab.device.kernel_part import absence
from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.lab.device.port import LabPort
from support.lab_frames import Tap

MakeTap = Callable[[LabPort], Tap]
_LAYERS = {
    name: getattr(module, name)
    for module, names in {
        scapy.layers.inet: ("Ether", "IP", "UDP"),
        scapy.layers.l2: ("Dot1Q", "Dot1AD"),
        scapy.layers.inet6: ("IPv6", "IPv6ExtHdrSegmentRouting"),
        scapy.layers.vxlan: ("VXLAN",),
        scapy.contrib.mpls: ("MPLS",),
    }.items()
    for name in names
}


def needs(*programs: Program) -> pytest.MarkDecorator:
    """Skips by name where a program is absent."""
    absent = sorted({program.package for program in programs if program.path is None})
    return pytest.mark.skipif(bool(absent), reason=f"needs the Debian package {', '.join(absent)}")


MLD_REPORT = bytes.fromhex("333300000016")
"""Destination of what a kernel says by itself of the multicast groups that it joined; it says it again later
(docs/lab.md)."""


def require(name: str) -> None:
    """Skips by name where this kernel lacks a part of the device."""
    for part in find_device(name).parts:
        if absence(part):
            pytest.skip(f"needs the kernel module {part.module} ({part.option})")


def stack(text: str) -> Packet:
    """The headers of a text in Scapy's notation."""
    return eval(text, dict(_LAYERS))


def payload(length: int = 46) -> bytes:
    return bytes(n * 7 & 0xFF for n in range(length))


def assert_passage(lab: Lab, tap: MakeTap, tx: int, rx: int, length: int = 46) -> None:
    """A frame of each kind comes out as the lab says: every header field, the length, every checksum."""
    passage = lab.passage(tx, rx)
    sender, receiver = tap(lab.ports[tx - 1]), tap(lab.ports[rx - 1])
    assert set(passage.sent) == set(passage.arrives) != set()
    for kind, sent in passage.sent.items():
        frame = bytes(stack(sent) / payload(length))
        assert frame[:6] == bytes.fromhex(passage.next_hop_mac.replace(":", ""))
        sender.send(frame)
        while (arrived := receiver.receive()).startswith(MLD_REPORT):
            pass
        assert_like(arrived, passage.arrives[kind])
        assert arrived.endswith(payload(length))
        assert len(arrived) == len(frame) + passage.growth_bytes
    sender.close()
    receiver.close()


def assert_like(arrived: bytes, expected: str) -> None:
    """Every field that `expected` names has that value, layer by layer, and every checksum is right."""
    found: Packet = Ether(arrived)
    wanted: Packet = stack(expected)
    while not isinstance(wanted, NoPayload):
        assert type(found) is type(wanted), f"{found!r} is not {wanted!r}"
        for name, value in wanted.fields.items():
            assert found.getfieldval(name) == value, f"{name} of {found!r} is not {value}"
        found, wanted = found.payload, wanted.payload
    assert_checksums(arrived)


def assert_checksums(arrived: bytes) -> None:
    again = Ether(arrived)
    layer: Packet = again
    while not isinstance(layer, NoPayload):
        # RFC 768: zero means that the sender computed none.
        if isinstance(layer, IP) or (isinstance(layer, UDP) and layer.chksum):
            del layer.chksum
        layer = layer.payload
    assert bytes(again) == arrived


def dropped(lab: Lab, tap: MakeTap, frame: bytes, tx: int, rx: int) -> bool:
    """Whether the device drops `frame`; a frame that passes, sent behind it, arrives alone."""
    sender, receiver = tap(lab.ports[tx - 1]), tap(lab.ports[rx - 1])
    passage = lab.passage(tx, rx)
    mark = b"behind" + bytes(40)
    sender.send(frame)
    sender.send(bytes(stack(passage.sent["ipv4"]) / mark))
    before = True
    while not (arrived := receiver.receive()).endswith(mark):
        before = before and not arrived.endswith(frame[-16:])
    sender.close()
    receiver.close()
    return before

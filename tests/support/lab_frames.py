"""Hand-made frames with signatures, and sockets on lab ports: independent of what is tested."""

from __future__ import annotations

import socket
import struct
from pathlib import Path

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from keisoku.ground.host.namespace import run_in_namespace
from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.lab.device.port import LabPort

MAGIC = 0x6B73
SIGNATURE_LENGTH = 18
ALL_ETHERTYPES = 0x0003
OUTGOING = 4


def signature(stream: int, sequence: int, sent_ns: int = 0) -> bytes:
    """The 18 bytes of docs/signature, made independently of the core."""
    plain = struct.pack(
        ">HHHIHI", MAGIC, stream, sequence >> 32, sequence & 0xFFFFFFFF, sent_ns >> 32, sent_ns & 0xFFFFFFFF
    )
    total = sum(struct.unpack(">8H", plain))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return plain + struct.pack(">H", ~total & 0xFFFF)


def identity(frame: bytes) -> tuple[int, int] | None:
    """(stream, sequence) that a frame claims, None without magic."""
    magic, stream, high, low = struct.unpack_from(">HHHI", frame, len(frame) - SIGNATURE_LENGTH)
    return (stream, high << 32 | low) if magic == MAGIC else None


def headers(source: LabPort, target: LabPort, frame_bytes: int, l3: bool, version: int = 4) -> bytes:
    """A frame of `frame_bytes` with FCS from port to port, 18 zero bytes at its end, without its FCS."""
    destination = source.dut_mac if l3 else target.mac
    layers = Ether(src=source.mac, dst=destination)
    if version == 4:
        layers /= IP(src=source.ipv4, dst=target.ipv4)
    else:
        layers /= IPv6(src=source.ipv6, dst=target.ipv6)
    layers /= UDP(sport=49152, dport=7)
    filled = bytes(frame_bytes - 4 - len(layers))
    return bytes(layers / filled)


def signed(template: bytes, stream: int, sequence: int) -> bytes:
    return template[:-SIGNATURE_LENGTH] + signature(stream, sequence)


class Tap:
    """An AF_PACKET socket on a lab port; frames that the port itself sends are not seen."""

    def __init__(self, port: LabPort, timeout_s: float = 5.0) -> None:
        def open_socket() -> socket.socket:
            tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            tap.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)  # SO_RCVBUFFORCE
            tap.bind((port.interface, ALL_ETHERTYPES))
            return tap

        self.socket = run_in_namespace(port.namespace_path, open_socket)
        self.socket.settimeout(timeout_s)

    def send(self, frame: bytes) -> None:
        self.socket.send(frame)

    def receive(self) -> bytes:
        """The next frame that arrived. Raises TimeoutError."""
        while True:
            frame, address = self.socket.recvfrom(65536)
            if address[2] != OUTGOING:
                return frame

    def until(self, last: bytes) -> list[bytes]:
        """All frames before `last`, a frame known to come."""
        frames: list[bytes] = []
        while (frame := self.receive()) != last:
            frames.append(frame)
        return frames

    def close(self) -> None:
        self.socket.close()


def counters(lab: Lab) -> dict[str, tuple[int, int]]:
    """Frames received and sent by each tester port since it was made."""

    def read() -> dict[str, tuple[int, int]]:
        names = [port.interface for port in lab.ports]
        lines = Path("/proc/thread-self/net/dev").read_text().splitlines()[2:]
        fields = {line.split(":")[0].strip(): line.split(":")[1].split() for line in lines}
        return {name: (int(fields[name][1]), int(fields[name][9])) for name in names}

    return run_in_namespace(lab.ports[0].namespace_path, read)

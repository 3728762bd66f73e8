"""What only the engine `afxdp` has: several queues, both directions on one socket, rings that run full."""

from __future__ import annotations

import json
import os
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from operator import truediv

import pytest

from keisoku._core import Wire
from keisoku.ground.lab.device.lab import Lab
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.plan_testbed import open_engine
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.testbed.engine_choice import ALIKE

pytestmark = [
    pytest.mark.lab,
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root for network namespaces"),
]

A, B = f"keisoku-test-{os.getpid()}-xa", f"keisoku-test-{os.getpid()}-xb"
HEADERS = 42
"""Bytes of Ethernet, IPv4 and UDP."""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextmanager
def cable(queues: int) -> Iterator[None]:
    """A veth pair with so many queues in each direction."""
    try:
        for namespace in (A, B):
            ip("netns", "add", namespace)
            ip("netns", "exec", namespace, "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
        own = ["numtxqueues", str(queues), "numrxqueues", str(queues)]
        peer = ["peer", "name", "rx0", "netns", B, *own]
        ip("-n", A, "link", "add", "tx0", *own, "type", "veth", *peer)
        for namespace, name in ((A, "tx0"), (B, "rx0")):
            ip("-n", namespace, "link", "set", name, "up")
        yield
    finally:
        for namespace in (A, B):
            subprocess.run(["ip", "netns", "del", namespace], capture_output=True)


def place(engine: str, interface: str, namespace: str, capture_bytes: int = 0) -> dict[str, object]:
    return {
        "engine": engine,
        "interface": interface,
        "namespace": f"/run/netns/{namespace}",
        "capture_bytes": capture_bytes,
    }


def frame(port: int) -> bytes:
    """IPv4 and UDP, from a port of its own, so that a hash of the flow chooses the queue."""
    ethernet = bytes.fromhex("0200000000020200000000010800")
    internet = bytes.fromhex("4500002e000000000a110000c6120001c6120002")
    return ethernet + internet + struct.pack("!HHHH", port, 7, 26, 0) + bytes(18)


def stream(transmit: int, receive: int, frames: int, frames_per_second: float) -> dict[str, object]:
    return {
        "transmit": transmit,
        "receive": receive,
        "table": 0,
        "frame_bytes": [64],
        "frames_per_second": frames_per_second,
        "frames": frames,
    }


def carried(wire: Wire, *streams: dict[str, object]) -> Facts:
    trial = {
        "first_stream": 3,
        "streams": list(streams),
        "duration_ns": 20_000_000_000,
        "drain_ns": 100_000_000,
        "interval_ns": 1_000_000_000,
        "seed": 0,
    }
    frames = [frame(1024 + port) for port in range(32)]
    lengths = b"".join(struct.pack("=H", len(one)) for one in frames)
    wire.start(json.dumps(trial), [(b"".join(frames), lengths, HEADERS, True, 0)])
    return Facts.model_validate_json(wire.finish())


def received_by_queue(queues: int) -> list[int]:
    """Frames that each receive queue of `rx0` took, by the driver's own counts."""
    lines = subprocess.run(
        ["ip", "netns", "exec", B, "ethtool", "-S", "rx0"], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    counts = dict(line.strip().split(": ") for line in lines if ": " in line)
    return [int(counts[f"rx_queue_{queue}_xdp_packets"]) for queue in range(queues)]


def test_frames_of_several_queues_are_merged_in_the_order_of_their_arrival() -> None:
    with cable(queues=2):
        # A packet socket that others may watch sends through the queueing discipline, which hashes flows to queues.
        wire = Wire(json.dumps([place("packet", "tx0", A, 64), place("afxdp", "rx0", B)]), [0], [1])
        facts = carried(wire, stream(0, 1, 20_000, 40_000))
        wire.close()
        assert min(received_by_queue(2)) > 2000, "both queues carry a good part of the stream"
        tracked = facts.tracked
        assert (tracked.forwarded_frames, tracked.lost_frames) == (20_000, 0)
        assert tracked.reordered.count == 0
        assert facts.tester_dropped_frames == 0


def test_one_socket_serves_both_directions_of_a_port() -> None:
    with cable(queues=1):
        wire = Wire(json.dumps([place("afxdp", "tx0", A), place("afxdp", "rx0", B)]), [0, 1], [0, 1])
        for _ in range(2):
            facts = carried(wire, stream(0, 1, 5000, 50_000), stream(1, 0, 4000, 40_000))
            assert [one.tracked.forwarded_frames for one in facts.streams] == [5000, 4000]
            assert facts.tester_dropped_frames == facts.tracked.lost_frames == 0
        wire.close()


def test_what_a_full_ring_drops_is_the_testers_own_loss_to_the_frame_and_is_said() -> None:
    # 64 queues share the memory, and all frames come by one of them: its ring holds 1024 frames, of 5 ms and more.
    with cable(queues=64):
        wire = Wire(json.dumps([place("xdp", "tx0", A), place("afxdp", "rx0", B)]), [0], [1])
        facts = carried(wire, stream(0, 1, 100_000, 1_000_000))
        wire.close()
        assert facts.tester_dropped_frames > 0
        assert facts.tracked.lost_frames == facts.tester_dropped_frames
        assert facts.sent.offered_frames == facts.tracked.forwarded_frames + facts.tracked.lost_frames
        assert "refused by the socket: " in str(facts.receivers[0].drop_reason)


def test_a_second_wire_can_open_the_port_as_soon_as_the_first_is_closed() -> None:
    with cable(queues=1):
        for _ in range(3):
            wire = Wire(json.dumps([place("afxdp", "tx0", A), place("afxdp", "rx0", B)]), [0], [1])
            facts = carried(wire, stream(0, 1, 100, 100_000))
            wire.close()
            assert facts.tracked.forwarded_frames == 100


def test_a_bare_name_gets_the_engine_that_forwards_most_and_says_why() -> None:
    with Lab("cable") as lab:
        names = [f"{port.interface}@{port.namespace_path}" for port in lab.ports[:2]]
        plan = parse({"methods": ["throughput"], "tx": names[0], "rx": names[1]})
        said: list[str] = []
        with open_engine(plan, said.append) as engine:
            context = engine.context()
        chosen = context["engines_chosen"]
        assert isinstance(chosen, list)
        for choice, port, remark in zip(chosen, lab.ports, said, strict=True):
            rates = choice["frames_per_second"]
            assert set(rates) == {"xdp", "afxdp", "packet"}
            assert choice["engine"] in rates
            sizes = choice["frame_bytes"]
            assert tuple(sizes) == (64, 1518)
            best = [max(of_size) for of_size in zip(*rates.values(), strict=True)]
            share = {name: min(map(truediv, found, best)) for name, found in rates.items()}
            assert share[choice["engine"]] >= ALIKE * max(share.values())
            assert remark.startswith(f"{port.interface}: engine {choice['engine']}, because a self-test forwarded xdp ")
        assert [port["engine"] for port in context["ports"]] == [choice["engine"] for choice in chosen]  # type: ignore[attr-defined]
        # A prefix overrides the choice, and nothing is tested then.
        with open_engine(
            plan.model_copy(update={"tx": f"packet:{names[0]}", "rx": f"xdp:{names[1]}"}), said.append
        ) as own:
            assert own.capabilities.engine == "packet-xdp"
        assert len(said) == 2

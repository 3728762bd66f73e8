"""Frames as they really leave the tester, decoded by somebody else: tshark."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from keisoku.engine.opening import on_lab
from keisoku.lab import Lab
from keisoku.plan.plan import parse
from keisoku.record.trial import Phases, Trial

pytestmark = [pytest.mark.lab, pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")]

FRAMES = 200
SHORTEST = 100
"""Longer than learning frames and the warm-up, which are not captured."""
CHECK = ["-o", "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
BAD = "_ws.malformed || ip.checksum.status == 0 || udp.checksum.status == 0 || _ws.expert.severity >= 0x600000"


def count(capture: Path, only: str) -> int:
    command = ["tshark", "-r", str(capture), *CHECK, "-Y", only, "-T", "fields", "-e", "frame.number"]
    return len(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines())


@pytest.mark.parametrize("device", ["bridge", "router"])
@pytest.mark.parametrize("engine_name", ["xdp", "packet"])
@pytest.mark.parametrize("kind", ["ethernet", "ipv4", "ipv6"])
def test_no_frame_is_malformed_and_every_checksum_is_right(
    device: str, engine_name: str, kind: str, tmp_path: Path
) -> None:
    if device == "router" and kind == "ethernet":
        kind = "ipv4"  # a router forwards no plain Ethernet; that it is refused is tested with the plan
    sizes = (SHORTEST, 333, 1518)
    plan = parse(
        {
            "methods": ["loss"],
            "dut": f"lab:{device}",
            "engine": engine_name,
            "headers": kind,
            "frame_bytes": sizes,
        }
    )
    with Lab(device) as lab:
        engine = on_lab(plan, lab)
        capture = tmp_path / "dut.pcap"
        dut = lab.ports[0].namespace_path.name.replace("tester", "dut")
        # At the DUT's far port every forwarded frame passes as the DUT sent it.
        interface = str(lab.ports[1].dut_interface)
        frames = len(sizes) * FRAMES
        longer = f"greater {SHORTEST - 4}"
        command = ["dumpcap", "-q", "-P", "-i", interface, "-w", str(capture), "-c", str(frames), "-f", longer]
        listener = subprocess.Popen(["ip", "netns", "exec", dut, *command], stderr=subprocess.PIPE, text=True)
        assert listener.stderr is not None
        while "File:" not in listener.stderr.readline():
            assert listener.poll() is None, "dumpcap ended"
        try:
            for size in sizes:
                trial = Trial(
                    purpose="capture",
                    frame_bytes=size,
                    frames_per_second=10_000,
                    duration_ns=FRAMES * 100_000,
                    phases=Phases(learning_wait_ns=0, drain_ns=50_000_000, rest_ns=0),
                )
                engine.start(trial, stream=5, seed=0)
                facts, _ = engine.finish()
                assert facts.tracked.forwarded_frames == facts.sent.offered_frames == FRAMES
        finally:
            engine.close()
            try:
                listener.wait(timeout=20)
            finally:
                listener.kill()
    for size in sizes:
        assert count(capture, f"frame.len == {size - 4} && frame[-18:2] == 6b:73 && frame[-16:2] == 00:05") == FRAMES
    assert count(capture, BAD) == 0
    if kind != "ethernet":
        assert count(capture, "udp.checksum.status == 1 && udp.dstport == 7") >= 3 * FRAMES

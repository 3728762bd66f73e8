"""Frames as they really leave the tester, decoded by somebody else: tshark."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from scapy.utils import RawPcapReader
from support.lab_frames import identity
from support.lab_trials import on_lab, patient_trial

from keisoku.ground.lab.device.lab import Lab
from keisoku.subjects.device.plan.plan import parse

pytestmark = [pytest.mark.lab, pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark")]

FRAMES = 200
STREAM = 5
SHORTEST = 100
"""Longer than learning frames and the warm-up, which are not captured."""
CHECK = ["-o", "udp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
BAD = "_ws.malformed || ip.checksum.status == 0 || udp.checksum.status == 0 || _ws.expert.severity >= 0x600000"


def decoded(capture: Path, only: str) -> int:
    """Frames of a capture for which `only` holds."""
    command = ["tshark", "-r", str(capture), *CHECK, "-Y", only, "-T", "fields", "-e", "frame.number"]
    return len(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines())


def sizes_of(capture: Path) -> Counter[int]:
    """Sizes with FCS of the trials' frames in it."""
    with RawPcapReader(str(capture)) as reader:
        seen = [(len(frame), identity(frame)) for frame, _ in reader]
    return Counter(length + 4 for length, own in seen if own is not None and own[0] == STREAM)


@pytest.mark.parametrize(
    ("device", "kind"),
    [("bridge", "ethernet"), ("bridge", "ipv4"), ("bridge", "ipv6"), ("router", "ipv4"), ("router", "ipv6")],
)
@pytest.mark.parametrize("engine_name", ["xdp", "packet"])
def test_no_frame_is_malformed_and_every_checksum_is_right(
    device: str, engine_name: str, kind: str, tmp_path: Path
) -> None:
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
                engine.start(patient_trial(FRAMES, size), stream=STREAM, seed=0)
                facts, _ = engine.finish()
                assert facts.tracked.forwarded_frames == facts.sent.offered_frames == FRAMES
        finally:
            engine.close()
            try:
                listener.wait(timeout=60)
            finally:
                listener.kill()
    assert sizes_of(capture) == dict.fromkeys(sizes, FRAMES)
    assert decoded(capture, BAD) == 0
    if kind != "ethernet":
        assert decoded(capture, "udp.checksum.status == 1 && udp.dstport == 7") >= 3 * FRAMES

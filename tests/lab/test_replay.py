"""A capture is sent again: the same bytes in the same order, none before it is due."""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scapy.layers.l2 import Ether
from scapy.utils import PcapWriter
from support.command_line import keisoku, namespaces_of, outcome_of, start

from keisoku.errors import PlanError
from keisoku.ground.lab.device.lab import Lab
from keisoku.subjects.device.capture.replay import Replay, replay
from keisoku.subjects.device.engine.playback import Played, play
from keisoku.subjects.device.engine.port_capture import PortCapture
from keisoku.subjects.device.record.interference import PortEngine
from keisoku.subjects.device.testbed.lab import lab_port

pytestmark = pytest.mark.lab

FRAMES = 300


@pytest.fixture(scope="module")
def cable() -> Iterator[Lab]:
    with Lab("cable") as lab:
        yield lab


def recording(seed: int = 2544) -> Replay:
    """Frames of all sizes at irregular times, some at once; unlike each other, so that their order shows."""
    chosen = random.Random(seed)
    lengths = np.array([chosen.randrange(60, 1515) for _ in range(FRAMES)], np.uint16)
    header = bytes.fromhex("02000000000202000000000188b5")
    frames = b"".join(header + chosen.randbytes(int(length) - len(header)) for length in lengths)
    gaps = [0] + [chosen.choice((0, 700, 20_000, 150_000)) + chosen.randrange(100) for _ in range(FRAMES - 1)]
    return Replay(frames, lengths, np.array(gaps, np.uint64))


def all_frames(taken: Replay) -> list[bytes]:
    return [taken.frame(number) for number in range(len(taken.lengths))]


def due_ns(taken: Replay) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.cumsum(taken.gaps_ns.astype(np.int64))


def played(lab: Lab, engine: PortEngine, taken: Replay, path: Path, **how: int) -> tuple[Played, list[str]]:
    told: list[str] = []
    one, other = (lab_port(port, engine) for port in lab.ports)
    outcome = play(taken, one, other, capture=PortCapture(path, 0, told.append), **how)
    return outcome, told


@pytest.mark.parametrize("engine", ["xdp", "packet"])
def test_a_capture_is_replayed_and_captured_again(cable: Lab, tmp_path: Path, engine: PortEngine) -> None:
    first, second = tmp_path / "first.pcapng", tmp_path / "second.pcapng"
    made = recording()
    played(cable, engine, made, first)
    taken = replay(first, port="t1")
    assert all_frames(taken) == all_frames(made)

    outcome, told = played(cable, engine, taken, second)
    assert outcome.complete and not outcome.interrupted
    assert told == [f"capture: {second}: t1 {FRAMES} frames, t2 {FRAMES} frames"]
    for port in ("t1", "t2"):
        assert all_frames(replay(second, port=port)) == all_frames(made)
    sent = outcome.transmitter.sent
    assert outcome.due_ns == taken.duration_ns
    assert sent.last_sent_ns >= outcome.due_ns
    assert outcome.receiver.foreign_frames == FRAMES
    assert [outcome.counters[0].tx_packets, outcome.counters[1].rx_packets] == [FRAMES, FRAMES]


def test_no_frame_leaves_before_it_is_due_and_a_scale_halves_the_due_times(cable: Lab, tmp_path: Path) -> None:
    first = tmp_path / "first.pcapng"
    played(cable, "xdp", recording(), first)
    own, halved = replay(first, port="t1"), replay(first, 2, port="t1")
    assert np.all(np.abs(due_ns(halved) - due_ns(own) / 2) <= 0.5)
    for number, taken in enumerate((own, halved)):
        path = tmp_path / f"again-{number}.pcapng"
        outcome, _ = played(cable, "xdp", taken, path)
        # The stamps in the file are those of the program that sends (docs/capture.md).
        stamps = due_ns(replay(path, port="t1")) + outcome.transmitter.sent.first_sent_ns
        assert np.all(stamps >= due_ns(taken))
        assert stamps[-1] == outcome.transmitter.sent.last_sent_ns


def test_several_times_follow_each_other_by_the_given_gap(cable: Lab, tmp_path: Path) -> None:
    made, path = recording(), tmp_path / "again.pcapng"
    outcome, _ = played(cable, "xdp", made, path, times=3, between_ns=50_000)
    assert all_frames(replay(path, port="t2")) == 3 * all_frames(made)
    assert outcome.due_ns == 3 * made.duration_ns + 2 * 50_000
    assert outcome.transmitter.sent.last_sent_ns >= outcome.due_ns
    with pytest.raises(PlanError, match="give 1 or more"):
        played(cable, "xdp", made, tmp_path / "never.pcapng", times=0)


def test_without_a_receiving_port_the_sending_one_counts(cable: Lab) -> None:
    outcome = play(recording(), lab_port(cable.ports[0], "xdp"))
    assert outcome.complete
    assert (outcome.receiver.port, outcome.receiver.foreign_frames) == (0, 0)
    assert [counters.port for counters in outcome.counters.values()] == ["t1"]


def test_a_single_frame_is_a_recording(cable: Lab) -> None:
    single = Replay(bytes(14), np.array([14], np.uint16), np.array([0], np.uint64))
    outcome = play(single, lab_port(cable.ports[0], "packet"), lab_port(cable.ports[1], "packet"))
    assert (outcome.complete, outcome.due_ns, outcome.frames_per_second) == (True, 0, None)


def test_a_gap_of_hours_was_silent_and_ctrl_c_lost_the_counts(tmp_path: Path) -> None:
    with PcapWriter(str(tmp_path / "night.pcap"), nano=True, linktype=1) as writer:
        for at_s in (0, 1e-3, 2e-3, 18 * 3600):
            packet = Ether(all_frames(recording())[0])
            packet.time = 1_700_000_000 + at_s
            writer.write(packet)
    child = start("replay", "night.pcap", "--dut", "lab:cable", cwd=tmp_path)
    assert child.stderr is not None
    assert "4 frames in 18 h, with a gap of 18 h without a frame" in child.stderr.readline()
    deadline = time.monotonic() + 30
    while not namespaces_of(child.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(2)
    child.send_signal(signal.SIGINT)
    done = outcome_of(child)
    assert done.code == 2 and done.stderr.endswith("keisoku: interrupted\n"), done.stdout + done.stderr
    assert "sent      3 of 4 frames by t1" in done.stdout and "INCOMPLETE" in done.stdout
    assert "arrived   3 frames at t2" in done.stdout
    assert namespaces_of(done.pid) == []


def test_the_command_replays_another_tool_s_file(tmp_path: Path) -> None:
    made = recording()
    with PcapWriter(str(tmp_path / "other.pcap"), nano=True, linktype=1) as writer:
        for number, frame in enumerate(all_frames(made)):
            packet = Ether(frame)
            packet.time = 1_700_000_000 + number / 1024
            writer.write(packet)
    lab = ["--dut", "lab:cable", "--rate", "20k"]
    done = keisoku("replay", "other.pcap", *lab, "--times", "2", "--capture", "again.pcapng", "--json", cwd=tmp_path)
    assert done.code == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["intended_frames"] == answer["transmitter"]["sent"]["offered_frames"] == 2 * FRAMES
    assert answer["receiver"]["foreign_frames"] == 2 * FRAMES
    assert answer["due_ns"] == (2 * FRAMES - 1) * 50_000
    again = tmp_path / "again.pcapng"
    assert all_frames(replay(again, port="t2")) == 2 * all_frames(made)
    text = keisoku("replay", "other.pcap", *lab, cwd=tmp_path).stdout
    assert f"sent      {FRAMES} of {FRAMES} frames by t1" in text
    assert f"arrived   {FRAMES} frames at t2" in text

    keisoku("replay", "other.pcap", *lab, "--capture", "again.pcapng", cwd=tmp_path).refused("capture", "again.pcapng")
    keisoku("replay", "again.pcapng", *lab, cwd=tmp_path).refused("several ports", "t1, t2")
    keisoku("replay", "nothing.pcap", *lab, cwd=tmp_path).refused("nothing.pcap")
    keisoku("replay", "other.pcap", cwd=tmp_path).refused("tx", "lab:bridge")
    keisoku("replay", "other.pcap", "--tx", "xdp:nowhere0", cwd=tmp_path).refused("tx", "nowhere0")
    keisoku("replay", "other.pcap", "--dut", "sim:gs908e", cwd=tmp_path).refused("dut", "sim:gs908e")
    keisoku("replay", "other.pcap", *lab, "--scale", "2", cwd=tmp_path).refused("scale")
    never = keisoku("replay", "other.pcap", *lab, "--times", "0", "--capture", "b.pcapng", cwd=tmp_path)
    never.refused("times")
    assert not (tmp_path / "b.pcapng").exists()

"""The faulty device harms exactly the frames it was told to, and counts what it did."""

from __future__ import annotations

import random

import pytest
from support.lab_frames import headers, identity, signed

from keisoku.errors import PlanError
from keisoku.ground.lab.device.faults import Applied, Faults
from keisoku.ground.lab.device.lab import Lab

pytestmark = pytest.mark.lab

FRAMES = 200_000
BATCH = 128
"""Less than a veth holds, so that nothing is lost but by the device."""


def expected(frames: list[bytes], faults: Faults) -> list[bytes]:
    """What a device without error would put out."""
    drop, duplicate, swap = set(faults.drop), set(faults.duplicate), set(faults.swap)
    corrupt = dict(faults.corrupt)
    out: list[bytes] = []
    held: bytes | None = None
    for sequence, frame in enumerate(frames):
        if sequence in swap:
            held = frame
            continue
        if sequence in corrupt:
            place = len(frame) - corrupt[sequence]
            frame = frame[:place] + bytes([frame[place] ^ faults.flip]) + frame[place + 1 :]
        if sequence not in drop:
            out.append(frame)
        if sequence in duplicate:
            out.append(frame)
        if held is not None:
            out.append(held)
            held = None
    return out


def run(lab: Lab, tap, frames: list[bytes], back: bool = False) -> list[bytes]:
    """Send all frames through the lab in small batches, each ended by a frame without a signature."""
    source, target = (lab.ports[1], lab.ports[0]) if back else lab.ports
    sender, receiver = tap(source), tap(target)
    end = headers(source, target, 64, l3=False)
    arrived: list[bytes] = []
    for start in range(0, len(frames), BATCH):
        for frame in frames[start : start + BATCH]:
            sender.send(frame)
        sender.send(end)
        arrived += receiver.until(end)
    return arrived


@pytest.mark.parametrize("frame_bytes", [64, 1518])
def test_a_long_trial_with_thousands_of_each_fault(frame_bytes, tap):
    chosen = random.Random(2544).sample(range(0, FRAMES - 2, 2), 12_000)
    faults = Faults(
        drop=chosen[:3000],
        duplicate=chosen[3000:6000],
        swap=chosen[6000:9000],
        corrupt=[(sequence, 1 + sequence % 16) for sequence in chosen[9000:]],
    )
    with Lab("faulty", faults=faults) as lab:
        template = headers(lab.ports[0], lab.ports[1], frame_bytes, l3=False)
        frames = [signed(template, 40076, sequence) for sequence in range(FRAMES)]
        assert run(lab, tap, frames) == expected(frames, faults)
        truth = Applied(seen=FRAMES, dropped=3000, duplicated=3000, swapped=3000, corrupted=3000)
        assert lab.applied(40076) == lab.applied() == truth


def test_faults_of_one_stream_spare_the_others_and_both_directions_count(tap):
    faults = Faults(drop=[3], swap=[5], stream=9)
    with Lab("faulty", faults=faults) as lab:
        for stream, back in ((8, False), (9, True)):
            source, target = (lab.ports[1], lab.ports[0]) if back else lab.ports
            template = headers(source, target, 64, l3=False)
            frames = [signed(template, stream, sequence) for sequence in range(10)]
            arrived = [identity(frame) for frame in run(lab, tap, frames, back)]
            order = [0, 1, 2, 4, 6, 5, 7, 8, 9] if stream == 9 else range(10)
            assert arrived == [(stream, sequence) for sequence in order]
        assert lab.applied(8) == Applied(seen=10)
        assert lab.applied(9) == Applied(seen=10, dropped=1, swapped=1)
        assert lab.applied() == Applied(seen=20, dropped=1, swapped=1)


def test_frames_without_a_signature_pass_untouched(tap):
    with Lab("faulty", faults=Faults(drop=[0], corrupt=[(1, 1)])) as lab:
        sender, receiver = tap(lab.ports[0]), tap(lab.ports[1])
        foreign = headers(lab.ports[0], lab.ports[1], 200, l3=False)
        short = foreign[:14]
        for frame in (foreign, short, foreign):
            sender.send(frame)
            assert receiver.receive() == frame
        assert lab.applied() == Applied()


def test_a_swap_without_a_successor_is_told(tap):
    with Lab("faulty", faults=Faults(swap=[1])) as lab:
        template = headers(lab.ports[0], lab.ports[1], 64, l3=False)
        assert len(run(lab, tap, [signed(template, 1, 0), signed(template, 1, 1)])) == 1
        assert lab.applied() == Applied(seen=2, held=1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"drop": [4], "duplicate": [4]},
        {"swap": [4], "drop": [5]},
        {"swap": [4, 5]},
        {"drop": [-1]},
        {"drop": [1 << 48]},
        {"corrupt": [(1, 0)]},
        {"flip": 256},
        {"stream": 65536},
    ],
)
def test_faults_that_cannot_be_are_refused(wrong):
    with pytest.raises(PlanError, match="faults: "):
        Faults(**wrong)

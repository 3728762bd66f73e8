"""The tester against a device whose every fault is known: what it reports is exactly what was done."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import cycle, islice

import pytest
from support.lab_frames import Tap, headers, signed
from support.lab_trials import on_lab

from keisoku.ground.frame.payload import SIGNATURE_BYTES
from keisoku.ground.lab.device.faults import Applied, Faults
from keisoku.ground.lab.device.lab import Lab
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.record.counts import Ranges
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import Phases, Trial

pytestmark = [pytest.mark.lab, pytest.mark.alone]

FRAMES = 120_000
FAULTY_FRAMES = 80_000
"""Faults lie among these; a sender that is held up by other work on the machine still gets past them."""
FAULTS_EACH = 500
STREAM = 7
SENT_TIME = 5
"""A byte of the transmit time, counted from the end of the frame."""
RATES = {"xdp": 100_000.0, "afxdp": 50_000.0, "packet": 50_000.0}
PHASES = Phases(learning_wait_ns=10_000_000, drain_ns=100_000_000, rest_ns=0)


def known_faults(frame_bytes: int) -> Faults:
    """Some thousand faults at random places; where there is payload, half of the corrupt frames are hit there."""
    chosen = random.Random(2544).sample(range(0, FAULTY_FRAMES, 2), 4 * FAULTS_EACH)
    payload = frame_bytes - 4 - 42 - SIGNATURE_BYTES
    places = [SENT_TIME, SIGNATURE_BYTES + payload // 2 if payload else SENT_TIME]
    corrupt = [(sequence, places[index % 2]) for index, sequence in enumerate(chosen[3 * FAULTS_EACH :])]
    return Faults(
        drop=tuple(chosen[:FAULTS_EACH]),
        duplicate=tuple(chosen[FAULTS_EACH : 2 * FAULTS_EACH]),
        swap=tuple(chosen[2 * FAULTS_EACH : 3 * FAULTS_EACH]),
        corrupt=tuple(corrupt),
        stream=STREAM,
    )


def listed(ranges: Ranges) -> list[int]:
    assert ranges.complete
    return sorted(sequence for first, last in ranges.ranges for sequence in range(first, last + 1))


def measure(
    lab: Lab,
    engine_name: str,
    frame_bytes: int,
    meanwhile: Callable[[], None] = lambda: None,
    frames: int = FRAMES,
) -> Facts:
    """One trial; `meanwhile` is called once while its frames are on their way."""
    plan = parse({"methods": ["loss"], "dut": "lab:faulty", "engine": engine_name, "frame_bytes": [frame_bytes]})
    rate = RATES[engine_name]
    trial = Trial(
        purpose="truth",
        frame_bytes=frame_bytes,
        frames_per_second=rate,
        duration_ns=round(frames / rate * 1e9),
        phases=PHASES,
    )
    engine = on_lab(plan, lab)
    try:
        engine.start(trial, stream=STREAM, seed=0)
        while engine.wait(0.01).offered_frames < FRAMES // 20:
            pass
        meanwhile()
        facts, _ = engine.finish()
    finally:
        engine.close()
    assert facts.sent.offered_frames > FAULTY_FRAMES
    return facts


@pytest.mark.parametrize("frame_bytes", [64, pytest.param(1518, marks=pytest.mark.long)])
@pytest.mark.parametrize("engine_name", ["xdp", "afxdp", "packet"])
def test_every_fault_is_reported_as_what_it_was(engine_name: str, frame_bytes: int) -> None:
    faults = known_faults(frame_bytes)
    # In the sender's softirq the device cannot lose a frame of its own accord.
    with Lab("faulty", own_core=False, faults=faults) as lab:
        facts = measure(lab, engine_name, frame_bytes)
        assert facts.tester_dropped_frames == 0
        applied = lab.applied(STREAM)
    tracked, offered = facts.tracked, facts.sent.offered_frames
    each = FAULTS_EACH
    assert applied == Applied(seen=offered, dropped=each, duplicated=each, swapped=each, corrupted=each)

    assert tracked.lost_kept_as == "list"
    lost = [sequence for gap in tracked.lost for sequence in range(gap.first, gap.last + 1)]
    assert lost == sorted(faults.drop)
    assert listed(tracked.duplicated) == sorted(faults.duplicate)
    assert listed(tracked.reordered) == sorted(faults.swap)
    assert listed(tracked.corrupt) == sorted(sequence for sequence, _ in faults.corrupt)
    assert tracked.foreign_frames == 0
    assert tracked.forwarded_frames == offered - 2 * each
    assert tracked.received_frames == tracked.forwarded_frames + tracked.duplicated.count + tracked.corrupt_arrivals
    for gap in tracked.lost:
        assert gap.after_ns is None or gap.before_ns is None or gap.after_ns < gap.before_ns
    assert tracked.latency is not None and tracked.latency.count == tracked.forwarded_frames
    assert sum(tracked.latency.histogram.counts) == tracked.forwarded_frames
    assert sum(interval.forwarded_frames for interval in tracked.series) == tracked.forwarded_frames


@pytest.mark.parametrize("engine_name", ["xdp", "afxdp", "packet"])
def test_frames_of_somebody_else_are_foreign_and_change_nothing(engine_name: str) -> None:
    strangers = 200  # fewer than a veth holds, should the CPU that empties it stand still
    with Lab("faulty", own_core=False, faults=Faults()) as lab:
        source, target = lab.ports
        plain = headers(source, target, 64, l3=False)
        tap = Tap(source)

        def intrude() -> None:
            for number in range(strangers // 2):
                tap.send(plain)
                tap.send(signed(plain, stream=0x1234, sequence=number))

        facts = measure(lab, engine_name, 64, intrude)
        tap.close()
    tracked = facts.tracked
    assert facts.tester_dropped_frames == 0
    assert tracked.foreign_frames == strangers
    assert (tracked.forwarded_frames, tracked.lost_frames) == (facts.sent.offered_frames, 0)
    assert tracked.duplicated.count == tracked.reordered.count == tracked.corrupt_arrivals == 0


def hostile(plain: bytes, chance: random.Random) -> Iterator[bytes]:
    """Frames for ever that look like the trial's and are not: cut off, with changed bits, with wrong lengths in their
    headers, with a wrong checksum in the signature or with the signature of another stream; and noise of any length.

    A frame with a right signature of the trial is one of its frames: nothing tells them apart."""
    while True:
        frame = signed(plain, stream=STREAM, sequence=chance.randrange(FRAMES))
        kind = chance.randrange(5)
        if kind == 0:
            yield frame[: chance.randrange(15, len(frame))]
        elif kind == 1:
            at = len(frame) - 2 - chance.randrange(SIGNATURE_BYTES - 1)
            yield frame[:at] + bytes(byte ^ 0x5A for byte in frame[at : at + 2]) + frame[at + 2 :]
        elif kind == 2:
            yield frame[:16] + chance.randbytes(2) + frame[18:] + bytes(1 + chance.randrange(1400))
        elif kind == 3:
            yield signed(plain, stream=chance.randrange(0x1000, 0x10000), sequence=chance.randrange(1 << 48))
        else:
            yield chance.randbytes(chance.randrange(15, 1500))


@pytest.mark.parametrize("engine_name", ["xdp", "afxdp", "packet"])
def test_hostile_frames_at_full_rate_are_never_taken_for_the_trials(
    engine_name: str, pytestconfig: pytest.Config
) -> None:
    """They come as fast as a loop sends them, so that the device and the tester may lose some of the trial's too: what
    is said of those stays true."""
    long = pytestconfig.getoption("--long")
    count = 1_000_000 if long else 10_000
    with Lab("faulty", own_core=False, faults=Faults()) as lab:
        source, target = lab.ports
        # Made beforehand: to make one takes longer than to send it.
        frames = list(islice(hostile(headers(source, target, 64, l3=False), random.Random(1242)), count // 10))
        tap = Tap(source)

        def intrude() -> None:
            for frame in islice(cycle(frames), count):
                tap.send(frame)

        facts = measure(lab, engine_name, 64, intrude, 15 * FRAMES if long else FRAMES)
        tap.close()
    tracked, offered = facts.tracked, facts.sent.offered_frames
    dropped = facts.tester_dropped_frames  # of whatever kind: the trial is invalid then, and says how many
    came = f"{tracked.foreign_frames} of {count} hostile frames came within the trial of {offered}"
    print(f"{engine_name}: {came}; lost {tracked.lost_frames}, the tester itself dropped {dropped}")
    assert long or dropped == 0
    assert tracked.forwarded_frames + tracked.lost_frames + tracked.corrupt.count == offered
    assert tracked.lost_frames + tracked.corrupt.count <= offered / 100 + dropped
    assert 0 < tracked.foreign_frames <= count
    assert tracked.duplicated.count == tracked.reordered.count == 0
    assert tracked.latency is not None and tracked.latency.count == tracked.forwarded_frames

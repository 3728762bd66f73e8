"""A device of known capacity lets exactly that through, counts what it drops, and costs what it was told to cost."""

from __future__ import annotations

import threading

import pytest
from support.lab_frames import headers, signed
from support.lab_passages import MakeTap, needs, require, stack
from support.lab_trials import on_lab, plan_for
from support.trials import carried, incomplete, later_than

from keisoku.errors import EngineError
from keisoku.ground.lab.device.catalogue import FAMILIES, find_device
from keisoku.ground.lab.device.faults import Applied, Faults
from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.lab.device.throttle import CATCH_UP_FRAMES, Throttle, Throttled
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import NS_PER_S, Phases, Trial

pytestmark = [pytest.mark.lab, pytest.mark.alone]

CAPACITY = 25_000
"""What a sender catches up at it takes longer than a thread's lateness on a calm host."""
BURST_NS = 3_840_000
"""What `capacity=25kpps` has without a burst of its own."""
SETTLED = Phases(learning_wait_ns=10_000_000, drain_ns=100_000_000, rest_ns=0)
BUILT = [name for name in FAMILIES if name != "cable"]
EACH = [
    pytest.param(name, marks=needs(*find_device(name).programs))
    for name in ("ovs-mpls?action=swap" if name == "ovs-mpls" else name for name in BUILT)
]


def at(load: float, duration_s: float = 1.0) -> Trial:
    return Trial(
        purpose="capacity",
        frame_bytes=64,
        frames_per_second=load * CAPACITY,
        duration_ns=round(duration_s * NS_PER_S),
        phases=SETTLED,
    )


def measure(lab: Lab, trial: Trial, calm: bool = True) -> tuple[Facts, int]:
    """Facts of one trial, and how many frames the device says that it dropped in it.

    With `calm` it is repeated while the sender was later than it may catch up.
    """
    engine = on_lab(plan_for(lab.device.name, frame_bytes=[trial.frame_bytes]), lab)
    before = 0

    def spoiled(trial: Trial, facts: Facts) -> bool:
        nonlocal before
        again = later_than(CATCH_UP_FRAMES * NS_PER_S // CAPACITY)(trial, facts) if calm else False
        before = lab.throttled()[0].dropped_frames if again else before
        return again

    try:
        carried(engine, at(0.1, 0.01), incomplete, streams=1)  # opens the ports: their first frames are no part of it
        before = lab.throttled()[0].dropped_frames
        facts, _ = carried(engine, trial, spoiled, stream=100, streams=1)
        return facts, lab.throttled()[0].dropped_frames - before
    finally:
        engine.close()


def least_lost(facts: Facts) -> float:
    """By arithmetic: nothing passes beyond what the capacity carries in the time, the burst and one frame."""
    span_ns = facts.sent.last_sent_ns - facts.sent.first_sent_ns
    return facts.sent.offered_frames - CAPACITY * (span_ns + BURST_NS) / NS_PER_S - 1


@pytest.mark.parametrize("device", ["bridge", pytest.param("router", marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "load", [pytest.param(0.9, marks=pytest.mark.long), 0.98, pytest.param(0.99, marks=pytest.mark.long)]
)
def test_below_its_capacity_it_loses_nothing(device: str, load: float) -> None:
    # In the sender's softirq the device cannot lose a frame of its own accord.
    with Lab(f"{device}?capacity={CAPACITY}pps", own_core=False) as lab:
        facts, dropped = measure(lab, at(load))
    assert (facts.tracked.lost_frames, dropped) == (0, 0)


@pytest.mark.parametrize(
    "load", [pytest.param(1.01, marks=pytest.mark.long), 1.02, pytest.param(1.1, marks=pytest.mark.long)]
)
def test_above_its_capacity_it_loses_what_arithmetic_says(load: float) -> None:
    with Lab(f"bridge?capacity={CAPACITY}pps", own_core=False) as lab:
        facts, dropped = measure(lab, at(load))
    assert facts.tracked.lost_frames == dropped
    # A sender that is late while the virtual queue is empty leaves so much of the capacity unused, and no more.
    unused = CAPACITY * facts.sent.lag_max_ns / NS_PER_S
    assert least_lost(facts) * 0.99 <= dropped <= least_lost(facts) * 1.01 + unused


def test_on_any_host_each_loss_is_a_drop_that_was_counted_and_no_more_passes_than_it_may() -> None:
    with Lab(f"bridge?capacity={CAPACITY}pps", own_core=False) as lab:
        facts, dropped = measure(lab, at(2.0, 0.5), calm=False)
    assert facts.tracked.lost_frames == dropped > least_lost(facts) * 0.99


@pytest.mark.parametrize("name", EACH)
def test_every_device_can_have_a_capacity_each_direction_its_own(name: str, tap: MakeTap) -> None:
    require(name)
    limits = "&" if "?" in name else "?"
    with Lab(f"{name}{limits}capacity=4fps&burst=0s") as lab:
        for tx, rx in ((1, 2), (2, 1)):
            sender, receiver = tap(lab.ports[tx - 1]), tap(lab.ports[rx - 1])
            frames = [bytes(stack(lab.passage(tx, rx).sent["ipv4"]) / (bytes(45) + bytes([n]))) for n in range(3)]
            sender.send(frames[0])
            sender.send(frames[1])
            assert receiver.receive()[-1] == 0
            threading.Event().wait(0.3)  # until the time of the first frame is over
            sender.send(frames[2])
            assert receiver.receive()[-1] == 2
        # The end of a tunnel may ask for the other's address, and the answer comes in as well.
        assert [port.passed_frames for port in lab.throttled()] == [2, 2]
        assert all(port.dropped_frames == 1 or ("vxlan" in name and port.dropped_frames) for port in lab.throttled())


def test_the_capacity_of_a_link_counts_bytes_with_preamble_and_gap(tap: MakeTap) -> None:
    # 1 kbit/s carries a frame of 64 bytes in 84 byte times, 0.672 s, and one of 128 bytes in 1.184 s.
    with Lab("bridge?capacity=1kbps&burst=1s") as lab:
        source, target = lab.ports
        sender, receiver = tap(source), tap(target)
        short, long = (headers(source, target, size, l3=False) for size in (64, 128))
        for frame in (short, long, short):
            sender.send(frame)
        assert [receiver.receive(), receiver.receive()] == [short, long]
        back = headers(target, source, 128, l3=False)
        receiver.send(back)
        assert sender.receive() == back
        done = lab.throttled()
    assert [(port.passed_frames, port.dropped_frames) for port in done] == [(2, 1), (1, 0)]
    assert 0.5e9 < done[0].longest_backlog_ns <= 0.672e9


@pytest.mark.parametrize("device", ["bridge", "router", "firewall?rules=2", "faulty"])
def test_each_frame_costs_the_device_what_it_was_told(device: str, tap: MakeTap) -> None:
    cost_ns, frames = 20_000, 500
    limits = "&" if "?" in device else "?"
    spent = list[float]()
    while not spent or (spent[-1] > 1.1 * frames and len(spent) < 3):
        with Lab(f"{device}{limits}cost=20us") as lab:
            source, target = lab.ports
            sender, receiver = tap(source), tap(target)
            template = headers(source, target, 64, l3=lab.l3)
            for sequence in range(frames):
                sender.send(signed(template, 7, sequence))
                receiver.receive()
            done = lab.throttled()[0]
        assert done.costing_frames == frames
        spent.append(done.cost_spent_ns / cost_ns)
    # Of time above it, all but the last frame's is made up for; what stays is the host's, which may stop at that one.
    assert frames - 1 <= min(spent) <= 1.1 * frames, spent


def test_a_cost_and_faults_go_together(tap: MakeTap) -> None:
    with Lab("faulty?cost=1us&capacity=1kpps", faults=Faults(drop=(1,))) as lab:
        sender, receiver = tap(lab.ports[0]), tap(lab.ports[1])
        frames = [signed(headers(lab.ports[0], lab.ports[1], 64, l3=False), 7, sequence) for sequence in range(3)]
        for frame in frames:
            sender.send(frame)
        assert [receiver.receive(), receiver.receive()] == [frames[0], frames[2]]
        assert lab.applied() == Applied(seen=3, dropped=1)
        assert lab.throttled()[0].costing_frames == lab.throttled()[0].passed_frames == 3


def test_jumbo_frames_are_policed_too(tap: MakeTap) -> None:
    with Lab("bridge?capacity=1kpps", mtu=9000) as lab:
        sender, receiver = tap(lab.ports[0]), tap(lab.ports[1])
        frame = headers(lab.ports[0], lab.ports[1], 9018, l3=False)
        sender.send(frame)
        assert receiver.receive() == frame
        assert lab.throttled()[0].passed_frames == 1


def test_a_device_without_limits_says_so() -> None:
    with Lab("bridge") as lab, pytest.raises(EngineError, match="no known capacity and no known cost"):
        lab.throttled()


def test_the_record_says_which_limits_hold() -> None:
    with Lab(f"bridge?capacity={CAPACITY}pps&cost=0ns") as lab:
        limits = lab.context()["limits"]
        assert limits == {"frame_ns": NS_PER_S / CAPACITY, "byte_ns": 0.0, "burst_ns": BURST_NS, "cost_ns": 0}
        assert lab.throttled() == [Throttled(0, 0, 0, 0, 0)] * 2


def test_a_slow_device_absorbs_what_a_slow_sender_may_catch_up() -> None:
    slow = Throttle.from_parameters("1kpps", None, None)
    assert slow is not None and slow.burst_ns == 1.5 * 64 * 1e6

"""Points of the kernel made into parts of ways: they add up to the latency, and copies are told from the frame."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from keisoku.subjects.device.engine.frame_waits import (
    BACKLOG,
    OF_SOCKET,
    POLLED,
    QUEUED,
    RECEIVED,
    STARTED,
    KernelInterface,
    Passed,
    Port,
    waits_of,
)
from keisoku.subjects.device.record.packed import STORED
from keisoku.subjects.device.record.waits import WaitingFrames, Waits

FIRST, START_NS = 40, (1 << 48) - 5000
DUT, TESTER = 11, 12
INTERFACES = {
    (DUT, 1): KernelInterface("eth1", "r1", "noqueue", "br_handle_frame", False),
    (DUT, 2): KernelInterface("eth2", "r1", "tbf", "", False),
    (DUT, 3): KernelInterface("eth3", "r1", "tbf", "", False),
    (TESTER, 5): KernelInterface("t2", "", "noqueue", "", True),
}
PORTS = [Port((TESTER, 4), "t1", "", (DUT, 1)), Port((TESTER, 5), "t2", "", (DUT, 2))]
Point = tuple[int, int, int, int]
"""After so many ns, the number of the interface (of the tester from 4 on), the point with its flag, the packet."""


def waits(ways: list[tuple[int, list[Point]]], samples: list[tuple[int, list[Point]]] | None = None) -> Waits:
    """Of frames with these latencies and points."""
    frames, hops = [], []
    slow = [(1, *one) for one in ways] + [(0, *one) for one in samples or []]
    for row, (is_slow, latency_ns, points) in enumerate(slow):
        sent_ns = START_NS + 100 * row
        frames.append((is_slow, FIRST, row, 1, sent_ns, latency_ns))
        for after_ns, interface, point, packet in points:
            namespace = DUT if interface < 4 else TESTER
            hops.append((row, (sent_ns + after_ns) % (1 << 48), packet, namespace, interface << 8 | point))
    rows = [np.array(one, np.int64).tobytes() for one in (frames, hops)]
    return waits_of(Passed(INTERFACES, rows[0], rows[1], 0, []), PORTS, FIRST, START_NS)


def parts(made: Waits, frame: int = 0) -> list[tuple[str, str, int]]:
    own = made.frames.rows[made.frames.rows[:, 1] == frame]
    return [
        (made.places[place].kind, made.places[place].interface, waited) for place, waited in own[:, [2, 4]].tolist()
    ]


BRIDGED: list[Point] = [(10, 1, POLLED, 7), (30, 1, RECEIVED, 7), (60, 2, QUEUED, 7), (160, 2, STARTED, 7)]


def test_the_parts_of_a_way_have_their_kinds() -> None:
    made = waits([(200, BRIDGED)])
    assert parts(made) == [
        ("ring", "eth1", 10),
        ("gro", "eth1", 20),
        ("stack", "eth2", 30),
        ("queue", "eth2", 100),
        ("ring", "t2", 40),
    ]
    stack, queue = made.places[2:4]
    assert (stack.came_from, stack.handler, queue.qdisc) == ("eth1", "br_handle_frame", "tbf")
    assert [place.of_tester for place in made.places] == [False, False, False, False, True]
    assert made.frames.rows[:, 3].tolist() == [0, 10, 30, 60, 160]


def test_a_program_that_forwards_is_told_from_the_protocols() -> None:
    points = [(5, 1, BACKLOG, 7), (9, 1, RECEIVED, 7), (50, 2, QUEUED | OF_SOCKET, 8), (60, 2, STARTED | OF_SOCKET, 8)]
    assert [kind for kind, _, _ in parts(waits([(70, points)]))] == ["ring", "backlog", "program", "queue", "ring"]
    # The socket of the tester itself, with which a bridge leaves a packet.
    own = [(after_ns, interface, point | OF_SOCKET, packet) for after_ns, interface, point, packet in BRIDGED]
    assert [kind for kind, _, _ in parts(waits([(200, own)]))] == ["ring", "gro", "stack", "queue", "ring"]


def test_a_tunnel_is_in_a_driver_between_two_queues() -> None:
    points = [
        (1, 1, RECEIVED, 7),
        (2, 3, QUEUED, 7),
        (3, 3, STARTED, 7),
        (9, 2, QUEUED, 7),
        (10, 2, STARTED, 7),
    ]
    found = parts(waits([(12, points)]))
    assert found[3] == ("driver", "eth3", 6)


def test_points_of_copies_are_left_out() -> None:
    first = [(10, 1, POLLED, 7), (30, 1, RECEIVED, 7)]
    copy = [(40, 3, QUEUED, 8), (50, 3, STARTED, 8)]
    own = [(70, 2, QUEUED, 7), (90, 2, STARTED, 7)]
    assert parts(waits([(95, first + copy + own)])) == parts(waits([(95, first + own)]))
    # The copy may be the one that arrives.
    arrived = [(70, 2, QUEUED, 9), (90, 2, STARTED, 9)]
    rest = [(92, 3, QUEUED, 7), (93, 3, STARTED, 7)]
    assert parts(waits([(95, first + copy + arrived + rest)])) == parts(waits([(95, first + own)]))


def test_a_frame_without_points_is_unseen_and_counted() -> None:
    made = waits([(500, []), (200, BRIDGED)])
    assert parts(made) == [("unseen", "", 500)]
    assert (made.slowest, made.not_followed) == (2, 1)


def test_the_median_is_that_of_the_sample() -> None:
    quick = [[(one, 1, RECEIVED, 7), (one + 3, 2, QUEUED, 7), (one + 5, 2, STARTED, 7)] for one in (1, 2, 9)]
    made = waits([(200, BRIDGED)], [(20, points) for points in quick])
    by_kind = {(place.kind, place.interface): place for place in made.places}
    assert by_kind["ring", "eth1"].median_ns == 2
    assert by_kind["queue", "eth2"].median_ns == 2
    assert by_kind["gro", "eth1"].median_ns is None
    assert (made.sampled, made.median_ns, by_kind["queue", "eth2"].sampled) == (3, 20, 3)
    assert len(made.frames) == 5


def test_stamps_that_contradict_the_kernels_clock_are_measured() -> None:
    assert waits([(200, BRIDGED)]).apart_ns == 0
    assert waits([(130, BRIDGED)]).apart_ns == 30
    assert waits([(200, [(-4, 1, RECEIVED, 7), *BRIDGED[2:]])]).apart_ns == 4
    # At its own port the tester stamps before the kernel's event.
    assert waits([(170, [*BRIDGED, (175, 5, RECEIVED, 7)])]).apart_ns == 0


POINTS = st.lists(
    st.tuples(
        st.integers(0, 10_000),
        st.integers(1, 5),
        st.sampled_from([BACKLOG, POLLED, RECEIVED, QUEUED, STARTED, QUEUED | OF_SOCKET]),
        st.integers(0, 3),
    ),
    max_size=16,
)


@given(st.lists(st.tuples(st.integers(0, 20_000), POINTS), min_size=1, max_size=5))
def test_whatever_was_seen_the_parts_add_up_to_the_latency(ways: list[tuple[int, list[Point]]]) -> None:
    made = waits(ways, ways)
    for frame, (latency_ns, _) in enumerate(ways):
        own = made.frames.rows[made.frames.rows[:, 1] == frame]
        assert own[:, 4].sum() == latency_ns
        assert np.array_equal(own[:-1, 3] + own[:-1, 4], own[1:, 3])
    adapter = TypeAdapter(WaitingFrames)
    assert adapter.validate_json(adapter.dump_json(made.frames, context=STORED)) == made.frames
    assert Waits.model_validate_json(made.model_dump_json()) == made

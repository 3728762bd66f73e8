"""The simulated device against what its model says must come out, worked out here in plain Python."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import pytest

from keisoku.errors import EngineError, PlanError
from keisoku.ground.simulated_device.device import SimulatedDevice, find_device, parse_device
from keisoku.subjects.device.engine.engine import Engine
from keisoku.subjects.device.engine.simulated import SimulatedEngine
from keisoku.subjects.device.plan.content import Content
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import Bursts, Flow, Phases, Trial

GIGABIT = 1e9
PLAIN = "forwarding = { ns_per_byte = 8.0, constant_ns = 811.0 }\n"


def line_rate(frame_bytes: int, bits_per_second: float = GIGABIT) -> float:
    return bits_per_second / (8 * (frame_bytes + 20))


def trial(frame_bytes: int = 64, load: float = 1.0, duration_ns: int = 10_000_000, **changes: object) -> Trial:
    values: dict[str, object] = {
        "purpose": "test",
        "frame_bytes": frame_bytes,
        "frames_per_second": load * line_rate(frame_bytes),
        "duration_ns": duration_ns,
        **changes,
    }
    return Trial.model_validate(values)


def measure(
    device: SimulatedDevice | str,
    wanted: Trial,
    seed: int = 1,
    tx_port: int = 1,
    rx_port: int = 2,
    receive_clock_ppm: float = 0.0,
) -> Facts:
    """Facts of one trial, in which the counts must add up whatever the device did."""
    model = parse_device(device, "test") if isinstance(device, str) else device
    engine = SimulatedEngine(model, (tx_port, rx_port), receive_clock_ppm=receive_clock_ppm)
    engine.start(wanted, stream=7, seed=seed)
    facts, _ = engine.finish()
    tracked = facts.tracked
    assert facts.sent.offered_frames == tracked.forwarded_frames + tracked.lost_frames + tracked.corrupt.count
    assert tracked.received_frames == (
        tracked.forwarded_frames + tracked.duplicated.count + tracked.corrupt_arrivals + tracked.foreign_frames
    )
    assert sum(gap.count for gap in tracked.lost) == tracked.lost_frames
    assert sum(interval.forwarded_frames for interval in tracked.series) == tracked.forwarded_frames
    if tracked.latency is not None:
        assert tracked.latency.count == sum(tracked.latency.histogram.counts) == tracked.forwarded_frames
    return facts


def latencies(facts: Facts) -> tuple[float, float, float]:
    assert facts.tracked.latency is not None
    return facts.tracked.latency.min_ns, facts.tracked.latency.mean_ns, facts.tracked.latency.max_ns


def lost(facts: Facts) -> list[int]:
    return [number for gap in facts.tracked.lost for number in gap.numbers()]


@pytest.mark.parametrize("name", ["ax3630s", "lsw4-gt-8ep", "lsw3-gt-5ep", "catalyst2960g", "catalyst3750e", "gs908e"])
def test_a_shipped_device_has_its_published_line_at_minimum_gap_and_its_largest_frame(name: str) -> None:
    device = find_device(name)
    published = device.published
    assert published is not None
    one, other = published.ports
    lossless = device.loss.above_frame_bytes or published.max_frame_bytes
    for size in (64, 65, 1518, lossless):
        facts = measure(device, trial(size), tx_port=one, rx_port=other)
        line = published.slope_ns_per_byte * size + published.constant_ns
        assert facts.tracked.lost_frames == 0
        assert latencies(facts) == pytest.approx((line, line, line), abs=0.002)
    largest, above = (trial(published.max_frame_bytes + more, duration_ns=50_000_000) for more in (0, 1))
    assert measure(device, largest, tx_port=one, rx_port=other).tracked.forwarded_frames > 0
    assert measure(device, above, tx_port=one, rx_port=other).tracked.forwarded_frames == 0


def test_cut_through_latency_does_not_depend_on_the_size() -> None:
    device = "forwarding = { mode = 'cut-through', ns_per_byte = 8, constant_ns = 300, header_bytes = 20 }"
    for size in (64, 512, 9000):
        assert latencies(measure(device, trial(size))) == (460.0, 460.0, 460.0)
    ethernet_header = device.replace(", header_bytes = 20", "")
    assert latencies(measure(ethernet_header, trial(64)))[0] == 300 + 14 * 8


def test_the_sender_keeps_its_schedule() -> None:
    facts = measure(PLAIN, trial(64, load=0.5))
    assert (facts.sent.offered_frames, facts.sent.lag_max_ns) == (7440, 0)
    assert (facts.sent.first_sent_ns, facts.sent.last_sent_ns) == (0, 7439 * 1344)
    assert facts.sent.gaps.counts == [7439]
    assert facts.tester_dropped_frames == 0 and not facts.interrupted
    assert facts.receivers[0].last_received_ns == 7439 * 1344 + 1323


@pytest.mark.parametrize("size", [64, 65, 128, 333, 1518, 9018])
@pytest.mark.parametrize("bits_per_second", [1e8, 1e9, 2.5e9, 1e10, 1e11])
def test_the_line_rate_of_any_link_meets_no_queue(size: int, bits_per_second: float) -> None:
    rate = line_rate(size, bits_per_second)
    wanted = trial(size, frames_per_second=rate, duration_ns=1_000_000)
    device = f"link_bits_per_second = {bits_per_second}\n" + PLAIN
    facts = measure(device, wanted)
    assert facts.sent.offered_frames == wanted.frames
    assert latencies(facts)[2] == pytest.approx(8.0 * size + 811, abs=0.002)


def test_more_than_the_line_rate_is_not_offered() -> None:
    facts = measure(PLAIN, trial(64, load=1.5))
    assert trial(64, load=1.5).frames == 22321
    assert facts.sent.offered_frames == 14881
    assert facts.tracked.lost_frames == 0
    assert facts.sent.lag_max_ns == 14880 * 224


def overflowing(arrivals: list[int], service_ns: Fraction, places: int) -> tuple[list[int], Fraction]:
    """Lindley's recursion in the plainest words: which frames are lost, and the longest wait."""
    left: list[Fraction] = []
    refused, longest = [], Fraction(0)
    for sequence, ready in enumerate(arrivals):
        if sum(time > ready for time in left) >= places:
            refused.append(sequence)
            continue
        start = max(Fraction(ready), left[-1]) if left else Fraction(ready)
        longest = max(longest, start - ready)
        left.append(start + service_ns)
    return refused, longest


@pytest.mark.parametrize(("size", "percent", "places"), [(64, 50, 20), (64, 90, 1), (1518, 75, 3), (512, 97, 6)])
def test_a_full_buffer_loses_exactly_the_frames_that_lindley_says(size: int, percent: int, places: int) -> None:
    buffer_bytes = places * size + size - 1
    output = f"buffer_bytes = {buffer_bytes}, service_bits_per_second = {percent * 10_000_000}"
    facts = measure(PLAIN + f"output = {{ {output} }}", trial(size, duration_ns=2_000_000))
    wire_ns = (size + 20) * 8
    due = [sequence * wire_ns for sequence in range(facts.sent.offered_frames)]
    expected, longest = overflowing(due, Fraction(100 * wire_ns, percent), places)
    assert expected and lost(facts) == expected
    assert latencies(facts)[2] == pytest.approx(8 * size + 811 + float(longest), abs=0.01)


def test_a_frame_larger_than_the_buffer_is_lost() -> None:
    device = PLAIN + "output = { buffer_bytes = 1000 }"
    assert measure(device, trial(1000)).tracked.lost_frames == 0
    assert measure(device, trial(1001)).tracked.forwarded_frames == 0


def test_a_slower_output_clock_lets_latency_grow_without_loss() -> None:
    """E3: the surplus of two clocks 50 ppm apart stays in the buffer; at a lower rate it vanishes."""
    device = PLAIN + "clock_offset_ppm = { 2 = -50 }\noutput = { buffer_bytes = 1_000_000 }"
    facts = measure(device, trial(64, duration_ns=1_000_000_000))
    first, _, last = latencies(facts)
    assert facts.tracked.lost_frames == 0
    assert first == 1323.0
    # Each frame waits 50 ppm (of the slower clock) of a frame's time longer than the one before it.
    growth = (facts.sent.offered_frames - 1) * 672 * (1 / (1 - 50e-6) - 1)
    assert last - first == pytest.approx(growth, abs=0.01)
    assert latencies(measure(device, trial(64, load=0.9999)))[2] == 1323.0
    faster = PLAIN + "clock_offset_ppm = { 1 = -50, 2 = 50 }"
    assert latencies(measure(faster, trial(64)))[2] == 1323.0


def test_a_faster_receive_clock_lets_latency_grow_by_itself() -> None:
    facts = measure(PLAIN, trial(64, load=0.1, duration_ns=1_000_000_000), receive_clock_ppm=10.0)
    assert latencies(facts)[2] == pytest.approx(1323 + 10_000, abs=0.1)


def test_nothing_leaves_in_a_stall() -> None:
    """One frame a microsecond; every 100 µs the output rests for 10 µs and then works off the queue."""
    device = PLAIN + "stall = { period_ns = 100_000, duration_ns = 10_000 }"
    facts = measure(device, trial(64, frames_per_second=1e6, duration_ns=1_000_000))
    expected, free = [], 0
    for due in range(0, 1_000_000, 1000):
        start = max(due + 1323, free)
        if start >= 100_000 and start % 100_000 < 10_000:
            start += 10_000 - start % 100_000
        free = start + 672
        expected.append(start - due)
    assert max(expected) > 10_000
    assert latencies(facts) == pytest.approx((1323, sum(expected) / len(expected), max(expected)), abs=1e-6)


def test_loss_above_a_size_leaves_smaller_frames_alone() -> None:
    device = PLAIN + "loss = { above_frame_bytes = 1000, above_ratio = 0.8 }"
    assert measure(device, trial(1000)).tracked.lost_frames == 0
    facts = measure(device, trial(1001, duration_ns=100_000_000))
    offered = facts.sent.offered_frames
    assert abs(facts.tracked.lost_frames - 0.8 * offered) < 5 * sqrt(offered * 0.8 * 0.2)
    everything = PLAIN + "loss = { above_frame_bytes = 1000 }"
    assert measure(everything, trial(1001)).tracked.forwarded_frames == 0


def test_random_loss_has_its_ratio() -> None:
    facts = measure(PLAIN + "loss = { ratio = 0.01 }", trial(64, duration_ns=200_000_000))
    offered = facts.sent.offered_frames
    assert abs(facts.tracked.lost_frames - 0.01 * offered) < 5 * sqrt(offered * 0.01 * 0.99)
    assert facts.tracked.lost_kept_as == "list"


def test_dense_loss_is_still_known_by_number() -> None:
    device = PLAIN + "loss = { ratio = 0.5 }"
    facts = measure(device, trial(64, duration_ns=500_000_000))
    assert facts.tracked.lost_kept_as == "bitmap"
    numbers = lost(facts)
    assert len(set(numbers)) == facts.tracked.lost_frames
    again = lost(measure(device, trial(64, duration_ns=50_000_000)))
    assert again == numbers[: len(again)]


@pytest.mark.parametrize(
    ("tx_port", "rx_port", "slope", "constant"),
    [  # E1 Table 4.3, and Table 4.1 where that is silent
        (1, 2, 7.98324, 1796.28),
        (1, 4, 7.98308, 1739.55),
        (1, 8, 7.98417, 2067.42),
        (8, 1, 7.98417, 2067.42),
        (5, 8, 7.98, 1810),
    ],
)
def test_a_pair_of_ports_has_its_own_line(tx_port: int, rx_port: int, slope: float, constant: float) -> None:
    for size in (64, 6500):
        facts = measure(find_device("lsw4-gt-8ep"), trial(size), tx_port=tx_port, rx_port=rx_port)
        assert latencies(facts)[1] == pytest.approx(slope * size + constant, abs=0.001)


def test_a_pair_of_ports_has_latency_besides_its_line() -> None:
    device = "ports = 3\n" + PLAIN + "[[pair]]\nfrom_ports = [1]\nto_ports = [3]\nextra_latency_ns = 271\n"
    near, far = (latencies(measure(device, trial(512), rx_port=port))[1] for port in (2, 3))
    assert far - near == pytest.approx(271, abs=0.001)


@pytest.mark.parametrize("bursts", [False, True])
def test_stamps_of_a_coarse_clock_are_rounded_down_and_their_mean_is_right(bursts: bool) -> None:
    device = PLAIN.replace("811.0", "812.3") + "resolution_ns = 8.0\n"
    # A gap of no whole number of ticks lets frames leave at all phases of the clock.
    flow = Flow(transmit=0, receive=1, pacing=Bursts(burst_frames=7, gap_ns=1003) if bursts else None)
    facts = measure(device, trial(64, frames_per_second=123_457, duration_ns=200_000_000, flows=(flow,)))
    low, mean, high = latencies(facts)
    truth = 8.0 * 64 + 812.3
    assert {low % 8, high % 8} == {0.0}
    assert (low, high) == (truth // 8 * 8, truth // 8 * 8 + 8)
    # Bursts leave at whole ns, which is as fine as the mean can then be.
    assert mean == pytest.approx(truth, abs=0.5 if bursts else 0.1)


def test_a_pair_of_ports_has_its_own_largest_frame_and_loss() -> None:
    crossing = find_device("lsw4-gt-8ep")
    assert measure(crossing, trial(7000), rx_port=8).tracked.lost_frames == 0
    facts = measure(crossing, trial(7001, duration_ns=100_000_000), rx_port=8)
    assert facts.tracked.lost_frames / facts.sent.offered_frames == pytest.approx(0.8, abs=0.06)
    assert measure(crossing, trial(13_514), rx_port=2).tracked.lost_frames == 0
    facts = measure(crossing, trial(13_515, duration_ns=100_000_000), rx_port=2)
    assert facts.tracked.lost_frames / facts.sent.offered_frames == pytest.approx(0.98, abs=0.02)
    device = (
        "ports = 3\nmax_frame_bytes = 9000\n"
        + PLAIN
        + "[[pair]]\nfrom_ports = [1]\nto_ports = [3]\nmax_frame_bytes = 1518\n"
    )
    assert measure(device, trial(1519), rx_port=3).tracked.forwarded_frames == 0
    assert measure(device, trial(1519), rx_port=2).tracked.lost_frames == 0


def test_jitter_has_its_spread_and_keeps_the_order() -> None:
    uniform = measure(PLAIN + "jitter = { distribution = 'uniform', spread_ns = 300 }", trial(64, load=0.5))
    low, mean, high = latencies(uniform)
    assert 1323 <= low < 1326 and 1620 < high <= 1623
    assert mean == pytest.approx(1323 + 150, abs=5)
    normal = measure(
        PLAIN + "jitter = { distribution = 'normal', spread_ns = 50 }",
        trial(64, load=0.1, duration_ns=100_000_000),
    )
    assert normal.tracked.latency is not None
    assert normal.tracked.latency.deviation_ns == pytest.approx(50, rel=0.03)
    assert latencies(normal)[1] == pytest.approx(1323, abs=3)
    wild = measure(PLAIN + "jitter = { distribution = 'normal', spread_ns = 5000 }", trial(64, load=0.9))
    assert wild.tracked.reordered.count == 0
    assert latencies(wild)[0] >= 0


def test_faults_are_seen_as_what_they_are() -> None:
    wanted = trial(64, load=0.5, duration_ns=100_000_000)
    expected = 0.01 * wanted.frames
    near = pytest.approx(expected, abs=5 * sqrt(expected))
    duplicated = measure(PLAIN + "faults = { duplicate_ratio = 0.01 }", wanted).tracked
    assert duplicated.duplicated.count == near
    assert (duplicated.lost_frames, duplicated.reordered.count, duplicated.corrupt.count) == (0, 0, 0)
    reordered = measure(PLAIN + "faults = { reorder_ratio = 0.01 }", wanted).tracked
    assert reordered.reordered.count == near
    assert (reordered.lost_frames, reordered.duplicated.count, reordered.corrupt.count) == (0, 0, 0)
    corrupt = measure(PLAIN + "faults = { corrupt_ratio = 0.01 }", wanted).tracked
    assert corrupt.corrupt.count == corrupt.corrupt_arrivals == near
    assert (corrupt.lost_frames, corrupt.duplicated.count, corrupt.reordered.count) == (0, 0, 0)


RANDOM = PLAIN + "loss = { ratio = 0.01 }\n"
JITTER = "jitter = { distribution = 'normal', spread_ns = 100 }\n"
FAULTS = "faults = { duplicate_ratio = 0.01, reorder_ratio = 0.01, corrupt_ratio = 0.01 }\n"


def test_a_record_is_a_function_of_plan_and_seed() -> None:
    device = RANDOM + JITTER + FAULTS + "stall = { period_ns = 300_000, duration_ns = 1000 }\n"
    once = measure(device, trial(), seed=5)
    assert once == measure(device, trial(), seed=5)
    assert once != measure(device, trial(), seed=6)


def test_switching_one_concern_on_changes_no_other() -> None:
    wanted = trial(64, load=0.5)
    alone = lost(measure(RANDOM, wanted))
    assert lost(measure(RANDOM + JITTER, wanted)) == alone
    faulty = measure(RANDOM + JITTER + FAULTS, wanted)
    assert lost(faulty) == alone


def test_frames_after_the_drain_are_not_waited_for() -> None:
    device = PLAIN + "output = { buffer_bytes = 1_000_000_000, service_bits_per_second = 100_000_000 }"
    wanted = trial(64, phases=Phases(drain_ns=0))
    facts = measure(device, wanted)
    # A tenth of them leaves while the load lasts.
    assert facts.tracked.forwarded_frames == pytest.approx(wanted.frames / 10, abs=2)
    assert measure(device, trial(64)).tracked.lost_frames == 0


def test_the_rate_of_a_running_trial_is_that_of_its_load_not_of_the_phases_around_it() -> None:
    engine = SimulatedEngine(find_device("gs908e"))
    watched = trial(64, load=0.5, duration_ns=60 * 10**9)
    engine.start(watched, stream=1, seed=1)
    first = engine.wait(0)
    while (later := engine.wait(0.001)).offered_frames < first.offered_frames + 1_000_000:
        assert not later.finished
    engine.stop()
    rate_fps = (later.offered_frames - first.offered_frames) / (later.elapsed_s - first.elapsed_s)
    assert rate_fps == pytest.approx(watched.frames_per_second, rel=1e-6)
    engine.close()


def test_a_trial_can_be_watched_and_stopped() -> None:
    engine: Engine = SimulatedEngine(find_device("gs908e"))
    endless = trial(64, duration_ns=86_400 * 10**9)
    engine.start(endless, stream=1, seed=1)
    with pytest.raises(EngineError, match="a trial is running"):
        engine.start(endless, stream=2, seed=1)
    engine.stop()
    facts, seconds = engine.finish()
    assert facts.interrupted
    assert facts.sent.offered_frames == facts.tracked.forwarded_frames < endless.frames
    assert seconds == pytest.approx(9 + facts.sent.last_sent_ns / 1e9)
    progress = engine.wait(0)
    assert progress.finished and progress.offered_frames == facts.sent.offered_frames
    engine.start(trial(64), stream=2, seed=1)
    facts, seconds = engine.finish()
    assert not facts.interrupted
    assert (seconds, engine.wait(0).elapsed_s) == (9.01, 9.01)
    engine.close()
    engine.close()


def test_capabilities_are_the_testers_not_the_devices() -> None:
    capabilities = SimulatedEngine(find_device("gs908e")).capabilities
    assert capabilities.simulated
    assert (capabilities.min_frame_bytes, capabilities.max_frame_bytes) == (64, 16384)
    assert capabilities.link_bits_per_second == 1e9


def test_what_cannot_be_done_is_refused() -> None:
    device = find_device("gs908e")
    with pytest.raises(PlanError, match="ports: gs908e has no port 9; use 1 to 8"):
        SimulatedEngine(device, (1, 9))
    with pytest.raises(PlanError, match="ports: port 3 is given twice; use another port"):
        SimulatedEngine(device, (3, 3))
    engine = SimulatedEngine(device)
    with pytest.raises(EngineError, match="no trial was started"):
        engine.finish()
    for size in (63, 16385):
        with pytest.raises(PlanError, match=f"frame size: {size} byte cannot be sent; use 64 to 16384"):
            engine.start(trial(64).model_copy(update={"frame_bytes": size}), stream=1, seed=1)
    for rate in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(PlanError, match=r"rate: .* is no rate; use a positive number"):
            engine.start(trial(64).model_copy(update={"frames_per_second": rate}), stream=1, seed=1)
    with pytest.raises(PlanError, match="duration: 0 ns is too short"):
        engine.start(trial(64, duration_ns=0), stream=1, seed=1)
    with pytest.raises(PlanError, match="trial: a simulated trial lasts at most 100 days"):
        engine.start(trial(64, frames_per_second=1.0, duration_ns=10**16), stream=1, seed=1)
    with pytest.raises(PlanError, match="trial: streams and interval_ns must be above zero"):
        engine.start(trial(64, interval_ns=0), stream=1, seed=1)


def test_the_context_is_enough_to_compute_the_record_again() -> None:
    context = SimulatedEngine(find_device("lsw4-gt-8ep"), (1, 8)).context()
    described = context["model"]
    assert isinstance(described, dict)
    assert described["name"] == "lsw4-gt-8ep" and described["pair"][2]["to_ports"] == [5, 6, 7, 8]
    assert context["ports"] == [1, 8]
    assert context["traffic"] == {"routes": ["1 to 2"], "contents": [Content().model_dump(mode="json")], "beside": []}

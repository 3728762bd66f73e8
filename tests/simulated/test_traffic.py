"""Many streams, ports, pacings and sizes on simulated devices, against what arithmetic says must come out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from math import sqrt
from pathlib import Path
from statistics import mean, stdev

import pytest
from support.command_line import keisoku

from keisoku.errors import PlanError
from keisoku.ground.frame.headers import Ends, Headers
from keisoku.ground.frame.stack import parse as parse_stack
from keisoku.ground.simulated_device.device import SimulatedDevice, find_device, parse_device
from keisoku.subjects.device.engine.simulated import SimulatedEngine, routes_between
from keisoku.subjects.device.engine.traffic import LEAST_FRAME_BYTES, Traffic
from keisoku.subjects.device.plan.content import Content
from keisoku.subjects.device.plan.pattern import Pattern, pairs
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.plan_testbed import open_engine
from keisoku.subjects.device.record.facts import Facts, StreamFacts
from keisoku.subjects.device.record.trial import Bursts, Gaps, Phases, Poisson, Trial

PLAIN = "ports = 8\nforwarding = { ns_per_byte = 8.0, constant_ns = 811.0 }\n"
WIRE_64_NS = 672
LATENCY_64_NS = 8 * 64 + 811
LINE_64 = 1e9 / WIRE_64_NS
MIX = (64, 570, 64, 64, 570, 64, 1518, 64, 570, 64, 64, 570)


def output(share: float, buffer_bytes: int) -> str:
    return f"output = {{ buffer_bytes = {buffer_bytes}, service_bits_per_second = {share * 1e9} }}\n"


def trial(frames_per_second: float = LINE_64, duration_ns: int = 10_000_000, **changes: object) -> Trial:
    values = {"purpose": "test", "frame_bytes": 64, "frames_per_second": frames_per_second, "duration_ns": duration_ns}
    return Trial.model_validate(values | changes)


def carry(
    device: SimulatedDevice | str,
    routes: Iterable[tuple[int, int]],
    wanted: Trial,
    *contents: Content,
    seed: int = 1,
) -> Facts:
    """Facts of one trial, in which the counts of each stream and port must add up."""
    model = parse_device(device, "test") if isinstance(device, str) else device
    traffic = Traffic(routes_between(routes), contents or [Content()])
    ports = 1 + max(*traffic.transmitting, *traffic.receiving)
    engine = SimulatedEngine(model, range(1, ports + 1), traffic)
    engine.start(wanted, stream=40, seed=seed)
    facts, _ = engine.finish()
    assert [one.stream for one in facts.streams] == [40 + number for number in range(len(facts.streams))]
    assert [one.port for one in facts.transmitters] == traffic.transmitting
    assert [one.port for one in facts.receivers] == traffic.receiving
    for one in facts.streams:
        tracked = one.tracked
        assert one.offered_frames == tracked.forwarded_frames + tracked.lost_frames + tracked.corrupt.count
    for transmitter in facts.transmitters:
        sent = transmitter.sent
        assert sent.offered_frames == sum(s.offered_frames for s in facts.streams if s.transmit == transmitter.port)
        assert sum(sent.gaps.counts) == sent.offered_frames - 1
    progress = engine.wait(0)
    assert progress.finished and progress.offered_frames == facts.sent.offered_frames
    assert progress.forwarded_frames == facts.tracked.forwarded_frames
    return facts


def of(pattern: Pattern, ports: int) -> list[tuple[int, int]]:
    return pairs(pattern, ports)


def lost(stream: StreamFacts) -> list[int]:
    return [number for gap in stream.tracked.lost for number in range(gap.first, gap.last + 1)]


def latencies(stream: StreamFacts) -> tuple[float, float, float]:
    assert stream.tracked.latency is not None
    return stream.tracked.latency.min_ns, stream.tracked.latency.mean_ns, stream.tracked.latency.max_ns


def test_three_ports_into_one_lose_two_thirds_and_share_the_rest_fairly() -> None:
    places = 31
    facts = carry(PLAIN + f"output = {{ buffer_bytes = {places * 64} }}", of("many-to-one", 4), trial(LINE_64, 10**8))
    each = facts.streams[0].offered_frames
    assert [one.offered_frames for one in facts.streams] == [each] * 3 == [148_810] * 3
    assert 0 <= facts.tracked.forwarded_frames - each <= places
    for one in facts.streams:
        assert abs(one.tracked.forwarded_frames - each / 3) < 5 * sqrt(each * 2 / 9)
        assert latencies(one)[2] <= LATENCY_64_NS + (places - 1) * WIRE_64_NS


SLOW = output(0.5, 2000)
OFFSET = "clock_offset_ppm = { 1 = 40, 2 = 40 }\n"
RANDOM = (
    "loss = { ratio = 0.01 }\njitter = { distribution = 'normal', spread_ns = 200 }\n"
    "faults = { duplicate_ratio = 0.01, reorder_ratio = 0.01, corrupt_ratio = 0.01 }\n"
    "stall = { period_ns = 300_000, duration_ns = 9000 }\n"
)


@pytest.mark.parametrize("model", ["", SLOW, OFFSET, SLOW + OFFSET + RANDOM])
@pytest.mark.parametrize("drain_ns", [0, 2_000_000_000])
def test_what_a_port_receives_does_not_depend_on_what_it_sends(model: str, drain_ns: int) -> None:
    """One way alone is carried out by code of its own, so this compares the two as well."""
    wanted = trial(phases=Phases(drain_ns=drain_ns))
    both = carry(PLAIN + model, of("bidirectional", 2), wanted)
    alone = carry(PLAIN + model, of("pair", 2), wanted)
    assert both.streams[0] == alone.streams[0]
    assert both.transmitters[0] == alone.transmitters[0]
    if drain_ns:
        assert both.receivers[1] == alone.receivers[0]
    if RANDOM not in model:
        assert both.streams[1].tracked == alone.streams[0].tracked
    else:
        assert lost(both.streams[1]) != lost(both.streams[0])


@pytest.mark.parametrize(
    ("service", "passed"),
    [
        # The fifth place is free when the eleventh frame comes, 6720 ns after the first: just then that one has left.
        (0.1, [0, 1, 2, 3, 10]),
        # Nothing leaves during the burst: what the buffer holds is all that passes.
        (0.02, [0, 1, 2, 3]),
    ],
)
def test_a_burst_loses_exactly_what_overflows(service: float, passed: list[int]) -> None:
    facts = carry(
        PLAIN + output(service, 4 * 64),
        of("pair", 2),
        trial(2e4, 100_000_000),
        Content(pacing=Bursts(burst_frames=20)),
    )
    bursts = 100
    kept = {20 * burst + place for burst in range(bursts) for place in passed}
    assert lost(facts.streams[0]) == sorted(set(range(20 * bursts)) - kept)
    assert facts.sent.lag_max_ns == 19 * WIRE_64_NS  # as fast as the port sends
    assert sum(count for count in facts.sent.gaps.counts) == 20 * bursts - 1
    assert latencies(facts.streams[0])[0] == LATENCY_64_NS


def test_gaps_are_those_of_a_burst_and_of_a_list() -> None:
    bursts = carry(PLAIN, of("pair", 2), trial(1e5), Content(pacing=Bursts(burst_frames=10, gap_ns=2000)))
    assert (bursts.sent.gaps.counts, bursts.sent.lag_max_ns) == ([900, 99], 0)
    assert bursts.sent.gaps.lower_ns[0] <= 2000 < bursts.sent.gaps.upper_ns[0]
    assert bursts.sent.gaps.lower_ns[1] <= 100_000 - 9 * 2000 < bursts.sent.gaps.upper_ns[1]
    listed = carry(PLAIN, of("pair", 2), trial(1e5), Content(pacing=Gaps(gaps_ns=(1000, 19_000))))
    assert listed.sent.gaps.counts == [500, 499]
    # At 1 ms each, one frame in ten of those that the rate asks for is due within the trial and its slack.
    late = carry(PLAIN, of("pair", 2), trial(1e5, 100_000_000), Content(pacing=Gaps(gaps_ns=(1_000_000,))))
    assert late.sent.offered_frames == 111


def waiting_ns(load: float, service_ns: float) -> float:
    """Mean waiting time of M/D/1 (Pollaczek and Khinchine)."""
    return load / (2 * (1 - load)) * service_ns


def test_random_arrivals_wait_as_long_as_queueing_theory_says() -> None:
    load, slowness = 0.8, 10
    wanted = trial(load * LINE_64 / slowness, 1_000_000_000)
    device = PLAIN + output(1 / slowness, 10_000_000)
    waits = []
    for seed in range(12):
        facts = carry(device, of("pair", 2), wanted, Content(pacing=Poisson()), seed=seed)
        assert facts.sent.offered_frames == wanted.frames and facts.tracked.lost_frames == 0
        waits.append(latencies(facts.streams[0])[1] - LATENCY_64_NS)
    # The tester's line is the first of two queues of constant service: together frames wait as long as in the
    # slower one alone (Friedman 1965), and what they wait in the tester is no latency.
    truth = waiting_ns(load, slowness * WIRE_64_NS) - waiting_ns(load / slowness, WIRE_64_NS)
    error = stdev(waits) / sqrt(len(waits))
    assert error < 0.02 * truth
    assert abs(mean(waits) - truth) < 3 * error


def wire_bits(sizes: Iterable[int]) -> int:
    return sum((size + 20) * 8 for size in sizes)


def test_a_mix_keeps_the_byte_rate_of_the_output_and_its_order() -> None:
    buffer_bytes = 20_000
    rate = 1e9 / (wire_bits(MIX) / len(MIX))
    model = find_device("gs908e").model_copy(update={"ports": 2})
    free = carry(model, of("pair", 2), trial(rate, 100_000_000), Content(frame_bytes=MIX))
    # 9.51 ns a byte: a small frame would be ready before a large one that came first.
    assert free.tracked.lost_frames == free.streams[0].tracked.reordered.count == 0
    assert free.sent.offered_frames == trial(rate, 100_000_000).frames
    facts = carry(PLAIN + output(0.5, buffer_bytes), of("pair", 2), trial(rate, 100_000_000), Content(frame_bytes=MIX))
    gone = set(lost(facts.streams[0]))
    passed = [MIX[number % len(MIX)] for number in range(facts.sent.offered_frames) if number not in gone]
    surplus_bits = wire_bits(passed) - 0.5e9 * 0.1
    assert 0 <= surplus_bits <= wire_bits([64] * (buffer_bytes // 64))
    share = [sum(size == one for size in passed) / MIX.count(one) for one in (64, 570, 1518)]
    assert share[0] > share[1] > share[2]  # a small frame fits where a large one does not


def test_frames_of_any_sizes_share_a_buffer_of_bytes() -> None:
    """A burst of 6 frames into 700 byte that none leaves: the third frame does not fit, the fourth does."""
    content = Content(frame_bytes=(500, 64, 200, 64, 64, 64), pacing=Bursts(burst_frames=6))
    facts = carry(PLAIN + output(0.01, 700), of("pair", 2), trial(600, 100_000_000), content)
    assert facts.sent.offered_frames == 60
    assert lost(facts.streams[0]) == [6 * burst + place for burst in range(10) for place in (2, 5)]


def test_a_full_mesh_at_the_line_rate_is_lossless_and_meets_no_queue() -> None:
    """RFC 2889 §5.1: port n begins with port n + 1, so that at no time two ports send to the same one."""
    facts = carry(find_device("gs908e"), of("mesh", 4), trial())
    published = find_device("gs908e").published
    assert published is not None
    line = published.slope_ns_per_byte * 64 + published.constant_ns
    assert len(facts.streams) == 12 and facts.sent.offered_frames == 4 * 14_880
    for one in facts.streams:
        assert one.tracked.lost_frames == 0
        assert latencies(one) == pytest.approx((line, line, line), abs=0.002)
    # All begin with the lowest port: three frames meet at each output, and the last waits for two.
    together = carry(find_device("gs908e"), sorted(of("mesh", 4)), trial())
    assert max(latencies(one)[2] for one in together.streams) > line + WIRE_64_NS
    assert together.tracked.lost_frames == 0


def test_streams_of_a_port_leave_evenly() -> None:
    facts = carry(PLAIN, of("pair", 2), trial(LINE_64 / 2), Content(streams=4))
    assert [one.offered_frames for one in facts.streams] == [1860] * 4
    assert (facts.sent.gaps.counts, facts.sent.lag_max_ns) == ([4 * 1860 - 1], 0)


def test_a_port_sends_no_more_than_its_line_carries() -> None:
    facts = carry(PLAIN, of("one-to-many", 3), trial(1.5 * LINE_64, 100_000_000))
    assert facts.sent.offered_frames == 148_810
    assert facts.sent.last_sent_ns == 148_809 * WIRE_64_NS
    assert facts.sent.lag_max_ns > 200_000 and facts.sent.postponed_ns > 10_000_000
    assert facts.tracked.lost_frames == 0


def test_a_pair_of_ports_is_different_among_others() -> None:
    facts = carry(find_device("lsw4-gt-8ep"), [(0, 1), (0, 7)], trial(1e5, frame_bytes=512))
    near, far = (latencies(one)[1] for one in facts.streams)
    assert near == pytest.approx(7.98324 * 512 + 1796.28)
    assert far == pytest.approx(7.98417 * 512 + 2067.42)
    device = PLAIN + "[[pair]]\nfrom_ports = [1]\nto_ports = [3]\nmax_frame_bytes = 100\nloss = { ratio = 1.0 }\n"
    facts = carry(device, [(0, 1), (0, 2)], trial(1e5))
    assert [one.tracked.lost_frames for one in facts.streams] == [0, 500]
    assert [one.last_received_ns is None for one in facts.receivers] == [False, True]


def test_a_record_of_many_streams_is_a_function_of_plan_and_seed() -> None:
    contents = [Content(pacing=Poisson(), weight=2), Content(frame_bytes=MIX), Content(pacing=Bursts(burst_frames=16))]
    once = carry(PLAIN + SLOW + RANDOM, of("mesh", 3), trial(LINE_64 / 2), *contents, seed=5)
    assert once == carry(PLAIN + SLOW + RANDOM, of("mesh", 3), trial(LINE_64 / 2), *contents, seed=5)
    assert once != carry(PLAIN + SLOW + RANDOM, of("mesh", 3), trial(LINE_64 / 2), *contents, seed=6)
    losses = [lost(one) for one in carry(PLAIN + RANDOM, of("mesh", 3), trial(), *[Content()] * 2).streams]
    assert len({tuple(numbers) for numbers in losses}) == len(losses)


def test_a_trial_of_many_streams_can_be_stopped() -> None:
    traffic = Traffic(routes_between(of("mesh", 4)), [Content()])
    engine = SimulatedEngine(find_device("gs908e"), (1, 2, 3, 4), traffic)
    engine.start(trial(duration_ns=86_400 * 10**9), stream=1, seed=1)
    engine.stop()
    facts, _ = engine.finish()
    assert facts.interrupted and facts.sent.offered_frames == facts.tracked.forwarded_frames
    assert engine.wait(0).offered_frames == facts.sent.offered_frames


def test_a_plan_names_ports_pattern_and_streams() -> None:
    plan = parse(
        {
            "methods": ["throughput"],
            "dut": "sim:gs908e",
            "ports": ["3", "4", "5"],
            "pattern": "many-to-one",
            "frame_bytes": [128],
            "stream": [{"headers": "ipv6", "frame_bytes": 100}, {"weight": 3.0, "pacing": "poisson"}],
        }
    )
    with open_engine(plan) as engine:
        assert engine.capabilities.min_frame_bytes == 84
        engine.start(trial(1e5, frame_bytes=128), stream=1, seed=1)
        facts, _ = engine.finish()
        assert engine.context()["ports"] == [3, 4, 5]
    assert [(one.transmit, one.receive, one.offered_frames) for one in facts.streams] == [
        (0, 2, 250),
        (0, 2, 750),
        (1, 2, 250),
        (1, 2, 750),
    ]


def test_what_no_tester_could_send_is_refused() -> None:
    routes = routes_between([(0, 1)])
    wrong = SimulatedEngine(find_device("gs908e"), (1, 2), Traffic(routes, [Content(modify=("UDP.speed=list(1,2)",))]))
    with pytest.raises(PlanError, match="speed"):
        wrong.start(trial(), stream=1, seed=1)
    small = SimulatedEngine(find_device("gs908e"), (1, 2), Traffic(routes, [Content(headers="ipv6")]))
    with pytest.raises(PlanError, match="frame size: 83 byte cannot be sent; use 84 to 16384"):
        small.start(trial(frame_bytes=83), stream=1, seed=1)
    with pytest.raises(PlanError, match="trial: streams: the tester has 2 ports, no index 2"):
        SimulatedEngine(find_device("gs908e"), (1, 2), Traffic(routes_between([(0, 2)]), [Content()])).start(
            trial(), stream=1, seed=1
        )
    with pytest.raises(PlanError, match="trial: streams: 1 do not fit behind number 65535"):
        SimulatedEngine(find_device("gs908e")).start(trial(), stream=65_535, seed=1)


@pytest.mark.parametrize("name", LEAST_FRAME_BYTES)
def test_the_smallest_frames_of_short_names_are_what_scapy_builds(name: str) -> None:
    headers = Headers(parse_stack(name), Ends("02:00:00:00:00:01", "02:00:00:00:00:02"))
    assert headers.least_frame_bytes == LEAST_FRAME_BYTES[name]


def test_a_simulated_run_of_a_short_name_does_not_wait_for_scapy() -> None:
    program = (
        "import sys\nfrom keisoku.subjects.device.plan_testbed import open_engine\n"
        "from keisoku.subjects.device.plan.plan import parse\n"
        "from keisoku.subjects.device.record.trial import Trial\n"
        "plan = parse({'methods': ['throughput'], 'dut': 'sim:gs908e', 'headers': 'ipv6', 'frame_bytes': [84]})\n"
        "trial = Trial(purpose='test', frame_bytes=84, frames_per_second=1e3, duration_ns=10**7)\n"
        "with open_engine(plan) as engine:\n    engine.start(trial, 1, 1)\n    engine.finish()\n"
        "sys.exit('scapy' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


@pytest.mark.parametrize(
    "options",
    [
        "--modify Ether.dst=increment(02:00:00:00:00:01,count=60001)",
        "--modify UDP.sport=list(1,2) --modify UDP.dport=list(1,2) --streams 3",
        "--frames",
    ],
)
def test_frames_that_cannot_be_made_or_kept_leave_no_run_behind(tmp_path: Path, options: str) -> None:
    """The run directory was there, and empty, as the first trial refused its frames."""
    line = f"throughput --dut sim:gs908e --size 64,1518 --duration 10ms {options}"
    keisoku(*line.split(), cwd=tmp_path).refused("leave it out" if options == "--frames" else "modif")
    assert list(tmp_path.iterdir()) == []

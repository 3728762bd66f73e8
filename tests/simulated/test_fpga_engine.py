"""The engine for the instrument, on a test double whose frames' fates are known: facts, refusals, phases, methods."""

from __future__ import annotations

from fractions import Fraction
from ipaddress import ip_address
from itertools import pairwise
from math import exp
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.fpga_tester import FakeTester, Fates

from keisoku.errors import EngineError, PlanError
from keisoku.ground.fpga.events import Event
from keisoku.ground.fpga.neighbour import Party, ask
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.result import Result
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.engine.fpga.engine import FpgaEngine
from keisoku.subjects.device.engine.fpga.load import loads
from keisoku.subjects.device.engine.simulated import routes_between
from keisoku.subjects.device.engine.traffic import Traffic, local_mac
from keisoku.subjects.device.plan.ability import check_ability
from keisoku.subjects.device.plan.content import Content
from keisoku.subjects.device.plan.plan import Plan, parse
from keisoku.subjects.device.record.arrival import CORRUPT, DUPLICATE, ENTRY, REORDERED
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import Bursts, Flow, Gaps, Phases, Poisson, Trial
from keisoku.subjects.device.record.trial_log import TrialLog
from keisoku.subjects.device.record.validity import reasons
from keisoku.subjects.device.runner import Unobserved, results_of, run
from keisoku.subjects.device.testbed.fpga_hosts import FpgaHosts
from keisoku.subjects.device.testbed.requirements import WantedTraffic

LINE_64 = 1e9 / (8 * 84)


def engine_on(
    tester: FakeTester, content: Content | None = None, pairs: tuple[tuple[int, int], ...] = ((0, 1),)
) -> FpgaEngine:
    traffic = Traffic(routes_between(pairs), [content or Content()])
    return FpgaEngine(tester, [0, 1], traffic, {"device": "test"}, dut_simulated=True)


def trial_of(frames_per_second: float = LINE_64, duration_ns: int = 2_000_000, **more: object) -> Trial:
    phases = Phases(learning=True, learning_wait_ns=1000, drain_ns=200_000, rest_ns=1000)
    values: dict[str, object] = {
        "purpose": "test",
        "frame_bytes": 64,
        "frames_per_second": frames_per_second,
        "duration_ns": duration_ns,
        "phases": phases,
        "interval_ns": 100_000,
    }
    return Trial.model_validate(values | more)


def facts_of(engine: FpgaEngine, trial: Trial, stream: int = 7) -> Facts:
    engine.start(trial, stream=stream, seed=1)
    while not engine.wait(10).finished:
        pass
    facts, seconds = engine.finish()
    assert seconds >= trial.phases.drain_ns / 1e9
    own = facts.streams[0].tracked
    assert facts.streams[0].offered_frames == own.forwarded_frames + own.lost_frames + own.corrupt.count
    whole = own.forwarded_frames + own.duplicated.count + own.corrupt_arrivals + own.foreign_frames
    assert own.received_frames == whole
    return facts


def test_every_frame_of_a_clean_way_is_forwarded_and_its_latency_known() -> None:
    trial = trial_of()
    facts = facts_of(engine_on(FakeTester()), trial)
    own = facts.streams[0].tracked
    assert facts.sent.offered_frames == own.forwarded_frames == trial.frames == 2976
    assert reasons(trial, facts) == []
    assert own.latency is not None and own.latency.mean_ns == 8 * 64 + 811
    assert own.latency.deviation_ns == 0
    assert own.latency.histogram.lower_ns[0] <= 1323 < own.latency.histogram.upper_ns[0]
    assert sum(own.latency.histogram.counts) == trial.frames
    assert facts.sent.first_sent_ns == 0
    assert facts.sent.last_sent_ns == (trial.frames - 1) * 672
    assert facts.receivers[0].last_received_ns == (trial.frames - 1) * 672 + 1323


def test_lost_duplicated_reordered_and_corrupt_frames_are_named() -> None:
    fates = Fates(
        lost=frozenset({5, 6, 7, 100}), corrupt=frozenset({50}), twice=frozenset({60}), later_ns={70: 672 * 3}
    )
    facts = facts_of(engine_on(FakeTester(fates)), trial_of())
    own = facts.streams[0].tracked
    assert [(gap.first, gap.last) for gap in own.lost] == [(5, 5), (6, 6), (7, 7), (100, 100)]
    assert (own.lost[0].after_ns, own.lost[0].before_ns) == (4 * 672, 6 * 672)
    assert own.lost_kept_as == "list" and own.lost_frames == 4
    assert own.corrupt.ranges == [(50, 50)] and own.corrupt_arrivals == 1
    assert own.duplicated.ranges == [(60, 60)]
    assert own.reordered.ranges == [(70, 70)] and own.reordering is None


def test_a_frame_later_than_the_window_is_lost_no_more() -> None:
    fates = Fates(later_ns={10: 5000 * 672}, lost=frozenset({11}))
    trial = trial_of(duration_ns=5_000_000)
    facts = facts_of(engine_on(FakeTester(fates)), trial)
    own = facts.streams[0].tracked
    assert [(gap.first, gap.last) for gap in own.lost] == [(11, 11)]
    assert own.forwarded_frames == trial.frames - 1
    assert own.reordered.ranges == [(10, 10)]


def test_the_series_has_an_interval_for_each_change_of_banks() -> None:
    own = facts_of(engine_on(FakeTester()), trial_of()).streams[0].tracked
    assert len(own.series) > 5
    assert sum(interval.forwarded_frames for interval in own.series) == own.forwarded_frames
    starts = [interval.start_ns for interval in own.series]
    assert starts == sorted(set(starts)) and all(start % 100_000 == 0 for start in starts)


def test_both_ports_send_at_once() -> None:
    tester = FakeTester()
    facts = facts_of(engine_on(tester, pairs=((0, 1), (1, 0))), trial_of())
    assert [one.port for one in facts.transmitters] == [0, 1]
    assert all(stream.tracked.forwarded_frames == 2976 for stream in facts.streams)
    assert facts.transmitters[0].sent.first_sent_ns == facts.transmitters[1].sent.first_sent_ns == 0
    assert {expectation.stream for expectation in tester.expected.values()} == {7, 8}


def test_learning_frames_leave_from_both_ends() -> None:
    tester = FakeTester()
    facts_of(engine_on(tester), trial_of())
    assert [port for port, _ in tester.sent] == [1] * 10 + [0] * 10


def test_a_load_ends_early_when_more_is_lost_than_allowed() -> None:
    fates = Fates(lost=frozenset(range(100, 200)))
    trial = trial_of(duration_ns=50_000_000, stop_after_lost=10)
    facts = facts_of(engine_on(FakeTester(fates)), trial)
    assert facts.stopped_for_loss and facts.sent.offered_frames < trial.frames / 2


def test_stop_interrupts() -> None:
    engine = engine_on(FakeTester())
    engine.start(trial_of(duration_ns=10**12, frames_per_second=10.0), stream=1, seed=1)
    engine.stop()
    try:
        facts, _ = engine.finish()
    except EngineError as error:
        assert "before its load" in str(error)
    else:
        assert facts.interrupted


def test_the_tagged_frame_has_its_latency() -> None:
    facts = facts_of(engine_on(FakeTester()), trial_of(tag=1000))
    assert facts.streams[0].tracked.tagged_latency_ns == 1323


def test_bursts_and_gaps_leave_as_they_are_wanted() -> None:
    tester = FakeTester()
    facts = facts_of(engine_on(tester, Content(pacing=Bursts(burst_frames=4))), trial_of(100_000.0))
    assert facts.sent.last_sent_ns == 49 * 40_000 + 3 * 672
    gaps = Gaps(gaps_ns=(1000, 3000))
    facts = facts_of(engine_on(tester, Content(pacing=gaps)), trial_of(500_000.0))
    assert facts.sent.last_sent_ns == 499 * 4000 + 1000


@pytest.mark.parametrize(
    ("byte_times", "interval"), [(84, 84), (840, 840 + Fraction(1, 41)), (841, 841), (120.5, Fraction(241, 2))]
)
def test_intervals_that_meet_the_time_base_in_few_phases_slip(byte_times: float, interval: Fraction) -> None:
    """At a tenth of the line rate all frames once met it in one phase, and the mean could be off by 8 ns."""
    traffic = Traffic(routes_between(((0, 1),)), [Content()])
    (load,) = loads(traffic, trial_of(1e9 / (8 * byte_times)), 1e9)
    assert load.interval_bytes == pytest.approx(interval, rel=1e-12)


def test_sizes_in_turn_are_one_stream() -> None:
    facts = facts_of(engine_on(FakeTester(), Content(frame_bytes=(64, 64, 1518))), trial_of(50_000.0))
    own = facts.streams[0].tracked
    assert own.latency is not None and own.latency.max_ns == 8 * 1518 + 811
    assert own.forwarded_frames == 100


def test_short_gaps_are_sent_and_shorter_ones_refused() -> None:
    engine = engine_on(FakeTester())
    trial = trial_of(1e9 / (8 * 64 + 64 + 88))
    assert facts_of(engine, trial).sent.offered_frames == trial.frames
    with pytest.raises(PlanError, match="leave a gap below 8 byte times"):
        engine.start(trial_of(2e6), stream=1, seed=1)


def test_errored_frames_can_be_sent() -> None:
    tester = FakeTester()
    for defect, size in (("crc", 64), ("undersize", 63), ("dribble", 64), ("alignment", 64)):
        flow = Flow.model_validate({"transmit": 0, "receive": 1, "defect": defect})
        facts = facts_of(engine_on(tester), trial_of(1e5, frame_bytes=size, flows=(flow,)))
        assert facts.sent.offered_frames == 200
        assert tester.expected[1].sizes == (size, size)


@pytest.mark.parametrize(
    ("content", "more", "message"),
    [
        (Content(pacing=Poisson(), frame_bytes=(64,) * 5), {}, "gaps repeat after 1020 frames"),
        (Content(streams=3), {}, "one stream at a time"),
        (Content(modify=("UDP.sport=increment(1024, count=64)",)), {}, "32 different headers"),
        (Content(), {"frame_bytes": 20_000}, "cannot be sent"),
        (Content(), {"reset_after_ns": 5}, "cannot reset"),
    ],
)
def test_what_the_hardware_cannot_do_is_refused(content: Content, more: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        engine_on(FakeTester(), content).start(trial_of(1e5, **more), stream=1, seed=1)


def test_gaps_of_a_poisson_process_come_around() -> None:
    engine = engine_on(FakeTester(), Content(pacing=Poisson()))
    assert engine.context()["poisson_gaps"] == "repeat after 1024 frames"
    traffic = Traffic(routes_between(((0, 1),)), [Content(pacing=Poisson())], seed=5)
    (load,) = loads(traffic, trial_of(500_000.0), 1e9)
    due = [load.due_ns(number) for number in range(2049)]
    assert due[1024] == pytest.approx(1024 * 2000, abs=800)  # the mean rate, to a byte time a hundred
    assert due[2048] == 2 * due[1024]
    gaps = [late - early for early, late in pairwise(due[:1025])]
    # Exponential, but that frames of 84 byte times cannot overlap.
    assert min(gaps) == 672
    assert sum(gap > 2000 for gap in gaps) / 1024 == pytest.approx(exp(-1), abs=0.05)
    assert sum(gap > 6000 for gap in gaps) / 1024 == pytest.approx(exp(-3), abs=0.02)
    (other,) = loads(Traffic(routes_between(((0, 1),)), [Content(pacing=Poisson())], seed=6), trial_of(5e5), 1e9)
    assert [other.due_ns(number) for number in range(100)] != due[:100]
    facts = facts_of(engine, trial_of(500_000.0))
    assert facts.sent.offered_frames == facts.streams[0].tracked.forwarded_frames > 0
    with pytest.raises(PlanError, match="no time for the frames"):
        engine.start(trial_of(LINE_64 * 1.2), stream=1, seed=1)


class Rows:
    """A sink of rows."""

    def __init__(self) -> None:
        self.entries = np.zeros(0, ENTRY)

    def append(self, entries: bytes) -> None:
        self.entries = np.concatenate([self.entries, np.frombuffer(entries, ENTRY)])


def framed(tester: FakeTester, trial: Trial, every: int = 1) -> tuple[np.ndarray, Facts]:
    traffic = Traffic(routes_between(((0, 1),)), [Content()])
    engine = FpgaEngine(tester, [0, 1], traffic, {}, dut_simulated=True, frames_every=every)
    sink = Rows()
    engine.start(trial, stream=7, seed=1, frames=sink)
    while not engine.wait(10).finished:
        pass
    return sink.entries, engine.finish()[0]


def test_each_frame_has_a_row() -> None:
    fates = Fates(lost=frozenset({5}), corrupt=frozenset({9}), twice=frozenset({20}), later_ns={30: 25_000})
    rows, facts = framed(FakeTester(fates), trial_of(1e5, duration_ns=1_000_000))
    own = facts.streams[0].tracked
    assert len(rows) == own.received_frames == 100
    assert {int(one) for one in rows["stream"]} == {7} and {int(one) for one in rows["port"]} == {1}
    assert 5 not in rows["sequence"]
    assert rows[rows["sequence"] == 9]["flags"].tolist() == [CORRUPT]
    assert rows[rows["sequence"] == 20]["flags"].tolist() == [0, DUPLICATE]
    assert rows[rows["sequence"] == 30]["flags"].tolist() == [REORDERED]
    whole = rows[rows["flags"] & (CORRUPT | DUPLICATE) == 0]
    latencies = whole["receive_ns"] - whole["transmit_ns"]
    assert set(latencies[whole["sequence"] != 30]) == {8 * 64 + 811}
    due = whole["sequence"].astype(np.int64) * 10_000
    assert abs(whole["transmit_ns"] - due).max() <= 8 * 100 * 2 / 41 + 16  # what a slipping interval adds


def test_one_row_in_so_many_and_never_fewer_than_said() -> None:
    rows, _ = framed(FakeTester(), trial_of(1e5, duration_ns=1_000_000), every=7)
    assert rows["sequence"].tolist() == list(range(0, 100, 7))
    tester = FakeTester()
    tester.room = 50
    with pytest.raises(PlanError, match=r"whose memory and link carry 50.*--frames-every 2"):
        framed(tester, trial_of(1e5, duration_ns=1_000_000))
    assert len(framed(tester, trial_of(1e5, duration_ns=1_000_000), every=2)[0]) == 50
    with pytest.raises(PlanError, match="one frame in 2 leaves out the tagged one"):
        framed(tester, trial_of(1e5, duration_ns=1_000_000, tag=500_000 // 10_000 + 1), every=2)


def test_rows_that_found_no_room_are_an_error() -> None:
    class Forgetful(FakeTester):
        def events(self) -> list[tuple[int, Event]]:
            return super().events()[1:]

    with pytest.raises(EngineError, match="no room to report"):
        framed(Forgetful(), trial_of(1e5, duration_ns=1_000_000))


def test_delay_variation_is_that_of_consecutive_frames() -> None:
    fates = Fates(lost=frozenset({50}), later_ns={10: 100, 11: 100, 20: 37})
    facts = facts_of(engine_on(FakeTester(fates)), trial_of(1e5, duration_ns=1_000_000, variation=True))
    found = facts.streams[0].tracked.variation
    assert found is not None
    assert (found.count, found.min_ns, found.max_ns) == (97, -100, 100)
    assert found.mean_ns == 0
    of = dict(zip(found.histogram.lower_ns, found.histogram.counts, strict=True))
    assert of == {-104: 1, -40: 1, -8: 93, 32: 1, 96: 1}
    tester = FakeTester()
    tester.room = 50
    with pytest.raises(PlanError, match="delay variation needs 100 events"):
        engine_on(tester).start(trial_of(1e5, duration_ns=1_000_000, variation=True), stream=1, seed=1)


def test_a_port_without_a_link_is_an_error() -> None:
    with pytest.raises(EngineError, match="port 1 of test double has no link"):
        engine_on(FakeTester(link=(10**9, None)))


def _result(plan: Plan, engine: FpgaEngine, path: Path) -> Result:
    check_ability(plan, engine.capabilities)
    directory = RunDirectory.create(path, "device", plan.plain(), {})
    run(plan, engine, Bias(), directory, Unobserved())
    return results_of(plan, engine.capabilities, Bias(), TrialLog(directory).records())[0]


def test_a_sweep_finds_the_line_of_the_way(tmp_path: Path) -> None:
    plan = parse(
        {
            "methods": ["sweep"],
            "tx": "fpga:sim#0",
            "rx": "fpga:sim#1",
            "frame_bytes": (64, 512, 1518),
            "sweep": {"trial_s": 0.002, "sample_s": 0.0005},
            "phases": {"learning_wait_s": 0, "drain_s": 0.0001, "rest_s": 0},
        }
    )
    result = _result(plan, engine_on(FakeTester()), tmp_path / "run")
    assert result.line is not None
    assert result.line.slope.value == pytest.approx(8.0)
    assert result.line.constant.value == pytest.approx(811.0)


def test_forward_pressure_runs_where_a_nic_is_refused(tmp_path: Path) -> None:
    plan = parse(
        {
            "methods": ["forward_pressure"],
            "tx": "fpga:sim#0",
            "rx": "fpga:sim#1",
            "frame_bytes": (64,),
            "forward_pressure": {"trial_s": 0.002},
            "phases": {"learning_wait_s": 0, "drain_s": 0.0001, "rest_s": 0},
        }
    )
    row = _result(plan, engine_on(FakeTester()), tmp_path / "run").rows[0]
    assert "Forward Pressure detected" in row.remark  # a way without any device passes on what it is given
    assert row.figures["line_share"].value == pytest.approx(100 * 84 / 83, abs=0.1)


def test_hosts_at_the_ports_answer_and_find_the_router() -> None:
    tester = FakeTester()
    router, own = Party("02:aa:00:00:00:01", ip_address("198.18.1.1")), "198.18.1.2"
    tester.inbox.append((0, bytes.fromhex(f"{local_mac(0)}{router.mac}".replace(":", "")) + _told(router)))
    hosts = FpgaHosts(tester, [0, 1], (own, "198.19.1.2"), ("198.18.1.1",))
    (route,) = hosts.routes(WantedTraffic(((0, 1),), (Content(),)))
    assert route.forward.next_hop_mac == router.mac
    assert route.forward.ips["ipv4"] == (own, "198.19.1.2")
    tester.sent.clear()
    tester.inbox.append((1, ask(router, ip_address("198.19.1.2"))))
    hosts.answer()
    assert [port for port, _ in tester.sent] == [1]
    with pytest.raises(PlanError, match="no IP address"):
        FpgaHosts(tester, [0, 1], ("x", "y"), ())


def _told(router: Party) -> bytes:
    """An ARP answer without its Ethernet addresses."""
    parties = bytes.fromhex(router.mac.replace(":", "")) + router.ip.packed + bytes(6) + ip_address("198.18.1.2").packed
    return bytes.fromhex("08060001080006040002") + parties


def test_more_gaps_than_a_list_holds_become_bitmaps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keisoku.subjects.device.engine.fpga.facts.MOST_GAPS", 3)
    numbers = frozenset({5, 6, 9, 100, 2000})
    own = facts_of(engine_on(FakeTester(Fates(lost=numbers))), trial_of()).streams[0].tracked
    assert own.lost_kept_as == "bitmap"
    assert {number for gap in own.lost for number in gap.numbers()} == numbers
    assert own.lost_frames == sum(gap.count for gap in own.lost) == 5

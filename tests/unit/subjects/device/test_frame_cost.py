"""The cost of a frame from records with known batch times: figures, what is left out, pairs, and what is refused."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Mapping
from typing import Any

import pytest
from support.cost_template import cost_template
from support.trials import record_of

from keisoku.errors import PlanError
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.plan.ability import check_ability
from keisoku.subjects.device.plan.plan import Plan, parse
from keisoku.subjects.device.plan_testbed import open_engine
from keisoku.subjects.device.procedure.own.cost import PROCEDURE, CostSettings, cost
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

DEVICE_NS, TESTER_NS = 950.0, 300.0
PACE_NS = 2240
LAB = {"methods": ["cost"], "dut": "lab:bridge"}


@pytest.fixture(scope="module")
def template() -> tuple[Facts, Capabilities]:
    return cost_template()


Times = Callable[[Trial, int], float]
"""ns of each frame in a run, by the trial and its number; NaN: no batch at all."""


def steady(trial: Trial, number: int) -> float:
    chance = random.Random(number)
    return (TESTER_NS + (0 if trial.on_cable else DEVICE_NS)) * (1 + chance.gauss(0, 0.002))


def with_batches(facts: Facts, trial: Trial, frame_ns: float, **more: Any) -> Facts:
    assert trial.batch_frames
    batch_ns = round(frame_ns * trial.batch_frames)
    batches = [(PACE_NS, ns, count) for ns, count in ((batch_ns - 5, 300), (batch_ns, 700), (batch_ns + 5, 300))]
    batches.append((0, 2 * batch_ns, 100))
    sender = facts.transmitters[0]
    sent = sender.sent.model_copy(update={"batches": batches})
    return facts.model_copy(update={"transmitters": [sender.model_copy(update={"sent": sent})], **more})


def found(
    template: tuple[Facts, Capabilities],
    times: Times = steady,
    of: Plan | None = None,
    counts: Callable[[Trial, int], dict[str, int]] = lambda trial, number: {},
    idle: Mapping[str, Any] = {},
    **more: Any,
) -> tuple[Result, list[TrialRecord]]:
    facts, capabilities = template
    method: Generator[Trial, TrialRecord, Result] = cost(MethodInput(of or parse(LAB), capabilities, Bias(exact=True)))
    records: list[TrialRecord] = []
    trial = next(method)
    while True:
        counted = {"cpu_counters": counts(trial, len(records))}
        beside = counted | (dict(idle) if trial.on_cable else more)
        own = with_batches(facts, trial, times(trial, len(records)), **beside)
        records.append(record_of(trial, own, index=len(records), method="cost"))
        try:
            trial = method.send(records[-1])
        except StopIteration as stop:
            return stop.value, records


def test_the_tester_s_part_is_taken_out(template: tuple[Facts, Capabilities]) -> None:
    result, records = found(template)
    (row,) = result.rows
    own = row.figures["cost"]
    assert own.value == pytest.approx(DEVICE_NS, rel=0.005)
    assert own.bounds is not None and own.bounds[0] <= DEVICE_NS <= own.bounds[1]
    assert row.figures["tester"].value == pytest.approx(TESTER_NS, rel=0.005)
    assert row.figures["core"].value == pytest.approx(1e9 / DEVICE_NS, rel=0.005)
    assert [record.trial.on_cable for record in records].count(True) == len(records) / 2 == 10
    orders = {tuple(record.trial.on_cable for record in records[place : place + 2]) for place in range(0, 20, 2)}
    assert orders == {(True, False), (False, True)}, "neither is always first"


def test_slow_runs_are_repeated_and_said(template: tuple[Facts, Capabilities]) -> None:
    def third_slow(trial: Trial, number: int) -> float:
        return steady(trial, number) * (1.35 if number % 3 == 2 else 1)

    result, records = found(template, third_slow)
    (row,) = result.rows
    assert row.figures["cost"].value == pytest.approx(DEVICE_NS, rel=0.01)
    assert len(records) > 20 and "were slow as a whole and are left out" in row.remark


def test_threads_that_work_for_the_device_count(template: tuple[Facts, Capabilities]) -> None:
    forwarded = template[0].streams[0].tracked.forwarded_frames
    result, _ = found(template, threads_ns={"ovs-vswitchd": 400 * forwarded})
    (row,) = result.rows
    assert row.figures["elsewhere"].value == pytest.approx(400)
    assert row.figures["cost"].value == pytest.approx(DEVICE_NS + 400, rel=0.005)
    few, _ = found(template, packet_threads_ns={"ksoftirqd/1": forwarded})
    assert "elsewhere" not in few.rows[0].figures, "less than a hundredth comes from elsewhere"


def test_a_few_ns_in_the_sender_s_core_are_nothing_beside_a_thread_s_time(
    template: tuple[Facts, Capabilities],
) -> None:
    """Of a virtual machine of 20 µs a frame, 22 of 24 runs were left out because 100 ns of them scattered."""

    def scattered(trial: Trial, number: int) -> float:
        return 300.0 if trial.on_cable else 330.0 + 40 * (number % 5)

    forwarded = template[0].streams[0].tracked.forwarded_frames
    result, records = found(template, scattered, threads_ns={"CPU 0/TCG": 20_000 * forwarded})
    (row,) = result.rows
    assert len(records) == 20 and not row.remark and row.figures["cost"].bounds is not None
    result, records = found(template, scattered)
    assert len(records) > 20, "without a thread they are the device's whole time"


def test_a_process_with_a_queue_of_frames_is_waited_for(template: tuple[Facts, Capabilities]) -> None:
    _, alone = found(template)
    _, beside = found(template, of=parse({**LAB, "cost": {"process": ["qemu-system-x86_64"]}}))
    assert alone[0].trial.phases.drain_ns < 0.1e9 < beside[0].trial.phases.drain_ns


def test_what_others_do_in_the_kernel_is_not_the_device_s(template: tuple[Facts, Capabilities]) -> None:
    """Frames of another program on the other CPU were counted as this device's, or as those of a thread that polls."""
    forwarded = template[0].streams[0].tracked.forwarded_frames
    others: dict[str, Any] = {
        "packet_threads_ns": {"ksoftirqd/1": 900 * forwarded},
        "soft_interrupts_ns": {1: 300 * forwarded},
    }
    result, _ = found(template, idle=others, **others)
    (row,) = result.rows
    assert row.figures["cost"].value == pytest.approx(DEVICE_NS, rel=0.005) and not row.figures["cost"].bound
    assert "elsewhere" not in row.figures and not row.remark
    more = {"packet_threads_ns": {"ksoftirqd/1": 900 * forwarded, "napi/dut0-1": 400 * forwarded}}
    result, _ = found(template, idle=others, **others | more)
    assert result.rows[0].figures["elsewhere"].value == pytest.approx(400)


@pytest.mark.parametrize(("lost", "bound"), [(5, ""), (0, "at most")])
def test_a_thread_that_polls_is_measured_only_where_it_is_overloaded(
    template: tuple[Facts, Capabilities], lost: int, bound: str
) -> None:
    """Its CPU time was that of the frames that it carried, and a lower --rate, which was advised, made it more."""
    facts, capabilities = template
    forwarded = facts.streams[0].tracked.forwarded_frames
    (stream,) = facts.streams
    tracked = stream.tracked.model_copy(update={"lost_frames": lost})
    facts = facts.model_copy(update={"streams": [stream.model_copy(update={"tracked": tracked})]})
    polls: dict[str, Any] = {"threads_ns": {"dpdk-worker1": 400 * forwarded, "dpdk-main": 1000}}
    of = parse({**LAB, "cost": {"process": ["dpdk-testpmd"]}})
    result, records = found(
        (facts, capabilities), of=of, idle={"threads_ns": {"dpdk-worker1": 350 * forwarded}}, **polls
    )
    assert {record.trial.processes for record in records} == {("dpdk-testpmd",)}
    (row,) = result.rows
    assert row.figures["cost"].bound == bound
    assert (
        row.remark.startswith("dpdk-worker1 also takes its CPU time where no frame comes") and "lower" not in row.remark
    )


def test_what_the_processor_counts_of_a_frame_is_without_the_tester_s_part(
    template: tuple[Facts, Capabilities],
) -> None:
    facts, capabilities = template
    forwarded = facts.streams[0].tracked.forwarded_frames

    def counted(trial: Trial, number: int) -> dict[str, int]:
        each = 1500 if trial.on_cable else 5200
        return {"instructions": (each + number % 3) * forwarded, "cycles": 4 * each * forwarded}

    result, _ = found((facts, capabilities), counts=counted)
    (row,) = result.rows
    own = row.figures["instructions"]
    assert own.bounds is not None and own.bounds[0] <= 3700 <= own.bounds[1] and own.bounds[1] - own.bounds[0] < 10
    assert row.figures["cycles"].value == pytest.approx(4 * 3700)
    assert "cache_misses" not in row.figures and not result.remarks
    without, _ = found(template)
    assert without.remarks == ["the processor counts no instructions here, as in most virtual machines"]


def test_a_given_load_is_sent_in_bursts_by_the_clock(template: tuple[Facts, Capabilities]) -> None:
    of = parse({**LAB, "cost": {"rate_fps": 20_000, "bursts": [1, 8]}})
    result, records = found(template, of=of)
    assert [row.case for row in result.rows] == ["bursts of 1", "bursts of 8"]
    assert {record.trial.batch_frames for record in records} == {1, 8}
    _, slow = found(template, of=parse({**LAB, "cost": {"rate_fps": 1000, "bursts": [8]}}))
    assert slow[0].trial.duration_ns == 160_000_000, "20 batches say something"
    assert not any(record.trial.flat_out for record in records)
    assert {flow.pacing.kind for record in records for flow in record.trial.flows if flow.pacing} == {
        "constant",
        "bursts",
    }


def test_a_side_of_a_pair_is_short_but_for_what_was_given() -> None:
    short = PROCEDURE.in_pairs(CostSettings())
    assert isinstance(short, CostSettings) and (short.runs, short.trial_s) == (1, 0.1)
    given = PROCEDURE.in_pairs(CostSettings(runs=10))
    assert isinstance(given, CostSettings) and given.runs == 10


def test_later_pairs_know_the_tester_s_part_and_the_level(template: tuple[Facts, Capabilities]) -> None:
    result, _ = found(template)
    near = PROCEDURE.among(PROCEDURE.near(CostSettings(runs=3, reopens=False), result), [result])
    of = parse({**LAB, "cost": near})

    def one_slow(trial: Trial, number: int) -> float:
        return steady(trial, number) * (1.3 if number < 3 else 1)

    later, records = found(template, one_slow, of)
    assert not any(record.trial.on_cable for record in records) and len(records) == 6
    assert later.rows[0].figures["cost"].value == pytest.approx(DEVICE_NS, rel=0.01)
    assert "uncertainty" not in later.rows[0].figures["batches"].model_dump(exclude_none=True), "three runs say little"


def test_one_run_is_enough_where_the_level_is_known(template: tuple[Facts, Capabilities]) -> None:
    result, records = found(template, of=parse({**LAB, "cost": CostSettings(runs=1)}))
    assert len(records) == 4, "two through the device and two over the cable"
    near = PROCEDURE.among(PROCEDURE.near(CostSettings(runs=1), result), [result])
    later, records = found(template, of=parse({**LAB, "cost": near}))
    assert len(records) == 1
    assert later.rows[0].figures["cost"].value == pytest.approx(DEVICE_NS, rel=0.01)


def test_a_host_without_a_calm_moment_gives_no_figure(template: tuple[Facts, Capabilities]) -> None:
    result, _ = found(template)
    of = parse({**LAB, "cost": PROCEDURE.among(CostSettings(runs=2), [result])})
    never, records = found(template, lambda trial, number: 1.4 * steady(trial, number), of)
    assert not never.rows[0].figures and never.rows[0].remark.startswith("this host never left its core undisturbed")
    assert sum(not record.trial.on_cable for record in records) == 6, "three times as many as were asked for"


def test_a_device_that_is_not_on_this_host_is_refused() -> None:
    with (
        pytest.raises(PlanError, match="works on this host"),
        open_engine(parse({"methods": ["cost"], "dut": "sim:gs908e"})),
    ):
        pass


@pytest.mark.parametrize("bursts", [[3], [512], [0]])
def test_a_burst_is_a_power_of_two(bursts: list[int]) -> None:
    with pytest.raises(PlanError, match="no power of two"):
        parse({**LAB, "cost": {"bursts": bursts}})


def test_several_ways_at_once_are_refused(template: tuple[Facts, Capabilities]) -> None:
    with pytest.raises(PlanError, match="from one port to one other"):
        check_ability(parse({**LAB, "pattern": "bidirectional"}), template[1])


def side(*whole_ns: float | None) -> list[Result]:
    """Results of runs of one side; None: the host left no calm moment."""
    rows = [
        Row(
            frame_bytes=64,
            figures={} if ns is None else {name: Quantity(value=ns, unit="ns") for name in ("cost", "batches")},
        )
        for ns in whole_ns
    ]
    return [Result(measurement="cost", rows=[row]) for row in rows]


def test_runs_that_are_slow_beside_those_before_and_after_them_have_no_figure() -> None:
    levels = [490.0, None, 478.0, 404.0, 412.0, 407.0, 503.0, 401.0]
    left = PROCEDURE.alike(side(*levels))
    kept = [None if not result.rows[0].figures else result.rows[0].figures["batches"].value for result in left]
    assert kept == [None, None, None, 404.0, 412.0, 407.0, None, 401.0]
    assert "slow as a whole" in left[0].rows[0].remark


def test_a_core_that_is_slower_for_good_is_the_level_of_the_runs_beside_it() -> None:
    levels = [400.0] * 40 + [460.0] * 120
    kept = [bool(result.rows[0].figures) for result in PROCEDURE.alike(side(*levels))]
    assert all(kept[:40]) and all(kept[70:])


def test_few_ns_beside_those_elsewhere_make_no_run_slow() -> None:
    def run(batches: float) -> Result:
        figures = {"cost": 9000.0, "whole": 9300.0, "batches": batches, "elsewhere": 8900.0}
        row = Row(frame_bytes=64, figures={name: Quantity(value=ns, unit="ns") for name, ns in figures.items()})
        return Result(measurement="cost", rows=[row])

    left = PROCEDURE.alike([run(ns) for ns in (400.0, 404.0, 560.0, 402.0, 1000.0)])
    assert [bool(result.rows[0].figures) for result in left] == [True, True, True, True, False]


def lossy(percent: float, elsewhere: bool = False) -> Row:
    figures = {"cost": Quantity(value=400.0, unit="ns"), "loss": Quantity(value=percent, unit="%")}
    figures |= {"elsewhere": Quantity(value=300.0, unit="ns")} if elsewhere else {}
    return Row(frame_bytes=64, figures=figures)


def test_sides_that_lose_different_shares_of_their_frames_are_not_compared() -> None:
    """B lost every frame, was called 98 % cheaper, and met the criterion."""
    a, b = [lossy(0.0)] * 4, [lossy(100.0)] * 4
    lost = "A lost 0 % of its frames, and B 100 %: a lost frame takes less time"
    assert PROCEDURE.incomparable("cost", a, b) == lost
    assert not any(PROCEDURE.incomparable(figure, a, b) for figure in ("loss", "lost"))
    assert not PROCEDURE.incomparable("cost", b, b), "two that drop everything are compared by what that takes"
    assert not PROCEDURE.incomparable("cost", a[:1], b[:1]), "one run may lose frames by chance"
    assert not PROCEDURE.incomparable("cost", [*a, lossy(3.0)], [lossy(0.0), None] * 5)
    polling = [[lossy(percent, elsewhere=True)] * 4 for percent in (30.0, 45.0)]
    assert not PROCEDURE.incomparable("cost", *polling), "a thread's time is that of the frames that pass"


def test_a_run_begins_with_the_level_of_the_runs_before_it() -> None:
    plan = PROCEDURE.among(CostSettings(), side(490.0, 404.0, None, 409.0, 498.0))
    assert isinstance(plan, CostSettings)
    assert [each.found.value for each in plan.level] == [404.0]


def test_cpu_time_elsewhere_that_few_runs_have_is_not_the_device_s() -> None:
    def run(elsewhere: float) -> Result:
        figures = {"cost": 700.0 + elsewhere, "whole": 1000.0 + elsewhere, "batches": 1000.0, "tester": 300.0}
        figures |= {"elsewhere": elsewhere} if elsewhere else {}
        row = Row(frame_bytes=64, figures={name: Quantity(value=ns, unit="ns") for name, ns in figures.items()})
        return Result(measurement="cost", rows=[row])

    def costs(*elsewhere: float) -> list[float]:
        return [result.rows[0].figures["cost"].value for result in PROCEDURE.alike([run(ns) for ns in elsewhere])]

    assert costs(0, 400, 0, 0, 90) == [700.0] * 5
    assert costs(400, 390, 410, 405, 0) == [1100.0, 1090.0, 1110.0, 1105.0, 700.0]

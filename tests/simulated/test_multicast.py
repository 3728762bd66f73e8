"""RFC 3918 on simulated switches of known truth: one frame at several ports, joins, leaves, capacity, throughput."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.command_line import keisoku
from support.simulated_trials import Spoil, carry_out, device, plan, untouched

import keisoku as ks
from keisoku.errors import PlanError
from keisoku.ground.run.result import Result, Row
from keisoku.subjects.device.engine.simulated import SimulatedEngine, routes_between
from keisoku.subjects.device.engine.traffic import Traffic
from keisoku.subjects.device.plan.ability import check_ability
from keisoku.subjects.device.plan.content import Content
from keisoku.subjects.device.procedure.rfc3918 import group_flows
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import Flow, Phases, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.report.accounting import account

PORTS = 4
PHASES = {"learning": False, "learning_wait_s": 0.0, "drain_s": 0.2, "rest_s": 0.0}
SHORT: dict[str, Any] = {"stay_s": 0.2, "quiet_s": 0.05, "leave_s": 0.2, "spacing_s": 0.01}
PROTOCOLS = ("igmpv2", "igmpv3", "mldv1", "mldv2")


def snooping(**settings: object) -> str:
    lines = "\n".join(f"{name} = {value!r}".replace("'", '"') for name, value in settings.items())
    return f"ports = {PORTS}\n[snooping]\n{lines}\n"


def measure(
    method: str, toml: str, ports: int = PORTS, faults: str = "", spoil: Spoil = untouched, **settings: Any
) -> tuple[Result, list[TrialRecord]]:
    names = [str(number + 1) for number in range(ports)]
    own = plan(method, ports=names, frame_bytes=[64], phases=PHASES, **{method: settings})
    return carry_out(own, device(faults + toml), spoil)


def value(row: Row, name: str) -> float:
    return row.figures[name].value


def contains(row: Row, name: str, truth: float) -> bool:
    lower, upper = row.figures[name].bounds or (1.0, 0.0)
    return lower <= truth <= upper


def one_trial(
    toml: str, flows: tuple[Flow, ...], stop_after_lost: int | None = None, seconds: float = 0.1
) -> TrialRecord:
    pairs = [(one, other) for one in range(PORTS) for other in range(PORTS) if one != other]
    engine = SimulatedEngine(device(toml), range(1, PORTS + 1), Traffic(routes_between(pairs), [Content()]))
    trial = Trial(
        purpose="test",
        frame_bytes=64,
        frames_per_second=10_000.0,
        duration_ns=round(seconds * 1e9),
        phases=Phases(learning=False, learning_wait_ns=0, rest_ns=0),
        flows=flows,
        stop_after_lost=stop_after_lost,
    )
    engine.start(trial, 1, 1)
    facts, seconds = engine.finish()
    return TrialRecord(
        index=0, method="test", trial=trial, facts=facts, started_at="", engine_seconds=seconds, invalid_because=[]
    )


def groups_of(ports: list[int], joined: list[int]) -> tuple[Flow, ...]:
    """Frames to a group from 10 ms on, which `ports` shall receive and `joined` join."""
    joins = [
        group_flows.messages("igmpv2", port, [1, 2, 3], 1, joins=True, start_ns=0, message_fps=1000, trial_fps=10_000)
        for port in joined
    ]
    return (group_flows.data("igmpv2", ports, 1, start_ns=10_000_000, frame_bytes=64), *joins)


FAULTS = (
    "faults.duplicate_ratio = 0.05\nfaults.corrupt_ratio = 0.05\nfaults.reorder_ratio = 0.05\nloss.ratio = 0.05\n"
    "jitter.distribution = 'uniform'\njitter.spread_ns = 3e5\n"
)


@pytest.mark.parametrize("faults", ["", FAULTS])
def test_each_frame_has_an_account_at_each_port_that_it_goes_to(faults: str) -> None:
    record = one_trial(faults + snooping(groups=5), groups_of([1, 2, 3], [1, 2, 3]))
    (stream,) = record.facts.streams
    assert [branch.receive for branch in stream.everywhere] == [1, 2, 3]
    assert stream.offered_frames == 900 and record.facts.expected_frames == 2700
    for branch in stream.everywhere:
        own = branch.tracked
        assert own.forwarded_frames + own.lost_frames + own.corrupt.count == 900
        assert own.received_frames == own.forwarded_frames + own.duplicated.count + own.corrupt_arrivals
        assert (own.lost_frames == own.duplicated.count == own.corrupt.count == 0) == (not faults)
    assert account(record).adds_up
    assert (record.loss_ratio == 0) == (not faults)
    assert sum(one.misdirected_frames for one in record.facts.receivers) == 0


def test_the_copies_of_a_frame_differ_in_what_becomes_of_them() -> None:
    record = one_trial("loss.ratio = 0.1\n" + snooping(groups=5), groups_of([1, 2, 3], [1, 2, 3]))
    lost = [{gap.first for gap in branch.tracked.lost} for branch in record.facts.streams[0].everywhere]
    assert lost[0] != lost[1] != lost[2] != lost[0]


def test_frames_at_a_port_that_did_not_join_are_misdirected_and_not_duplicates() -> None:
    record = one_trial(f"ports = {PORTS}", groups_of([1, 2], [1, 2]))
    (stream,) = record.facts.streams
    assert [branch.tracked.forwarded_frames for branch in stream.everywhere] == [900, 900]
    assert [branch.tracked.duplicated.count for branch in stream.everywhere] == [0, 0]
    by_port = {one.port: one.misdirected_frames for one in record.facts.receivers}
    assert by_port[3] == 900 and by_port[1] == by_port[2] == 0
    assert account(record).adds_up


def test_a_port_that_is_expected_but_did_not_join_has_lost_every_frame() -> None:
    record = one_trial(snooping(groups=5), groups_of([1, 2, 3], [1, 3]))
    assert [branch.tracked.lost_frames for branch in record.facts.streams[0].everywhere] == [0, 900, 0]
    assert record.loss_ratio == pytest.approx(1 / 3)
    assert account(record).adds_up


def test_frames_lost_at_any_port_end_a_load_that_may_lose_none() -> None:
    lossy = "[[pair]]\nfrom_ports = [1]\nto_ports = [3]\nloss.ratio = 0.1\n"
    record = one_trial(snooping(groups=5) + lossy, groups_of([1, 2], [1, 2]), stop_after_lost=5, seconds=3.0)
    assert record.facts.streams[0].everywhere[0].tracked.lost_frames == 0
    assert record.facts.stopped_for_loss
    assert record.facts.streams[0].offered_frames < 29_900


def test_messages_are_in_no_total() -> None:
    record = one_trial(snooping(groups=5), groups_of([1, 2], [1, 2]))
    assert record.facts.sent.offered_frames == 900
    assert [stream.offered_frames for stream in record.facts.beside] == [1, 1]
    sent = {one.port: one.sent.offered_frames for one in record.facts.transmitters}
    assert sent == {0: 900, 1: 0, 2: 0}
    assert record.intended_frames == 900
    assert group_flows.sent_messages(record) == []


def test_a_frame_arrives_when_its_port_first_and_last_had_one() -> None:
    flow = groups_of([1, 2], [1, 2])[0].model_copy(update={"timed": True})
    record = one_trial(snooping(groups=5), (flow, *groups_of([1, 2], [1, 2])[1:]))
    for branch in record.facts.streams[0].everywhere:
        latency = branch.tracked.latency
        assert latency is not None and branch.first_received_ns is not None and branch.last_received_ns is not None
        assert branch.first_received_ns == pytest.approx(10_000_000 + latency.min_ns, abs=latency.max_ns)
        assert branch.last_received_ns - branch.first_received_ns == pytest.approx(899 * 100_000, abs=10_000)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_delays_of_joins_and_leaves_contain_those_of_the_device(protocol: str) -> None:
    toml = snooping(groups=5, join_ns=1.23e6, leave_ns=45.6e6)
    settings = SHORT | {"groups": 3, "repetitions": 3}
    result, _ = measure("group_delay", toml, protocol=protocol, group_fps=3000, **settings)
    assert [row.case for row in result.rows] == ["port 2", "port 3", "port 4"]
    for row in result.rows:
        assert row.remark == ""
        assert value(row, "groups") == 9 and value(row, "lost") == 0
        for name, truth in (("join", 1.23e6), ("leave", 45.6e6)):
            assert contains(row, f"{name}_delay", truth)
            assert value(row, f"{name}_delay") == pytest.approx(truth, abs=1.1e9 / 3000)


def test_the_delays_are_also_measured_of_groups_that_the_device_knows_already() -> None:
    toml = snooping(join_ns=3_000_000.0, leave_ns=8_000_000.0)
    settings = dict[str, Any](groups=2, group_fps=10_000, repetitions=2, quiet_s=0.2, stay_s=0.2, leave_s=0.2)
    result, records = measure("group_delay", toml, known=True, **settings)
    assert [row.case for row in result.rows] == ["port 2", "port 3"]
    for row in result.rows:
        assert contains(row, "join_delay", 3e6) and contains(row, "leave_delay", 8e6)
    joined = [flow for flow in records[0].trial.flows if flow.message and flow.transmit == 3]
    assert [flow.start_ns for flow in joined] == [0], "the last port joins first and never leaves"
    assert any("method B" in text for text in result.deviations)
    with pytest.raises(PlanError, match="no other one receives"):
        measure("group_delay", toml, ports=2, known=True, **settings)


def test_the_latency_of_groups_is_that_under_a_burden() -> None:
    settings = dict[str, Any](groups=[2], trial_s=0.1, settle_s=0.1, maximum_fps=20_000, resolution_percent=50)
    alone, _ = measure("multicast", snooping(), **settings)
    burdened, records = measure("multicast", snooping(), burden_fps=100_000, **settings)
    assert [row.case for row in burdened.rows] == [row.case for row in alone.rows]
    assert value(burdened.rows[0], "throughput") == pytest.approx(20_000, rel=1e-3)
    assert value(burdened.rows[0], "aggregated") == pytest.approx(60_000, rel=1e-3)
    for one, other in zip(alone.rows[1:], burdened.rows[1:], strict=True):
        assert value(other, "mean") > value(one, "mean")
        assert value(other, "unicast_loss") == 0
    assert all(account(record).adds_up for record in records)
    assert any("§8.1" in text for text in burdened.deviations)


def test_a_burden_delays_what_is_queued_behind_it() -> None:
    settings = SHORT | {"groups": 2, "repetitions": 1}
    result, records = measure(
        "group_delay", snooping(groups=5, join_ns=1e6), group_fps=2000, burden_fps=100_000, **settings
    )
    assert len(records[0].facts.streams) == 2 + 3
    assert all(contains(row, "join_delay", 1e6) for row in result.rows)


def test_a_device_that_floods_has_no_join_delay() -> None:
    settings = SHORT | {"groups": 2, "repetitions": 1}
    result, _ = measure("group_delay", f"ports = {PORTS}", group_fps=1000, **settings)
    assert "join_delay" not in result.rows[0].figures
    assert "floods groups without receivers" in result.rows[0].remark


def test_a_device_that_loses_frames_of_groups_has_no_delays() -> None:
    """A first frame that arrives late may then only be one that was not lost (it was taken for a delay of 0.2 s)."""
    settings = SHORT | {"groups": 3, "repetitions": 1}
    toml = snooping(groups=5, copies_per_second=4e4, waiting_copies=4)
    result, _ = measure("group_delay", toml, group_fps=14_000, **settings)
    for row in result.rows:
        assert not {"join_delay", "leave_delay"} & row.figures.keys()
        assert "lower --rate" in row.remark


def test_a_device_that_leaves_too_late_has_no_leave_delay() -> None:
    settings = SHORT | {"groups": 2, "repetitions": 1}
    result, _ = measure("group_delay", snooping(groups=5, leave_ns=1e9), group_fps=1000, **settings)
    assert "leave_delay" not in result.rows[0].figures and "join_delay" in result.rows[0].figures
    assert "still arrived at the end: raise --leave" in result.rows[0].remark


@pytest.mark.parametrize(
    ("groups", "protocol"),
    [(1, "igmpv2"), (63, "mldv2"), (64, "igmpv3"), pytest.param(65, "mldv1", marks=pytest.mark.long)],
)
def test_the_capacity_is_the_number_of_groups_that_the_device_remembers(groups: int, protocol: str) -> None:
    result, _ = measure("group_capacity", snooping(groups=groups), protocol=protocol, groups=16, most_groups=200)
    assert value(result.rows[0], "groups") == groups
    assert all(value(row, "flooded") == 0 for row in result.rows[1:])


def test_a_capacity_beyond_the_highest_number_tried_is_a_bound() -> None:
    result, _ = measure("group_capacity", snooping(groups=1000), groups=16, most_groups=40)
    assert result.rows[0].figures["groups"].bound == "at least" and value(result.rows[0], "groups") == 40


def test_groups_beyond_the_capacity_that_are_flooded_do_not_count() -> None:
    result, _ = measure("group_capacity", snooping(groups=20, unknown="flood"), groups=16, most_groups=100)
    assert value(result.rows[0], "groups") == 20
    assert max(value(row, "flooded") for row in result.rows[1:]) > 0


def test_a_trial_without_all_messages_is_tried_again() -> None:
    """The search ended with a bound when the host kept the tester once from sending all joins."""

    def late(index: int, trial: Trial, facts: Facts) -> Facts:
        if index != 1:
            return facts
        short = [one.model_copy(update={"offered_frames": one.offered_frames - 1}) for one in facts.beside]
        return Facts(**dict(facts) | {"beside": short})

    result, records = measure("group_capacity", snooping(groups=20), groups=16, spoil=late)
    assert value(result.rows[0], "groups") == 20 and result.rows[0].figures["groups"].bound == ""
    assert records[1].trial == records[2].trial


def test_a_device_without_snooping_has_no_capacity() -> None:
    result, _ = measure("group_capacity", f"ports = {PORTS}", groups=4, most_groups=8)
    assert result.rows[0].figures == {}
    assert result.rows[0].remark == "frames reached ports that had not joined: the device floods groups"


def test_the_throughput_to_groups_is_what_the_copies_allow() -> None:
    toml = snooping(groups=50, copies_per_second=6e5, waiting_copies=8)
    result, _ = measure(
        "multicast", toml, groups=[1, 8], unicast_percent=[0, 50], trial_s=0.05, settle_s=0.01, resolution_percent=1
    )
    summaries = [row for row in result.rows if row.case.endswith("all ports")]
    assert [row.case for row in summaries] == [
        "1 group, all ports",
        "1 group, 50 % unicast, all ports",
        "8 groups, all ports",
        "8 groups, 50 % unicast, all ports",
    ]
    for row, copied in zip(summaries, (1.0, 0.5, 1.0, 0.5), strict=True):
        assert value(row, "throughput") == pytest.approx(6e5 / 3 / copied, rel=0.015)
        assert value(row, "aggregated") == pytest.approx(
            value(row, "throughput") * (3 * copied + 1 - copied), rel=0.001
        )
        assert value(row, "loss_at_maximum") > 0
    assert [row.case for row in result.rows[1:4]] == ["1 group, port 2", "1 group, port 3", "1 group, port 4"]
    assert all(value(row, "loss") == 0 for row in result.rows if "loss" in row.figures)


def test_the_throughput_to_groups_is_that_of_the_line_where_copies_cost_nothing() -> None:
    result, _ = measure("multicast", snooping(groups=5), groups=[2], trial_s=0.02, settle_s=0.01, resolution_percent=1)
    assert value(result.rows[0], "throughput") == pytest.approx(1e9 / 672, rel=0.01)
    assert value(result.rows[0], "loss_at_maximum") == 0


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("multicast", {"groups": (1,), "trial_s": 0.01, "unicast_percent": (0,)}),
        ("group_delay", {"groups": 1, "repetitions": 1}),
        ("group_capacity", {"groups": 1, "most_groups": 1}),
    ],
)
def test_a_row_of_ipv6_groups_has_the_size_of_their_frames(method: str, settings: dict[str, Any]) -> None:
    result, _ = measure(method, snooping(groups=5), ports=2, protocol="mldv2", **settings)
    assert {row.frame_bytes for row in result.rows} == {84}


def test_a_message_that_the_tester_did_not_send_is_no_fault_of_the_device() -> None:
    def silent(_: int, trial: Trial, facts: Facts) -> Facts:
        return facts.model_copy(update={"beside": facts.beside[1:]})

    own = plan(
        "group_delay", ports=["1", "2"], frame_bytes=[64], phases=PHASES, group_delay={"groups": 1, "repetitions": 1}
    )
    result, _ = carry_out(own, device(snooping(groups=5)), silent)
    assert result.rows[0].figures == {}
    assert result.rows[0].remark == "the tester sent 1 of 2 messages to the device"


@pytest.mark.parametrize("method", ["multicast", "group_delay", "group_capacity"])
def test_an_engine_that_counts_a_frame_at_one_port_only_is_refused(method: str) -> None:
    own = plan(method, ports=["1", "2"], frame_bytes=[64])
    able = SimulatedEngine(device("ports = 2")).capabilities
    check_ability(own, able)
    with pytest.raises(PlanError, match="counts each frame at several ports, which the engine fpga cannot"):
        check_ability(own, able.model_copy(update={"abilities": frozenset(), "engine": "fpga"}))


def test_the_page_says_how_many_frames_were_to_arrive_at_all_ports(tmp_path: Path) -> None:
    """It said that 184 002 of 132 001 frames were lost: each of them goes to two ports, and counts at both."""
    line = "multicast --dut sim:gs908e --ports 1,2,3 --groups 1 --duration 10ms --size 64 --out run"
    assert keisoku(*line.split(), cwd=tmp_path).code == 0
    offered = ks.load(tmp_path / "run").trials[0].facts.sent.offered_frames
    page = (tmp_path / "run/report.html").read_text().replace("\u202f", "")
    assert f"<td>{offered}<small>{2 * offered} to arrive</small></td>" in page

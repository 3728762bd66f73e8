"""RFC 2889 on simulated switches of known truth: meshes, congestion, address tables, broadcasts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.simulated_trials import carry_out, device, plan
from support.trials import record_of

from keisoku.errors import PlanError
from keisoku.ground.run.result import Result, Row
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.engine.simulated import SimulatedEngine
from keisoku.subjects.device.method.method import begin
from keisoku.subjects.device.plan.ability import check_ability
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import Flow, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.table import PROCEDURES

LINE = 1e9 / 672
"""Frames of 64 byte a second at 1 Gb/s."""
FOUR = "ports = 4\n"
PHASES = {"learning_wait_s": 0.0, "drain_s": 0.1, "rest_s": 0.0}


def measure(method: str, toml: str = FOUR, ports: str = "1,2,3,4", **source: Any) -> tuple[Result, list[TrialRecord]]:
    own = plan(method, ports=ports.split(","), phases=PHASES, **{"frame_bytes": [64], **source})
    return carry_out(own, device(toml))


def value(row: Row, name: str) -> float:
    return row.figures[name].value


# 5.1 to 5.4


@pytest.mark.parametrize(
    ("pattern", "ports", "share", "receiving"),
    [
        ("mesh", "1,2,3,4", 1.0, 4),
        ("pairs", "1,2,3,4", 1.0, 4),
        ("many-to-one", "1,2,3,4", 1 / 3, 1),
        ("one-to-many", "1,2,3,4", 1.0, 3),
        ("partial-mesh", "1,2,3,4", 1.0, 2),
        ("partial-mesh", "1,2,3", 0.5, 1),
    ],
)
def test_the_throughput_of_a_pattern_is_what_its_outputs_allow(
    pattern: str, ports: str, share: float, receiving: int
) -> None:
    settings = {"trial_s": 0.02, "loads_percent": [100, 50], "resolution_percent": 1}
    result, records = measure(
        "forwarding", FOUR + "output.buffer_bytes = 2048", ports, pattern=pattern, forwarding=settings
    )
    summary, half, full = result.rows[0], result.rows[2], result.rows[1]
    senders = len(records[0].facts.transmitters)
    assert value(summary, "throughput") == pytest.approx(share * LINE, rel=0.02)
    expected = min(senders, receiving) * LINE if share == 1 else receiving * LINE
    assert value(summary, "frmol") == pytest.approx(expected, rel=0.005)
    assert value(summary, "mfr") >= value(summary, "frmol")
    assert value(full, "loss") == pytest.approx(100 * (1 - min(1.0, share)), abs=1)
    assert value(half, "forwarding_rate") == pytest.approx(min(senders * LINE / 2, receiving * LINE), rel=0.005)
    assert value(full, "flooded") == 0
    assert "each trial lasts 0.02 s instead of 30 s" in " ".join(result.deviations)


def test_the_forwarding_rate_may_be_highest_below_full_load() -> None:
    """A device that is slower than its line has its FRMOL for its MFR; one that collapses has not."""
    settings = {"trial_s": 0.05, "loads_percent": [100, 60, 40], "resolution_percent": 1}
    slow = FOUR + "output.service_bits_per_second = 5e8\noutput.buffer_bytes = 2048"
    result, _ = measure("forwarding", slow, "1,2", forwarding=settings)
    assert value(result.rows[0], "frmol") == pytest.approx(LINE / 2, rel=0.002)
    assert value(result.rows[0], "mfr") == pytest.approx(LINE / 2, rel=0.002)
    assert value(result.rows[0], "throughput") == pytest.approx(LINE / 2, rel=0.02)


# 5.5

CONGESTION = {"trial_s": 0.1}


@pytest.mark.parametrize(
    ("toml", "beside", "congested", "offered", "verdict"),
    [
        ("", 0, 100 / 3, 100, "no head-of-line blocking; no back pressure"),
        ("input.buffer_bytes = 16384", 100 / 3, 100 / 3, 100, "head-of-line blocking; no back pressure"),
        (
            "input = { buffer_bytes = 16384, back_pressure = true }",
            0,
            0,
            # Sources may send for 10 ms after the trial's 100 ms what they were kept from.
            1.1 * 200 / 3,
            "no head-of-line blocking; back pressure",
        ),
        (
            "output.buffer_bytes = 100_000_000",
            0,
            0,
            100,
            "no head-of-line blocking; the device buffered the excess: lengthen the trial to detect back pressure",
        ),
    ],
)
def test_head_of_line_blocking_and_back_pressure_are_told_apart(
    toml: str, beside: float, congested: float, offered: float, verdict: str
) -> None:
    small = "" if "output" in toml else "output.buffer_bytes = 16384\n"
    result, _ = measure("congestion", FOUR + small + toml, congestion=CONGESTION)
    (row,) = result.rows
    assert value(row, "uncongested_loss") == pytest.approx(beside, abs=1)
    assert value(row, "congested_loss") == pytest.approx(congested, abs=1)
    assert value(row, "load") == pytest.approx(offered, abs=2)
    assert row.remark == verdict
    if offered == 100 and not beside:
        assert value(row, "uncongested_rate") == pytest.approx(LINE / 2, rel=0.02)
        assert value(row, "congested_rate") == pytest.approx(LINE, rel=0.02)
    if not beside:
        assert value(row, "uncongested_loss") == 0


def test_two_blocks_are_judged_each_by_itself() -> None:
    toml = "ports = 8\noutput.buffer_bytes = 4096\n[[pair]]\nfrom_ports = [5]\nto_ports = [7]\nloss = { ratio = 0.01 }"
    result, records = measure("congestion", toml, "1,2,3,4,5,6,7,8", congestion={"trial_s": 0.02})
    assert [row.case for row in result.rows] == ["ports 1 and 2 to 3 and 4", "ports 5 and 6 to 7 and 8"]
    assert [value(row, "uncongested_loss") > 0 for row in result.rows] == [False, True]
    assert all(value(row, "congested_loss") == pytest.approx(100 / 3, abs=1) for row in result.rows)
    assert "are lost at this load without congestion" in result.remarks[0]
    assert len(records) == 2


@pytest.mark.parametrize("ports", ["1,2", "1,2,3", "1,2,3,4,5,6"])
def test_congestion_wants_blocks_of_four(ports: str) -> None:
    with pytest.raises(PlanError, match="congestion needs 4 ports or a multiple"):
        plan("congestion", ports=ports.split(","))


# 5.6 and 5.9


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ({"methods": ["forward_pressure"]}, "methods: forward_pressure needs the FPGA engine: no NIC sends frames 88"),
        (
            {"methods": ["errored_frames"], "errored_frames": {"errors": ["oversize", "crc", "dribble"]}},
            "errors: errored_frames needs the FPGA engine: no NIC sends frames with a wrong FCS and",
        ),
    ],
)
def test_what_no_nic_can_do_is_refused_before_the_first_frame(source: dict[str, Any], what: str) -> None:
    own = plan("throughput").model_validate({"dut": "sim:test", **source})
    engine = SimulatedEngine(device(""))
    with pytest.raises(PlanError, match=what):
        check_ability(own, engine.capabilities)
    able = Capabilities.model_validate(
        engine.capabilities.model_dump() | {"abilities": {"short_gap", "crc", "dribble"}}
    )
    check_ability(own, able)


def test_an_engine_that_sends_no_errored_frames_says_so() -> None:
    own = plan("errored_frames", frame_bytes=[64], errored_frames={"errors": ["crc"]})
    with pytest.raises(PlanError, match="this engine sends no crc frames"):
        carry_out(own, device(""))


@pytest.mark.parametrize(("service", "presses"), [(1e9, False), (1.02e9, True)])
def test_a_device_that_sends_too_close_is_told(service: float, presses: bool) -> None:
    """The tester's line is a little faster than it says: so it can send frames 88 bits apart."""
    own = plan("forward_pressure", frame_bytes=[64], phases=PHASES, forward_pressure={"trial_s": 0.1})
    engine = SimulatedEngine(
        device(f"link_bits_per_second = 1.02e9\noutput.service_bits_per_second = {service}\noutput.buffer_bytes = 4096")
    )
    capabilities = engine.capabilities.model_copy(update={"link_bits_per_second": 1e9})
    method = begin("forward_pressure", own, capabilities, Bias(exact=True), {})
    trial = next(method)
    assert trial.frames_per_second == pytest.approx(1e9 / 664)
    engine.start(trial, stream=1, seed=1)
    facts, _ = engine.finish()
    # On a line that says 1 Gbit/s and carries more, the tester sends sooner than any guard expects.
    record = record_of(trial, facts).model_copy(update={"invalid_because": []})
    with pytest.raises(StopIteration) as stop:
        method.send(record)
    (row,) = stop.value.value.rows
    assert ("Forward Pressure detected" in row.remark) == presses
    assert value(row, "line_share") == pytest.approx(100 * 672 / 664 if presses else 100, abs=0.01)


@pytest.mark.parametrize(
    ("limit", "forwarded", "remark"), [(1518, 0, "pass: filtered"), (9000, 100, "fail: not filtered")]
)
def test_oversize_frames_are_filtered_or_not(limit: int, forwarded: float, remark: str) -> None:
    own = plan("errored_frames", phases=PHASES, errored_frames={"trial_s": 0.01})
    result, _ = carry_out(own, device(f"max_frame_bytes = {limit}"))
    (row,) = result.rows
    assert (row.frame_bytes, row.case, value(row, "forwarded"), row.remark) == (1519, "oversize", forwarded, remark)
    assert "undersize, crc, dribble, alignment errors were not tested" in " ".join(result.deviations)


# 5.7 and 5.8

TABLE = FOUR + "[address_table]\nentries = {}\n"


def caching(toml: str, **settings: Any) -> tuple[Result, list[TrialRecord]]:
    own = {"learning_fps": 100_000, "test_fps": 100_000, "settle_s": 0.001, "ageing_s": 300, **settings}
    return measure("address_caching", toml, "1,2,3", address_caching=own)


@pytest.mark.parametrize("entries", [4, 100, 1000, 8192])
def test_the_capacity_is_found_to_the_address(entries: int) -> None:
    result, records = caching(TABLE.format(entries), addresses=512, most_addresses=10_000)
    # Three ports of the tester are in the table as well.
    assert value(result.rows[0], "addresses") == entries - 3
    assert value(result.rows[0], "table") == entries
    assert len(records) <= 15
    for row in result.rows[1:]:
        full = value(row, "tried") > entries - 3
        assert (value(row, "flooded") > 0) == full


@pytest.mark.parametrize("slower", [0.011, 0.3, 0.9, 0.9999])
def test_a_device_that_learns_more_slowly_than_asked_has_no_exact_capacity(slower: float) -> None:
    toml = TABLE.format(4096) + f"learning_per_second = {slower * 100_000}\n"
    result, _ = caching(toml, addresses=512, most_addresses=10_000)
    found = result.rows[0].figures["addresses"]
    assert found.bound == "at least" and found.value <= 4093
    assert "learns more slowly than 100000 addresses/s" in result.rows[0].remark
    assert any("faster than the device learns" in one for one in result.deviations)


def test_a_table_that_is_too_small_is_seen_where_no_rate_is_learned() -> None:
    own = {"addresses": 200, "test_fps": 100_000, "settle_s": 0.001, "maximum_fps": 100_000, "resolution_percent": 20}
    result, _ = measure("address_learning", TABLE.format(100), "1,2,3", address_learning=own)
    assert "at each the device knew 97 of 200: its table may hold no more" in result.rows[0].remark


def test_a_search_that_ends_at_its_limit_says_at_least() -> None:
    result, records = caching(TABLE.format(5000), addresses=300, most_addresses=300)
    assert value(result.rows[0], "addresses") == 300
    assert result.rows[0].figures["addresses"].bound == "at least"
    assert "64 byte: at least 300 addresses: the search went no further" in result.remarks
    assert len(records) == 1


def test_a_device_that_knows_all_floods_nothing_and_one_that_learns_nothing_all() -> None:
    result, _ = caching(FOUR, addresses=50, most_addresses=50)
    assert value(result.rows[0], "addresses") == 50
    result, _ = caching(TABLE.format(3), addresses=8, most_addresses=8)
    assert result.rows[0].figures == {}
    assert result.rows[0].remark == "no address was learned"


def test_every_trial_is_followed_by_the_ageing_time() -> None:
    _, records = caching(TABLE.format(20), addresses=10, most_addresses=30, ageing_s=2)
    assert {record.trial.phases.rest_ns for record in records} == {2_200_000_000}


def test_a_trial_that_outlasts_the_ageing_time_is_refused() -> None:
    with pytest.raises(
        PlanError, match="learning_fps: the device forgets the first of 1000 addresses before it has learned the last"
    ):
        caching(TABLE.format(20), addresses=10, most_addresses=1000, ageing_s=2, learning_fps=100)
    with pytest.raises(PlanError, match="test_fps: 1000 test frames take longer than"):
        caching(TABLE.format(20), addresses=10, most_addresses=1000, ageing_s=2, test_fps=100)


def test_a_device_that_forgets_sooner_than_stated_shows_fewer_addresses() -> None:
    """Its table holds 1000, but what was learned more than 1 ms before is gone when its frame comes."""
    toml = TABLE.format(1000) + "ageing_s = 0.005\n"
    result, _ = caching(toml, addresses=256, most_addresses=2000)
    # Each address is tested a learning time and a settling time after it was learned: N / 100 000 + 1 ms.
    assert value(result.rows[0], "addresses") == pytest.approx(400, abs=2)


@pytest.mark.parametrize("rate", [2_000.0, 50_000.0])
def test_the_learning_rate_is_found(rate: float) -> None:
    toml = TABLE.format(8000) + f"learning_per_second = {rate}\n"
    own = {"addresses": 200, "test_fps": 100_000, "settle_s": 0.001, "maximum_fps": 100_000, "resolution_percent": 2}
    result, records = measure("address_learning", toml, "1,2,3", address_learning=own)
    found = result.rows[0].figures["learning_rate"]
    assert found.bounds is not None
    assert found.value <= rate * 1.001
    assert found.bounds[1] >= rate * 0.999
    assert (found.uncertainty or 0) <= 0.02 * found.value * 1.05
    assert {len(record.facts.streams) for record in records} == {2}
    assert "200 addresses were offered in each trial" in result.remarks


def test_a_device_that_learns_at_any_rate_is_limited_by_the_tester() -> None:
    own = {"addresses": 200, "test_fps": 100_000, "settle_s": 0.001}
    result, _ = measure("address_learning", TABLE.format(8000), "1,2,3", address_learning=own)
    assert value(result.rows[0], "learning_rate") == pytest.approx(LINE)
    assert "64 byte: at least this rate: the tester offered no more" in result.remarks


def test_the_capacity_that_was_found_is_offered_to_the_learning_test() -> None:
    settings = {"learning_fps": 1000, "test_fps": 100_000, "settle_s": 0.001}
    own = plan("address_caching", ports=["1", "2", "3"], phases=PHASES, frame_bytes=[64]).model_dump(mode="json")
    own |= {"methods": ["address_caching", "address_learning"], "pattern": None}
    own["address_caching"] |= settings | {"addresses": 10, "most_addresses": 100}
    own["address_learning"] = {"test_fps": 100_000, "maximum_fps": 10_000, "resolution_percent": 10}
    own = {key: one for key, one in own.items() if one is not None and key != "stream"}
    both = plan("throughput").model_validate(own)
    result, _ = carry_out(both, device(TABLE.format(50) + "learning_per_second = 4000"))
    assert "47 addresses were offered in each trial" in result.remarks
    assert value(result.rows[0], "learning_rate") == pytest.approx(4000, rel=0.1)


# 5.10


def test_a_broadcast_reaches_every_port_at_full_rate() -> None:
    toml = FOUR + "forwarding.constant_ns = 1000\nforwarding.ns_per_byte = 0\n"
    result, records = measure("broadcast", toml, broadcast={"trial_s": 0.02})
    assert value(result.rows[0], "throughput") == pytest.approx(LINE, rel=0.001)
    assert [row.case for row in result.rows[1:]] == ["1 to 2", "1 to 3", "1 to 4"]
    for row in result.rows[1:]:
        assert (value(row, "loss"), value(row, "min"), value(row, "max")) == (0, 1000, 1000)
    assert len(records) == 1
    offered = records[0].facts.sent.offered_frames
    received = records[0].facts.tracked.forwarded_frames + sum(
        one.misdirected_frames for one in records[0].facts.receivers
    )
    assert received == 3 * offered


def test_a_sender_that_begins_late_and_catches_up_does_not_raise_the_throughput() -> None:
    """1270 frames/s of at most 1000: the host held it up before its first frame, and not between two."""

    def late(_: int, trial: Trial, facts: Facts) -> Facts:
        (port,) = (one for one in facts.transmitters if trial.frames_of(one.port))
        sent = port.sent.model_copy(update={"first_sent_ns": port.sent.first_sent_ns + trial.duration_ns // 5})
        return facts.model_copy(update={"transmitters": [port.model_copy(update={"sent": sent})]})

    own = plan("broadcast", ports=["1", "2"], phases=PHASES, frame_bytes=[64], broadcast={"maximum_fps": 1000})
    result, records = carry_out(own, device(FOUR), late)
    assert records[0].valid and records[0].offered_fps > 1200
    assert value(result.rows[0], "throughput") == 1000


def test_the_slowest_port_decides_the_broadcast_throughput() -> None:
    """A thousandth is lost on the way to one port only: no load reaches all."""
    toml = FOUR + "[clock_offset_ppm]\n3 = -1000\n[output]\nbuffer_bytes = 128\n"
    result, _ = measure("broadcast", toml, broadcast={"trial_s": 0.05, "resolution_percent": 0.05})
    assert value(result.rows[0], "throughput") == pytest.approx(LINE * 0.999, rel=0.001)
    assert value(result.rows[0], "throughput") < LINE * 0.9995


def test_loss_at_one_port_is_seen_there() -> None:
    toml = FOUR + "[[pair]]\nfrom_ports = [1]\nto_ports = [4]\nloss = { ratio = 1.0 }"
    result, _ = measure("broadcast", toml, broadcast={"trial_s": 0.001})
    assert result.rows[0].remark.startswith("no load reached all ports")
    assert [value(row, "loss") for row in result.rows[1:]] == [0, 0, 100]


# The device


def test_an_unknown_destination_is_flooded_to_all_other_ports_and_a_known_one_is_not() -> None:
    own = plan("broadcast", ports=["1", "2", "3", "4"], phases=PHASES, frame_bytes=[64])
    from keisoku.subjects.device.engine.simulated import routes_between
    from keisoku.subjects.device.engine.traffic import Traffic
    from keisoku.subjects.device.method.method_input import MethodInput

    traffic = Traffic(routes_between(own.pairs()), own.contents(), own.seed)
    engine = SimulatedEngine(device(TABLE.format(100)), [1, 2, 3, 4], traffic)
    inputs = MethodInput(own, engine.capabilities, Bias(exact=True))
    trial = inputs.trial("test", 64, 1000, 0.02)
    flows = (
        Flow(transmit=0, receive=1, modify=("Ether.src=increment(02:aa:00:00:00:00, count=5)",)),
        Flow(transmit=1, receive=0, modify=("Ether.dst=increment(02:aa:00:00:00:00, count=10)",), start_ns=10_000_000),
    )
    engine.start(trial.model_copy(update={"flows": flows}), stream=1, seed=1)
    facts, _ = engine.finish()
    assert [stream.offered_frames for stream in facts.streams] == [20, 10]
    assert [stream.tracked.lost_frames for stream in facts.streams] == [0, 0]
    # Half of the addresses are not known: five frames reach both other ports as well.
    assert {one.port: one.misdirected_frames for one in facts.receivers} == {0: 0, 1: 0, 2: 5, 3: 5}


def test_a_frame_follows_its_address_not_the_plan() -> None:
    """The tester's third port says that it has the second one's address."""
    own = plan("broadcast", ports=["1", "2", "3"], phases=PHASES, frame_bytes=[64])
    from keisoku.subjects.device.engine.simulated import routes_between
    from keisoku.subjects.device.engine.traffic import Traffic
    from keisoku.subjects.device.method.method_input import MethodInput

    traffic = Traffic(routes_between(own.pairs()), own.contents(), own.seed)
    engine = SimulatedEngine(device(TABLE.format(100)), [1, 2, 3], traffic)
    inputs = MethodInput(own, engine.capabilities, Bias(exact=True))
    trial = inputs.trial("test", 64, 1000, 0.02)
    flows = (
        Flow(transmit=0, receive=1),
        Flow(transmit=2, receive=0, modify=("Ether.src=list(02:00:00:00:00:01)",), start_ns=9_500_000, share=0.1),
    )
    engine.start(trial.model_copy(update={"flows": flows}), stream=1, seed=1)
    facts, _ = engine.finish()
    assert facts.streams[0].tracked.forwarded_frames == 10
    assert {one.port: one.misdirected_frames for one in facts.receivers} == {0: 0, 1: 0, 2: 10}


def test_every_procedure_is_described_once() -> None:
    names = ["forwarding", "congestion", "address_caching", "address_learning", "errored_frames", "broadcast"]
    assert all(replace(PROCEDURES[name]) == PROCEDURES[name] for name in names)
    assert PROCEDURES["forward_pressure"].needs == ("short_gap",)

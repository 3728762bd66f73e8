"""Balance of flows on simulated devices whose hash is known: verdicts, deciding fields, moved flows, sprayed ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.simulated_trials import carry_out, device, plan

from keisoku.errors import PlanError
from keisoku.ground.run.result import Result, Row
from keisoku.ground.simulated_device.spreading import Spread
from keisoku.subjects.device.engine.simulated import SimulatedEngine, routes_between
from keisoku.subjects.device.engine.traffic import Traffic
from keisoku.subjects.device.plan.ability import check_ability
from keisoku.subjects.device.plot.device import Device
from keisoku.subjects.device.procedure.balance.balance import ALL, MEMBER, PROCEDURE
from keisoku.subjects.device.procedure.balance.deciding import FIELD
from keisoku.subjects.device.procedure.balance.moves import EVENT
from keisoku.subjects.device.procedure.balance.plot import balance_plot
from keisoku.subjects.device.procedure.balance.settings import parts
from keisoku.subjects.device.record.run import DeviceRun
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.report.setup import setup

PORTS = ("1", "2", "3", "4", "5")
BY_SOURCE = 'fields = ["IP.src", "UDP.sport"]\n'


def spreading(own: str, more: str = "") -> str:
    return f"ports = 5\nlink_bits_per_second = 1_000_000_000\n[spread]\nports = [2, 3, 4, 5]\n{own}{more}"


def balance(toml: str, seed: int = 1, headers: str = "ipv4", **own: Any) -> tuple[Result, list[TrialRecord]]:
    settings = {"resolution_percent": 4} | own
    return carry_out(
        plan("balance", ports=PORTS, frame_bytes=[128], seed=seed, headers=headers, balance=settings), device(toml)
    )


def whole(result: Result) -> Row:
    return next(row for row in result.rows if row.case == ALL)


def group(result: Result, name: str) -> list[Row]:
    return [row for row in result.rows if row.group == name]


def counts(row: Row) -> dict[str, float]:
    return {name: quantity.value for name, quantity in row.figures.items()}


def deciding(result: Result) -> set[str]:
    return {row.case for row in group(result, FIELD) if row.remark == "decides"}


def test_an_even_hash_is_as_even_as_a_random_one_and_every_flow_is_counted() -> None:
    result, (record,) = balance(spreading(BY_SOURCE))
    found = whole(result)
    assert found.remark == "as even as a random hash"
    members = group(result, MEMBER)
    assert sum(row.figures["flows"].value for row in members) == found.figures["flows"].value
    assert len(record.facts.streams) == found.figures["flows"].value
    assert sum(row.figures["frames"].value for row in members) == record.facts.sent.offered_frames
    assert all(row.figures["expected_share"].value == 25 for row in members)
    assert not result.flags
    assert str(int(found.figures["flows"].value)) in result.remarks[0], "the number of flows is said"


def test_a_hash_that_prefers_a_member_is_uneven_with_an_interval_around_the_truth() -> None:
    result, _ = balance(spreading(BY_SOURCE + "weights = [1.0, 1.0, 2.0, 1.0]\n"))
    assert whole(result).remark.startswith("uneven: member 3 carries ")
    assert result.flagged("uneven-balance")
    ends = group(result, MEMBER)[2].figures["flow_share"].bounds
    assert ends is not None and ends[0] < 40 < ends[1]


def test_members_with_expected_weights_are_even() -> None:
    result, _ = balance(spreading(BY_SOURCE + "weights = [1.0, 1.0, 2.0, 1.0]\n"), weights="1:1:2:1")
    assert whole(result).remark == "as even as a random hash"
    assert [row.figures["expected_share"].value for row in group(result, MEMBER)] == pytest.approx([20, 20, 40, 20])


def test_flows_in_turn_are_more_even_than_a_random_hash_and_not_uneven() -> None:
    result, _ = balance(spreading(BY_SOURCE + "turns = true\n"))
    assert whole(result).remark.startswith("more even than a random hash")
    assert not result.flags


def test_two_stages_with_one_hash_are_polarised_and_with_two_are_not() -> None:
    staged = BY_SOURCE + "stages = [2, 2]\n"
    result, _ = balance(spreading(staged + "same_hash = true\n"))
    assert whole(result).remark.startswith("polarised: members 2, 3 get no flow")
    assert result.flagged("polarised-balance")
    result, _ = balance(spreading(staged))
    assert whole(result).remark == "as even as a random hash"


@pytest.mark.parametrize(
    ("fields", "headers", "names"),
    [
        ("Ether.src", "ipv4", {"source MAC address"}),
        ("IP.src IP.dst", "ipv4", {"source IPv4 address", "destination IPv4 address"}),
        ("IP.tos UDP.dport", "ipv4", {"DSCP of IPv4", "UDP destination port"}),
        ("IPv6.src IPv6.fl", "ipv6", {"source IPv6 address", "IPv6 flow label"}),
        ("IP.src UDP.sport", "Ether()/IP()/UDP(dport=4789)/VXLAN()/Ether()/IP()/UDP()", None),
        ("IP[2].src", "Ether()/IP(proto=47)/GRE()/IP()/UDP()", {"inner source IPv4 address"}),
    ],
)
def test_the_fields_that_a_device_hashes_decide_and_no_others(
    fields: str, headers: str, names: set[str] | None
) -> None:
    listed = ", ".join(f'"{name}"' for name in fields.split())
    network = "2001:2:0:8000::/49" if headers == "ipv6" else "198.19.0.0/16"
    toml = spreading(f"fields = [{listed}]\n")
    result, _ = balance(toml, headers=headers, fields=True, destinations=network)
    assert deciding(result) == (names or {"source IPv4 address", "UDP source port"})
    assert all(row.figures["flows"].value >= 21 for row in group(result, FIELD))


def test_a_device_that_hashes_nothing_that_varies_has_one_member() -> None:
    result, _ = balance(spreading('fields = ["IP.dst"]\n'), fields=True)
    assert whole(result).remark.startswith("every flow took one member")
    assert deciding(result) == set()


def test_only_fields_that_are_named_vary() -> None:
    by_port = spreading('fields = ["UDP.sport"]\n')
    result, _ = balance(by_port, vary="UDP.dport, Ether.src")
    assert whole(result).figures["members"].value == 1
    result, _ = balance(by_port, vary="UDP.sport")
    assert whole(result).remark == "as even as a random hash"


def test_resilient_hashing_moves_only_flows_of_the_lost_member() -> None:
    result, records = balance(spreading(BY_SOURCE + "resilient = true\nlost = 4\n"), event="member-lost")
    lost, back = group(result, EVENT)
    before = [stream.egress.stays[0].port for stream in records[-1].facts.streams if stream.egress is not None]
    assert counts(lost) | {"interruption": 0} == {
        "flows": len(before),
        "moved": before.count(3),
        "moved_needlessly": 0,
        "interruption": 0,
    }
    assert counts(back)["moved"] == before.count(3) and counts(back)["moved_needlessly"] == 0
    ends = lost.figures["interruption"].bounds
    assert ends is not None and ends[0] <= 50e6 <= ends[1], "the outage of the device"


def test_an_event_trial_offers_whole_frames_of_each_flow_whatever_their_number() -> None:
    """397 flows shared 11 000 frames, were sent 27 each, and the trial was invalid: the tester offered too few."""
    toml = "ports = 7\n[spread]\nports = [2, 3, 4, 5, 6, 7]\n" + BY_SOURCE
    own = {"resolution_percent": 8, "event": "member-lost", "stable_s": 0.3, "watch_s": 0.4}
    asked = plan("balance", ports=("1", "2", "3", "4", "5", "6", "7"), frame_bytes=[128], balance=own)
    result, records = carry_out(asked, device(toml))
    assert len(group(result, EVENT)) == 2
    assert all(record.intended_frames == record.facts.sent.offered_frames for record in records)


@pytest.mark.parametrize("mapping", ["threshold", "modulo"])
def test_flows_that_move_though_their_member_stays_are_counted(mapping: str) -> None:
    """As many as the device itself moves."""
    toml = spreading(f'{BY_SOURCE}mapping = "{mapping}"\n')
    result, records = balance(toml, event="member-lost")
    spread = device(toml).spread
    assert isinstance(spread, Spread)
    lost, _ = group(result, EVENT)
    moved = 0
    for stream in records[-1].facts.streams:
        assert stream.egress is not None
        ports = [stay.port for stay in stream.egress.stays]
        moved += ports[0] != 4 and ports[1:2] not in ([], [ports[0]])
    assert lost.figures["moved_needlessly"].value == moved > 0
    assert "moved though their member stayed" in lost.remark


def test_frames_that_are_sprayed_are_told_from_flowlets_and_their_reordering_is_counted() -> None:
    late = "[[pair]]\nfrom_ports = [1]\nto_ports = [5]\nextra_latency_ns = 900_000_000.0\n"
    result, records = balance(spreading("spray_frames = 1\n", late), fields=True)
    found = whole(result)
    assert found.remark.endswith("frames arrive reordered: frame by frame")
    assert found.figures["sprayed"].value == found.figures["flows"].value
    reordered = sum(stream.tracked.reordered.count for stream in records[0].facts.streams)
    assert found.figures["reordered"].value == reordered > 100
    assert result.flagged("sprayed-flows")
    assert "deviation" not in found.figures, "flows without a member have no balance"
    assert [row.remark for row in group(result, FIELD)] == ["not measured, as most flows have no member of their own"]
    result, _ = balance(spreading("spray_frames = 5\n"), frames_per_flow=20)
    assert whole(result).remark.endswith(": in flowlets")
    assert whole(result).figures["stay"].value > 4


def test_ways_of_one_latency_reorder_nothing() -> None:
    result, _ = balance(spreading("spray_frames = 1\n"))
    assert whole(result).figures["reordered"].value == 0


def test_elephants_show_what_even_flows_mean_for_bytes() -> None:
    result, (record,) = balance(spreading(BY_SOURCE), elephants=8)
    frames = [stream.offered_frames for stream in record.facts.streams]
    assert frames[:8] == [1000] * 8 and set(frames[8:]) == {10}
    loads = [row.figures["frame_share"].value for row in group(result, MEMBER)]
    assert sum(loads) == pytest.approx(100)
    whole_frames = sum(row.figures["frames"].value for row in group(result, MEMBER))
    assert whole_frames == sum(frames)


def test_more_flows_than_one_trial_has_are_sent_in_several() -> None:
    result, records = balance(spreading(BY_SOURCE), flows=9000, frames_per_flow=2, rate_fps=50_000)
    assert [len(record.facts.streams) for record in records] == [3001] * 3
    assert whole(result).figures["flows"].value == 9003
    modify = [record.trial.flows[0].modify for record in records]
    assert len(set(modify)) == 3, "they are other flows"


def test_the_same_seed_draws_the_same_flows() -> None:
    first, second, other = (balance(spreading(BY_SOURCE), seed=seed)[0].rows for seed in (1, 1, 2))
    assert first == second != other


@pytest.mark.parametrize(
    ("own", "problem"),
    [
        ({"weights": "1:2"}, "2 weights are for 4 members"),
        ({"weights": "1:two:1:1"}, "is no list of shares"),
        ({"vary": "sport"}, "is no field"),
        ({"vary": "TCP.sport"}, "there is no TCP"),
        ({"vary": "IP.dst"}, "no network behind them is known"),
        ({"destinations": "2001:2:0:8000::/49"}, "of another version"),
        ({"sources": "here"}, "is no network"),
        ({"resolution_percent": 0.1}, "needs more than"),
    ],
)
def test_settings_that_do_not_fit_are_refused_in_one_sentence(own: dict[str, Any], problem: str) -> None:
    with pytest.raises(PlanError, match=problem):
        balance(spreading(BY_SOURCE), **own)


@pytest.mark.parametrize("flows", [2, 3, 777, 4093, 4094, 9000, 100_000])
def test_flows_of_a_trial_are_a_prime_number(flows: int) -> None:
    """777 flows over 3 members that took frames in turn once looked as if a hash had spread them, exactly evenly."""
    found = parts(flows)
    assert sum(found) >= flows and max(found) <= 4096
    assert all(number % factor for number in found for factor in range(2, number))


@pytest.mark.parametrize(
    "own", [{"streams": 4}, {"modify": ["UDP.sport=increment(1, count=4)"]}, {"networks": 4}, {"mix": [128, 256]}]
)
def test_flows_that_a_plan_makes_by_other_means_are_refused(own: dict[str, Any]) -> None:
    asked = plan("balance", ports=PORTS, frame_bytes=[128], **own)
    with pytest.raises(PlanError, match="balance makes its flows itself"):
        check_ability(asked, SimulatedEngine(device(spreading(BY_SOURCE))).capabilities)


def test_the_picture_has_the_sender_on_one_side_and_the_members_on_the_other() -> None:
    """Four of five ports stood on the side of the senders."""
    asked = plan("balance", ports=PORTS, frame_bytes=[128])
    traffic = Traffic(routes_between(asked.pairs()), asked.contents(), listening=asked.listening())
    context = SimulatedEngine(device(spreading(BY_SOURCE)), range(1, 6), traffic).context()
    found = setup(Device(0, "test", DeviceRun(Path(), {}, context, [], [])))
    assert found is not None
    assert [[port.name for port in side] for side in found.columns] == [["port 1"], [f"port {n}" for n in range(2, 6)]]


def test_the_plot_has_each_member_with_its_share_beside_the_expected_one() -> None:
    result, _ = balance(spreading(BY_SOURCE))
    plot = balance_plot([Device(0, "test", DeviceRun(Path(), {}, {}, [], [result]))])
    assert plot is not None
    bars, points = plot.traces
    shares = [row.figures["flow_share"].value for row in group(result, MEMBER)]
    assert bars["y"] == [25] * 4 and points["y"] == shares
    assert bars["x"] == [f"member {n}, port {n + 1}" for n in range(1, 5)]
    sprayed, _ = balance(spreading("spray_frames = 1\n"))
    assert balance_plot([Device(0, "test", DeviceRun(Path(), {}, {}, [], [sprayed]))]) is None


def test_an_event_that_the_device_does_not_offer_is_refused_before_the_first_frame() -> None:
    asked = plan("balance", ports=PORTS, frame_bytes=[128], balance={"event": "link-down"})
    capabilities = SimulatedEngine(device(spreading(BY_SOURCE))).capabilities
    with pytest.raises(PlanError, match="offers no event 'link-down'; use member-lost"):
        check_ability(asked, capabilities)


@pytest.mark.parametrize(
    ("own", "problem"),
    [
        ("ports = [2, 2]", "listed twice"),
        ("ports = [2, 3]\nweights = [1.0]", "are for 2 ports"),
        ("ports = [2, 3]\nstages = [2, 2]", "is not the number of ports"),
        ("ports = [2, 3]\nsame_hash = true", "there is one stage"),
        ("ports = [2, 3]\nlost = 4", "is no member"),
        ('ports = [2, 3]\nfields = ["ip"]', "is no field"),
        ("ports = [2, 7]", "there is no port 7"),
        ("ports = [2, 3]\n[address_table]\nentries = 10", "spreads no flows"),
        ('ports = [2, 3]\nweights = [1.0, 2.0]\nmapping = "modulo"', "a threshold only"),
    ],
)
def test_a_spread_that_cannot_be_is_refused(own: str, problem: str) -> None:
    with pytest.raises(PlanError, match=problem):
        device(f"ports = 5\n[spread]\n{own}")


def test_two_procedures_that_use_the_ports_in_other_ways_are_not_measured_together() -> None:
    with pytest.raises(PlanError, match="one after the other"):
        plan("balance", ports=PORTS, frame_bytes=[128]).model_validate(
            {"methods": ["balance", "port_map"], "dut": "sim:test", "ports": PORTS, "frame_bytes": [128]}
        )


def test_a_client_of_the_server_runs_no_command_by_an_event() -> None:
    PROCEDURE.from_afar({"event": "member-lost"})
    for asked in ({"event": "touch /tmp/here"}, {"event": "member-lost", "undo": "touch /tmp/here"}):
        with pytest.raises(PlanError, match="may only be given on its own command line"):
            PROCEDURE.from_afar(asked)

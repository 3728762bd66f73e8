"""Convergence on simulated devices whose interruptions are known to the picosecond."""

import math
import random

import pytest
from support.simulated_trials import carry_out, device, plan

from keisoku.errors import PlanError
from keisoku.ground.run.result import Result
from keisoku.subjects.device.analysis.outage import frame_gap_ns, lateness_ns, moments, reaches
from keisoku.subjects.device.engine.simulated import SimulatedEngine, routes_between
from keisoku.subjects.device.engine.traffic import Traffic
from keisoku.subjects.device.plan.ability import check_ability
from keisoku.subjects.device.procedure.rfc6412.convergence import HOPS
from keisoku.subjects.device.record.trial_record import TrialRecord

MS = 1_000_000


def measured(
    toml: str, flows: int = 1, rate_fps: float = 100_000, event: str = "link-down", **settings: object
) -> tuple[Result, TrialRecord]:
    own = {"event": event, "rate_fps": rate_fps, "stable_s": 0.1, "watch_s": 1.0} | settings
    made = plan("convergence", frame_bytes=[64], streams=flows, convergence=own)
    result, (record,) = carry_out(made, device(toml))
    return result, record


def interruption(**values: object) -> str:
    text = {"event": '"link-down"'} | {name: str(value).lower() for name, value in values.items()}
    return "[[interruption]]\n" + "".join(f"{name} = {value}\n" for name, value in text.items())


@pytest.mark.parametrize("seed", range(24))
def test_seeded_outages_are_recovered_to_one_frame_gap_each(seed: int) -> None:
    chance = random.Random(f"convergence {seed}")
    flows = round(10 ** chance.uniform(0, 3))
    length_ns = round(10 ** chance.uniform(6, math.log10(3e9)))
    begin_ns, step_ns = chance.randrange(50 * MS), chance.choice([0, 0, 1000, 50_000])
    toml = interruption(begin_ns=begin_ns, duration_ns=length_ns, step_ns=step_ns)
    rate_fps = chance.uniform(20_000, 50_000)
    _, record = measured(toml, flows, rate_fps, watch_s=(begin_ns + length_ns + step_ns * flows) / 1e9 + 0.2)
    before, event, undone = reaches(record)
    assert not before.affected and not undone.affected
    assert event.moment is not None and event.moment.lowest == event.moment.highest == 100 * MS
    for impact in event.impacts:
        truth_ns = length_ns + step_ns * impact.flow
        gap_ns = frame_gap_ns(record, record.facts.streams[impact.flow])
        frames = record.facts.streams[impact.flow].offered_frames
        assert gap_ns == pytest.approx(flows / rate_fps * 1e9, rel=1.1 / frames, abs=4)
        if not impact.is_affected:
            assert truth_ns < gap_ns
            continue
        assert impact.interruption.lowest <= truth_ns <= impact.interruption.highest
        assert impact.interruption.half <= gap_ns * (1 + 1e-9)
        assert abs(impact.lost - truth_ns / gap_ns) <= 1 + impact.lost / frames
        assert impact.onset is not None and impact.onset.lowest <= begin_ns <= impact.onset.highest
        assert impact.convergence is not None
        assert impact.convergence.lowest <= begin_ns + truth_ns <= impact.convergence.highest


@pytest.mark.parametrize("seed", range(12))
def test_only_a_stop_of_the_sender_at_an_end_of_an_outage_hides_when_that_was(seed: int) -> None:
    """Each end was as uncertain as all stops during the outage were long together."""
    chance = random.Random(f"stops {seed}")
    begin_ns, length_ns = chance.randrange(50 * MS), round(10 ** chance.uniform(7, 8.7))
    rate_fps = chance.uniform(100_000, 300_000)
    host = f"[host]\nstop_ms = {chance.uniform(1, 6)}\nevery_ms = {chance.uniform(50, 100)}\n"
    made = plan(
        "convergence",
        frame_bytes=[64],
        streams=3,
        convergence={
            "event": "link-down",
            "rate_fps": rate_fps,
            "stable_s": 0.1,
            "watch_s": (begin_ns + length_ns) / 1e9 + 0.2,
        },
    )
    _, records = carry_out(made, device(interruption(begin_ns=begin_ns, duration_ns=length_ns) + host))
    truths_ns = 100 * MS + begin_ns, 100 * MS + begin_ns + length_ns
    for record in records:
        sent, event = record.facts.sent, reaches(record)[1]
        assert sent.interruptions > 1 and len(event.affected) == 3
        for impact in event.affected:
            assert impact.interruption.lowest <= length_ns <= impact.interruption.highest
            (outage,) = impact.outages
            most_ns = frame_gap_ns(record, record.facts.streams[impact.flow]) + lateness_ns(record)
            for found, truth_ns in zip((outage.begin, outage.end), truths_ns, strict=True):
                assert found.lowest <= truth_ns <= found.highest
                near = [by_ns for at_ns, by_ns in sent.shifts if found.lowest < at_ns < found.highest + by_ns]
                assert found.highest - found.lowest <= most_ns + sum(near) + 1


@pytest.mark.parametrize("seed", range(12))
def test_an_outage_by_lost_frames_is_not_shorter_because_the_host_stopped_the_sender(seed: int) -> None:
    """By loss, an outage was a tenth shorter where the host had the CPU for a tenth of it, without an uncertainty."""
    chance = random.Random(f"by loss {seed}")
    begin_ns, length_ns = chance.randrange(50 * MS), round(10 ** chance.uniform(7.7, 8.7))
    stop_ms, flows = chance.uniform(3, 8), chance.choice([1, 3, 40])
    host = f"[host]\nstop_ms = {stop_ms}\nevery_ms = {chance.uniform(60, 100)}\n"
    own = {"event": "link-down", "rate_fps": 50_000, "stable_s": 0.1, "watch_s": (begin_ns + length_ns) / 1e9 + 0.2}
    made = plan("convergence", frame_bytes=[64], streams=flows, convergence=own, seed=seed)
    result, records = carry_out(made, device(interruption(begin_ns=begin_ns, duration_ns=length_ns) + host))
    assert records[-1].facts.sent.interruptions > 1
    found = result.rows[0].figures["loss_derived"]
    low, high = found.bounds or (0.0, 0.0)
    assert low <= length_ns <= high and low <= found.value <= high
    # At either end a frame gap, what may be caught up with, and one stop at most.
    assert high - low <= 2 * (flows * 20_000 + 64 * 20_000 + stop_ms * MS)


def test_an_outage_by_lost_frames_is_at_least_that_long_if_a_flow_did_not_come_back() -> None:
    result, _ = measured(interruption(begin_ns=0, duration_ns=5_000 * MS), flows=2)
    found = result.rows[0].figures["loss_derived"]
    assert found.bound == "at least" and found.value == pytest.approx(2000 * MS, rel=0.001)


def test_the_figures_are_those_of_the_least_the_median_and_the_last_flow() -> None:
    result, _ = measured(interruption(begin_ns=3 * MS, duration_ns=20 * MS, step_ns=MS), flows=11)
    row, undone = result.rows
    assert (row.case, undone.case, row.group) == ("link-down", "link-down undone", "Event")
    value = {name: figure.value for name, figure in row.figures.items()}
    gap_ns = 11 / 100_000 * 1e9
    expected = {
        "onset": 3,
        "interruption_least": 20,
        "interruption_median": 25,
        "interruption": 30,
        "convergence_first": 23,
        "convergence_median": 28,
        "convergence": 33,
    }
    for name, milliseconds in expected.items():
        assert value[name] == pytest.approx(milliseconds * MS, abs=gap_ns), name
        assert row.figures[name].covers == "resolution"
        low, high = row.figures[name].bounds or (0.0, 0.0)
        assert low <= milliseconds * MS <= high and high - low <= 2.1 * gap_ns
    assert (value["flows"], value["affected"], value["outages"], value["moved"]) == (11, 11, 11, 0)
    assert value["lost"] == pytest.approx(11 * 25 * MS / gap_ns, abs=11)
    # What RFC 6412 and 6413 have instead: the mean over all flows, and whole sampling intervals.
    assert value["loss_derived"] == pytest.approx(25 * MS, abs=gap_ns)
    low, high = row.figures["loss_derived"].bounds or (0.0, 0.0)
    assert low <= 25 * MS <= high and high - low <= 2.1 * gap_ns
    assert value["rate_derived"] == pytest.approx(30 * MS, abs=20 * MS)
    assert undone.remark == "no loss" and undone.figures["interruption"].value == 0


def test_frames_that_were_still_in_a_slow_device_when_its_link_was_lost_are_lost_by_that() -> None:
    """Routers with OSPF on a busy host: "0.0 ms", where the kernel said 52.8 ms. The call that took the link returned
    after the interruption was over, so it was neither begun in the event's time nor carried into it."""
    _, record = measured(interruption(begin_ns=0, duration_ns=50 * MS))
    (stream,), happened = record.facts.streams, record.facts.happened
    assert stream.tracked.latency is not None
    slow = stream.tracked.latency.model_copy(update={"max_ns": 8.0 * MS})
    tracked = stream.tracked.model_copy(update={"latency": slow})
    taken = happened[0].model_copy(update={"begun_ns": 105 * MS, "ended_ns": 170 * MS})
    changed = {"happened": [taken, *happened[1:]], "streams": [stream.model_copy(update={"tracked": tracked})]}
    before, event, _ = reaches(record.model_copy(update={"facts": record.facts.model_copy(update=changed)}))
    assert not before.affected
    (impact,) = event.affected
    assert impact.interruption.lowest <= 50 * MS <= impact.interruption.highest
    assert impact.onset is not None and impact.onset.lowest == 0


def test_flows_that_no_event_touches_are_not_interrupted() -> None:
    result, _ = measured(interruption(duration_ns=20 * MS, first_flow=2, last_flow=4), flows=10)
    assert result.rows[0].figures["affected"].value == 3
    assert result.rows[0].figures["flows"].value == 10


def test_several_outages_of_one_event_are_a_brown_out_and_add_up() -> None:
    toml = "".join(interruption(begin_ns=at * MS, duration_ns=10 * MS) for at in (0, 50, 100))
    result, record = measured(toml)
    (row, _) = result.rows
    assert row.figures["outages"].value == 3
    assert row.figures["interruption"].value == pytest.approx(30 * MS, abs=3 * 10_000)
    assert row.figures["convergence"].value == pytest.approx(110 * MS, abs=10_000)
    assert row.remark == "1 flow was interrupted more than once"
    assert row.figures["lost"].value == record.facts.tracked.lost_frames


def test_each_of_several_events_has_its_own_interruption() -> None:
    toml = interruption(duration_ns=20 * MS) + interruption(duration_ns=5 * MS, by_undo=True)
    result, record = measured(toml, rounds=3, watch_s=0.2)
    cases = [f"link-down{undone} {number}" for number in (1, 2, 3) for undone in ("", " undone")]
    assert [row.case for row in result.rows] == cases
    lengths = [row.figures["interruption"].value / MS for row in result.rows]
    assert lengths == pytest.approx([20, 5] * 3, abs=0.01)
    assert [moment.lowest / MS for moment in moments(record)] == pytest.approx([100, 300, 500, 700, 900, 1100])


def test_different_events_happen_one_after_the_other_and_are_undone_in_reverse() -> None:
    toml = "".join(
        interruption(event=f'"{name}"', duration_ns=length * MS, by_undo=undone)
        for name, length, undone in (
            ("link-down", 20, False),
            ("route-withdrawn", 7, False),
            ("link-down", 5, True),
            ("route-withdrawn", 3, True),
        )
    )
    result, record = measured(toml, event="link-down,route-withdrawn", watch_s=0.2)
    assert [row.case for row in result.rows] == [
        "link-down",
        "route-withdrawn",
        "route-withdrawn undone",
        "link-down undone",
    ]
    lengths = [row.figures["interruption"].value / MS for row in result.rows]
    assert lengths == pytest.approx([20, 7, 3, 5], abs=0.01)
    assert [moment.lowest / MS for moment in moments(record)] == pytest.approx([100, 300, 500, 700])


def test_flows_that_leave_by_another_port_are_found_there_and_back() -> None:
    toml = "ports = 3\n" + interruption(duration_ns=20 * MS, last_flow=3, to_port=3)
    toml += interruption(duration_ns=5 * MS, last_flow=3, to_port=2, by_undo=True)
    own = {"event": "link-down", "rate_fps": 100_000, "stable_s": 0.1, "watch_s": 0.2}
    made = plan("convergence", ports=["1", "2", "3"], pattern="either", frame_bytes=[64], streams=10, convergence=own)
    result, (record,) = carry_out(made, device(toml))
    down, undone = result.rows
    for row, length in ((down, 20), (undone, 5)):
        assert row.figures["moved"].value == row.figures["affected"].value == 4
        assert row.figures["interruption"].value == pytest.approx(length * MS, abs=200_000)
        assert row.figures["reordered"].value == row.figures["duplicated"].value == 0
    _, event, back = reaches(record)
    assert [impact.port_after for impact in event.impacts] == [2] * 4 + [1] * 6
    assert [impact.port_after for impact in back.impacts] == [1] * 10
    assert record.facts.tracked.forwarded_frames + record.facts.tracked.lost_frames == 100_000 * 0.5
    assert sum(receiver.misdirected_frames for receiver in record.facts.receivers) == 0


def of_either_port(toml: str) -> TrialRecord:
    """A trial in which the link is lost, on a device by whose ports 2 and 3 frames may leave."""
    made = plan(
        "convergence",
        ports=("1", "2", "3"),
        pattern="either",
        frame_bytes=[64],
        convergence={"event": "link-down", "rate_fps": 10_000, "stable_s": 0.1, "watch_s": 0.1},
    )
    _, (record,) = carry_out(made, device(toml))
    return record


def test_frames_that_others_overtake_through_another_port_are_reordered() -> None:
    """An output was served as far as its own latency allows, so that frames of a slow one counted before they came."""
    toml = "ports = 3\n" + interruption(duration_ns=1, to_port=3)
    toml += "[[pair]]\nfrom_ports = [1]\nto_ports = [2]\nextra_latency_ns = 5_000_000.0\n"
    record = of_either_port(toml)
    (stream,) = record.facts.streams
    # Number 1001 is the first one by port 3, and overtakes all that were sent up to 5 ms before it.
    assert stream.tracked.reordered.ranges == [(952, 999)]
    assert stream.tracked.lost_frames == 1


def test_a_frame_that_is_sent_as_the_event_happens_does_not_hide_the_port_before() -> None:
    toml = "ports = 3\n" + interruption(duration_ns=1, to_port=3) + interruption(duration_ns=1, to_port=2, by_undo=True)
    record = of_either_port(toml)
    _, down, up = reaches(record)
    assert [(impact.port_before, impact.port_after) for impact in (*down.impacts, *up.impacts)] == [(1, 2), (2, 1)]


def test_thousands_of_prefixes_have_a_first_a_median_and_a_last() -> None:
    toml = interruption(begin_ns=10 * MS, duration_ns=20 * MS, step_ns=100_000)
    own = {"event": "link-down", "rate_fps": 1_000_000, "stable_s": 0.1, "watch_s": 0.6}
    made = plan("convergence", frame_bytes=[64], networks=3000, streams=3000, convergence=own)
    traffic = Traffic(routes_between(made.pairs()), made.contents())
    result, (record,) = carry_out(made, device("link_bits_per_second = 1e10\n" + toml))
    tables = traffic.tables(record.trial)
    assert len({table.frame(0)[30:34] for table in tables}) == 3000
    row = result.rows[0]
    assert row.figures["affected"].value == 3000
    gap_ns = frame_gap_ns(record, record.facts.streams[0])
    for name, number in (("convergence_first", 0), ("convergence_median", 1499.5), ("convergence", 2999)):
        assert row.figures[name].value == pytest.approx(30 * MS + number * 100_000, abs=gap_ns)


def test_frames_that_went_round_in_a_loop_are_told_from_another_way_by_their_hops() -> None:
    looped, other = list(range(3000, 3040)), list(range(5000, 15_000))
    toml = f"""
[[rewrite]]
changes = ["IP.ttl=-6"]
frames = {looped}
[[rewrite]]
changes = ["IP.ttl=-1"]
frames = {other}
"""
    result, _ = measured(interruption(duration_ns=20 * MS) + toml, rate_fps=20_000, hops=True, watch_s=0.5)
    rows = {row.case: row for row in result.rows if row.group == HOPS}
    assert {case: (row.figures["frames"].value, row.remark) for case, row in rows.items()} == {
        "10 to 4": (40, "a loop"),
        "10 to 9": (10_000, "another way"),
    }
    loop = rows["10 to 4"].figures
    assert loop["first"].value == pytest.approx(0.15, abs=1e-4)
    assert loop["longest"].value == pytest.approx(40 / 20_000, abs=1e-6)
    assert result.rows[0].figures["interruption"].value == pytest.approx(20 * MS, abs=60_000)


def test_short_loops_after_several_events_were_taken_for_another_way() -> None:
    # Three rounds of an event and its undoing, 0.5 s apart: a loop of 2 ms after each, another way between the two.
    starts = [2000 + 10_000 * place for place in range(6)]
    looped = [frame for start in starts for frame in range(start + 1000, start + 1040)]
    other = [frame for start in starts[::2] for frame in range(start + 1040, start + 10_000)]
    toml = f"""
[[rewrite]]
changes = ["IP.ttl=-6"]
frames = {looped}
[[rewrite]]
changes = ["IP.ttl=-1"]
frames = {other}
"""
    result, _ = measured(interruption(duration_ns=20 * MS) + toml, rate_fps=20_000, hops=True, watch_s=0.5, rounds=3)
    rows = {row.case: row for row in result.rows if row.group == HOPS}
    assert {case: row.remark for case, row in rows.items()} == {"10 to 4": "a loop", "10 to 9": "another way"}
    assert rows["10 to 4"].figures["longest"].value == pytest.approx(6 * 40 / 20_000, abs=1e-6)


def test_a_flow_that_does_not_come_back_before_it_is_undone_has_a_bound_and_the_time_from_the_undoing() -> None:
    result, _ = measured(interruption(duration_ns=250 * MS), watch_s=0.2)
    down, undone = result.rows
    assert down.figures["interruption"].bound == down.figures["convergence"].bound == "at least"
    assert down.figures["interruption"].value == pytest.approx(200 * MS, abs=20_000)
    assert down.remark == "1 flow did not come back in this time"
    assert undone.figures["interruption"].value == pytest.approx(50 * MS, abs=20_000)
    assert undone.figures["convergence"].value == pytest.approx(50 * MS, abs=20_000)
    assert undone.remark == "1 flow was interrupted already when it happened"
    assert undone.figures["lost"].value == 0, "frames are counted where the interruption began"


def test_a_flow_that_never_comes_back_has_a_bound_only() -> None:
    result, _ = measured(interruption(duration_ns=10_000 * MS))
    assert [row.figures["interruption"].bound for row in result.rows] == ["at least", "at least"]
    assert result.rows[1].figures["convergence"].value == pytest.approx(1000 * MS, abs=30_000)


def test_loss_before_the_event_is_a_row_of_its_own() -> None:
    toml = "[reset]\nduration_ns = 5_000_000\nat_ns = 30_000_000\n" + interruption(duration_ns=20 * MS)
    result, _ = measured(toml)
    assert [row.case for row in result.rows] == ["before the event", "link-down", "link-down undone"]
    assert result.rows[0].figures["interruption"].value == pytest.approx(5 * MS, abs=20_000)
    assert "onset" not in result.rows[0].figures


def test_without_an_event_interruptions_are_listed_without_the_time_of_their_cause() -> None:
    result, _ = measured("[reset]\nduration_ns = 5_000_000\nat_ns = 300_000_000\n", event="")
    (row,) = result.rows
    assert row.case == "no event"
    assert row.figures["interruption"].value == pytest.approx(5 * MS, abs=20_000)
    assert "convergence" not in row.figures


@pytest.mark.parametrize(
    ("toml", "settings", "said"),
    [
        ("", {"event": "link-down"}, "the device offers no event 'link-down'; leave it out, or use another device"),
        (interruption(duration_ns=1), {"event": "rebooted"}, "offers no event 'rebooted'; use link-down$"),
        (interruption(duration_ns=1), {"event": "link-dwon"}, "'link-dwon' is not offered"),
        (interruption(duration_ns=1), {"event": "ip link set x down"}, "no command can be an event here"),
        (interruption(duration_ns=1), {"event": "", "undo": "true"}, "there is no event to undo"),
    ],
)
def test_events_that_cannot_happen_are_refused(toml: str, settings: dict[str, str], said: str) -> None:
    made = plan("convergence", frame_bytes=[64], convergence=settings)
    with pytest.raises(PlanError, match=said.replace("(", r"\(")):
        check_ability(made, SimulatedEngine(device(toml)).capabilities)


def test_bursts_are_refused_because_their_gaps_are_not_alike() -> None:
    made = plan("convergence", frame_bytes=[64], pacing="bursts:16", convergence={"event": "link-down"})
    with pytest.raises(PlanError, match="must be constant"):
        carry_out(made, device(interruption(duration_ns=MS)))


def test_each_prefix_is_a_flow_of_its_own() -> None:
    made = plan("convergence", frame_bytes=[64], networks=16, streams=16, convergence={"stable_s": 0.1, "watch_s": 0.1})
    traffic = Traffic(routes_between(made.pairs()), made.contents())
    _, (record,) = carry_out(made, device(""))
    tables = traffic.tables(record.trial)
    found = {tuple(table.frame(0)[30:34]) for table in tables}
    assert found == {(198, 19, number, 1) for number in range(16)}
    assert len(tables) == len(record.facts.streams) == 16

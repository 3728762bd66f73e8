"""Interruptions from what both ends kept: exact where the truth is made here, packet by packet."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from keisoku.errors import PlanError
from keisoku.ground.run.criterion import Verdict
from keisoku.running.measurement.table import find
from keisoku.subjects.stream.outage.analysis import Interruption, Outcome, outcome_of
from keisoku.subjects.stream.outage.figures import interruption_lines, result_of
from keisoku.subjects.stream.outage.plot import outage_plots
from keisoku.subjects.stream.outage.settings import OutageSettings

MS = 1_000_000
FAR_AHEAD = 7_000_000 * MS
"""The far end's clock shows this much more."""
DELAY = 2 * MS
INTERVAL = 10 * MS


def schedule(start_ns: int, packets: int, flows: int = 1, slips: Any = ()) -> dict[str, Any]:
    skipped = sum(slip["last"] - slip["first"] + 1 for slip in slips if not slip["sent"])
    return {
        "start_ns": start_ns,
        "interval_ns": INTERVAL,
        "flows": flows,
        "late_ns": INTERVAL // 2,
        "next": packets * flows,
        "skipped": skipped,
        "slips": list(slips),
        "unlisted": 0,
    }


def arrival(number: int, sent_ns: int, ahead_ns: int, extra_ns: int = 0) -> dict[str, int]:
    return {"number": number, "sent_ns": sent_ns, "arrived_ns": sent_ns + DELAY + ahead_ns + extra_ns}


def arrivals(
    sent_ns: list[int], ahead_ns: int, lost: tuple[int, int] | None = None, dropped: int = 0
) -> dict[str, Any]:
    """Of a flow whose packets were sent then; those from the first to the last of `lost` did not come."""
    came = [number for number in range(len(sent_ns)) if lost is None or not lost[0] <= number <= lost[1]]
    of = {number: arrival(number, sent_ns[number], ahead_ns) for number in came}
    missing, pauses = [], []
    if lost and came and came[0] < lost[0] and came[-1] > lost[1]:
        before, after = of[lost[0] - 1], of[lost[1] + 1]
        missing = [
            {
                "first": lost[0],
                "last": lost[1],
                "count": lost[1] - lost[0] + 1,
                "after_ns": before["sent_ns"],
                "before_ns": after["sent_ns"],
            }
        ]
        pauses = [{"before": before, "after": after, "dropped": dropped, "held": 0}]
    return {
        "received": len(came),
        "duplicated": 0,
        "reordered": 0,
        "next": came[-1] + 1 if came else 0,
        "first": of[came[0]] if came else None,
        "last": of[came[-1]] if came else None,
        "missing": missing,
        "missing_kept_as": "list",
        "pauses": pauses,
        "unlisted": 0,
    }


def quiet_record(packets: int = 1000, flows: int = 1) -> dict[str, Any]:
    """Of a run in which nothing was lost."""
    start, far_start = 1_000 * MS, 1_001 * MS + FAR_AHEAD
    sent = [start + number * INTERVAL for number in range(packets)]
    far_sent = [far_start + number * INTERVAL for number in range(packets)]
    host: dict[str, Any] = {"stops": [], "unlisted": 0, "steps": [], "suspended": []}
    buckets = packets * INTERVAL // (100 * MS)

    def delays(start_ns: int, ahead_ns: int) -> dict[str, Any]:
        row = [10, DELAY + ahead_ns, DELAY + ahead_ns + 20_000, DELAY + ahead_ns + 100_000]
        return {"start_ns": start_ns, "width_ns": 100 * MS, "rows": [row] * buckets}

    near_flows: list[dict[str, Any]] = [
        {
            "flow": flow,
            "local": f"192.0.2.1:{5000 + flow}",
            "arrivals": arrivals(far_sent, -FAR_AHEAD),
            "heard": None,
            "earlier": [],
            "unknown": None,
            "connections": 0,
            "breaks": [],
        }
        for flow in range(flows)
    ]
    far_flows = [
        {"flow": flow, "begun": flow, "from": [], "arrivals": arrivals(sent, FAR_AHEAD)} for flow in range(flows)
    ]
    return {
        "near": {
            "now_ns": start + packets * INTERVAL,
            "sent": schedule(start, packets, flows),
            "flows": near_flows,
            "delays": delays(start, -FAR_AHEAD),
            "host": host,
            "refused": {},
        },
        "far": {
            "now_ns": far_start + packets * INTERVAL,
            "opened_ns": far_start,
            "sent": schedule(far_start, packets, flows),
            "flows": far_flows,
            "delays": delays(start + FAR_AHEAD, FAR_AHEAD),
            "host": copy.deepcopy(host),
            "refused": {},
        },
        "sessions": [],
        "marks": [],
        "ended_ns": start + packets * INTERVAL,
    }


def times(first: int = 0, last: int = 1000, start_ns: int = 1_000 * MS) -> list[int]:
    return [start_ns + number * INTERVAL for number in range(first, last)]


def only(found: Outcome, direction: str) -> Interruption:
    (one,) = [one for flow in found.directions[direction] for one in flow.interruptions]
    return one


def test_nothing_is_invented_where_nothing_is_lost() -> None:
    found = outcome_of(quiet_record(flows=3))
    for flows in found.directions.values():
        assert [flow.interruptions for flow in flows] == [[], [], []]
        assert all(flow.sent == flow.received == 1000 for flow in flows)
    result = result_of(found, OutageSettings(host="far"), "outage udp", "")
    forward = result.rows[0].figures
    assert forward["interruption"].bounds == (0.0, 0.01)
    assert forward["never"].value == 0


@given(first=some.integers(1, 900), length=some.integers(1, 90), direction=some.sampled_from(["forward", "reverse"]))
def test_lost_packets_are_an_interruption_known_to_an_interval(first: int, length: int, direction: str) -> None:
    record = quiet_record()
    start, ahead = (1_000 * MS, FAR_AHEAD) if direction == "forward" else (1_001 * MS + FAR_AHEAD, -FAR_AHEAD)
    there = record["far" if direction == "forward" else "near"]["flows"][0]
    there["arrivals"] = arrivals(times(start_ns=start), ahead, (first, first + length - 1))
    one = only(outcome_of(record), direction)
    assert (one.lost, one.cause, one.ended) == (length, "path", "same session")
    # Any time between the packet before and the first lost one, and alike at the end.
    assert one.length.lowest <= (length - 0.99) * INTERVAL and one.length.highest >= (length + 0.99) * INTERVAL
    assert one.length.highest - one.length.lowest <= 3 * INTERVAL
    began = (first - 1) * INTERVAL + (MS if direction == "reverse" else 0)
    assert one.begin.lowest == pytest.approx(began, abs=MS / 10)


def test_what_never_came_back_is_never_a_loss_of_nothing() -> None:
    record = quiet_record()
    record["near"]["flows"][0]["arrivals"] = arrivals(times(start_ns=1_001 * MS + FAR_AHEAD), -FAR_AHEAD, (600, 999))
    found = outcome_of(record)
    one = only(found, "reverse")
    assert one.ended == "never" and one.length.highest == float("inf") and one.lost == 400
    result = result_of(found, OutageSettings(host="far", allowed_s=60.0), "outage udp", "")
    row = next(row for row in result.rows if row.case == "reverse")
    assert row.figures["never"].value == 1
    assert row.figures["interruption"].bound == "at least"
    assert row.figures["interruption"].value == pytest.approx(3.98, abs=0.03)
    assert "never came back" in row.remark


def test_a_direction_in_which_nothing_ever_came_never_came_back() -> None:
    record = quiet_record()
    record["far"]["flows"][0]["arrivals"] = arrivals([], FAR_AHEAD)
    one = only(outcome_of(record), "forward")
    assert one.ended == "never" and one.lost == 1000


def test_packets_that_the_sender_did_not_send_were_not_lost_by_the_path() -> None:
    record = quiet_record()
    record["near"]["sent"]["slips"] = [{"first": 300, "last": 399, "at_ns": 5_000 * MS, "sent": False}]
    record["near"]["sent"]["skipped"] = 100
    record["far"]["flows"][0]["arrivals"] = arrivals(times(), FAR_AHEAD, (300, 399))
    found = outcome_of(record)
    assert found.directions["forward"][0].interruptions == []
    assert found.directions["forward"][0].lost == 0
    assert found.ends["near"].blind_ns == pytest.approx(1e9)


def test_an_interruption_while_the_sender_was_away_was_said_to_be_shorter_than_an_interval() -> None:
    record = quiet_record()
    record["near"]["sent"]["slips"] = [{"first": 300, "last": 399, "at_ns": 5_000 * MS, "sent": False}]
    record["near"]["sent"]["skipped"] = 100
    record["far"]["flows"][0]["arrivals"] = arrivals(times(), FAR_AHEAD, (300, 399))
    result = result_of(outcome_of(record), OutageSettings(host="far", allowed_s=0.5), "outage udp", "")
    forward, reverse = result.rows[0].figures, result.rows[1].figures
    assert list(forward["interruption"].bounds or ()) == pytest.approx([0.0, 1.01])
    assert forward["budget"].bound == "at least", "nobody knows whether the budget was kept"
    assert reverse["interruption"].bounds == (0.0, 0.01)


def test_an_interruption_that_began_before_the_sender_stopped_ends_when_it_went_on() -> None:
    record = quiet_record()
    record["near"]["sent"]["slips"] = [{"first": 310, "last": 399, "at_ns": 5_000 * MS, "sent": False}]
    record["near"]["sent"]["skipped"] = 90
    record["far"]["flows"][0]["arrivals"] = arrivals(times(), FAR_AHEAD, (300, 399))
    one = only(outcome_of(record), "forward")
    assert one.lost == 10
    assert one.length.lowest <= 90 * MS and one.length.highest >= 1_000 * MS


@pytest.mark.parametrize(("direction", "host"), [("forward", "far host"), ("reverse", "near host")])
def test_what_the_receivers_host_dropped_is_not_the_paths(direction: str, host: str) -> None:
    record = quiet_record()
    start, ahead = (1_000 * MS, FAR_AHEAD) if direction == "forward" else (1_001 * MS + FAR_AHEAD, -FAR_AHEAD)
    end = record["far" if direction == "forward" else "near"]
    end["flows"][0]["arrivals"] = arrivals(times(start_ns=start), ahead, (500, 549), dropped=50)
    found = outcome_of(record)
    assert only(found, direction).cause == host
    row = next(row for row in result_of(found, OutageSettings(host="far"), "outage udp", "").rows)
    assert row.figures["interruptions"].value == 0


def test_a_far_host_that_received_nothing_while_it_was_stopped_is_no_interruption_of_the_path() -> None:
    record = quiet_record()
    record["far"]["flows"][0]["arrivals"] = arrivals(times(), FAR_AHEAD, (500, 549))
    begun = 1_000 * MS + 499 * INTERVAL + DELAY + FAR_AHEAD
    record["far"]["host"]["stops"] = [{"from_ns": begun, "until_ns": begun + 505 * MS}]
    assert only(outcome_of(record), "forward").cause == "far host"
    record["far"]["host"]["stops"] = [{"from_ns": begun + 100 * MS, "until_ns": begun + 200 * MS}]
    assert only(outcome_of(record), "forward").cause == "path"


def test_packets_that_came_all_at_once_were_held_until_then() -> None:
    record = quiet_record()
    flow = record["far"]["flows"][0]["arrivals"]
    sent = times()
    flow["pauses"] = [
        {
            "before": arrival(499, sent[499], FAR_AHEAD),
            "after": arrival(500, sent[500], FAR_AHEAD, extra_ns=1_500 * MS),
            "dropped": 0,
            "held": 140,
        }
    ]
    one = only(outcome_of(record), "forward")
    assert (one.lost, one.held) == (0, 140)
    assert one.length.lowest <= 1_500 * MS <= one.length.highest
    assert one.length.highest - one.length.lowest <= 1.5 * INTERVAL


@pytest.mark.parametrize("never_sent", [0, 1, 3])
def test_an_interruption_behind_packets_that_the_sender_did_not_send_is_found(never_sent: int) -> None:
    """On a busy host many were passed over, as numbers are missing in front of what was held."""
    record = quiet_record()
    flow = record["far"]["flows"][0]["arrivals"]
    sent = times()
    behind = 500 + never_sent
    if never_sent:
        flow.update(arrivals(sent, FAR_AHEAD, (500, behind - 1)))
        slip = {"first": 500, "last": behind - 1, "at_ns": sent[behind], "sent": False}
        record["near"]["sent"].update(slips=[slip], skipped=never_sent)
    after = arrival(behind, sent[behind], FAR_AHEAD, extra_ns=1_500 * MS)
    flow["pauses"] = [{"before": arrival(499, sent[499], FAR_AHEAD), "after": after, "dropped": 0, "held": 140}]
    one = only(outcome_of(record), "forward")
    assert (one.lost, one.held, one.cause) == (0, 140, "path")
    assert one.length.lowest <= 1_500 * MS <= one.length.highest


def held_record(extra_ns: int) -> dict[str, Any]:
    """Of a run in which packet 500 of the forward direction took so much longer."""
    record = quiet_record()
    sent = times()
    after = arrival(500, sent[500], FAR_AHEAD, extra_ns=extra_ns)
    pause = {"before": arrival(499, sent[499], FAR_AHEAD), "after": after, "dropped": 0, "held": 5}
    record["far"]["flows"][0]["arrivals"]["pauses"] = [pause]
    return record


@pytest.mark.parametrize(("sent_late_ns", "whose"), [(0, "path"), (60 * MS, "path"), (149 * MS, "near host")])
def test_a_packet_is_not_late_by_the_path_if_its_sender_stopped_while_it_sent_it(sent_late_ns: int, whose: str) -> None:
    record = held_record(150 * MS)
    slip = {"first": 500, "last": 500, "at_ns": times()[500] + sent_late_ns, "sent": True}
    record["near"]["sent"]["slips"] = [slip] if sent_late_ns else []
    assert only(outcome_of(record), "forward").cause == whose


@pytest.mark.parametrize(("stops_ms", "whose"), [((60, 45, 40), "far host"), ((60, 20), "path"), ((), "path")])
def test_stops_of_the_receivers_host_one_behind_the_other_are_its_own(stops_ms: tuple[int, ...], whose: str) -> None:
    record = held_record(150 * MS)
    now_ns = times()[500] + DELAY + FAR_AHEAD
    stops = record["far"]["host"]["stops"]
    for length_ms in stops_ms:
        stops.append({"from_ns": now_ns, "until_ns": now_ns + length_ms * MS})
        now_ns += length_ms * MS
    assert only(outcome_of(record), "forward").cause == whose


def test_bytes_that_waited_for_a_stopped_program_are_one_interruption_of_its_host() -> None:
    """Of what waits in a connection, the kernel keeps the stamp of every seventeenth packet or so."""
    record = held_record(0)
    sent = times()
    pauses: list[dict[str, Any]] = []
    for first in range(500, 700, 17):
        before = arrival(first - 1, sent[first - 1], FAR_AHEAD)
        after = {**arrival(first, sent[first], FAR_AHEAD), "arrived_ns": before["arrived_ns"] + 17 * INTERVAL}
        pauses.append({"before": before, "after": after, "dropped": 0, "held": 6})
    record["far"]["flows"][0]["arrivals"]["pauses"] = pauses
    for flow in record["near"]["flows"]:
        flow["connections"] = 1
    stop = {"from_ns": pauses[0]["before"]["arrived_ns"], "until_ns": pauses[-1]["after"]["arrived_ns"] + 40 * MS}
    record["far"]["host"]["stops"] = [stop]
    one = only(outcome_of(record), "forward")
    assert (one.cause, one.held) == ("far host", 6 * len(pauses))
    assert one.length.highest >= 2_000 * MS
    record["far"]["host"]["stops"] = []
    assert {one.cause for one in outcome_of(record).directions["forward"][0].interruptions} == {"path"}


@pytest.mark.parametrize(("sent_between", "lost"), [(0, 0), (2, 2), (7, 7), (None, 7)])
def test_what_a_far_end_that_is_gone_did_not_send_was_not_lost(sent_between: int | None, lost: int) -> None:
    """Its list of what it did not send is gone with it; each packet says how many were sent before."""
    record = quiet_record()
    flow = record["near"]["flows"][0]["arrivals"]
    flow.update(arrivals(times(start_ns=1_001 * MS + FAR_AHEAD), -FAR_AHEAD, (500, 506)))
    if sent_between is not None:
        (pause,) = flow["pauses"]
        pause["before"]["sent_before"], pause["after"]["sent_before"] = 480, 481 + sent_between
    found = outcome_of(record).directions["reverse"][0].interruptions
    assert sum(one.lost for one in found) == lost


def test_one_of_a_thousand_flows_is_named_as_the_worst() -> None:
    record = quiet_record(packets=100, flows=1000)
    for flow in record["far"]["flows"]:
        flow["arrivals"] = arrivals(times(last=100), FAR_AHEAD)
    record["far"]["flows"][41]["arrivals"] = arrivals(times(last=100), FAR_AHEAD, (50, 59))
    result = result_of(outcome_of(record), OutageSettings(host="far", flows=1000), "outage udp", "")
    worst = [row for row in result.rows if row.group == "Worst flows"]
    assert [row.case for row in worst] == ["forward, flow 42, from 192.0.2.1:5041"]


def test_a_marker_is_shown_with_what_followed_it() -> None:
    record = quiet_record()
    record["far"]["flows"][0]["arrivals"] = arrivals(times(), FAR_AHEAD, (500, 549))
    begun = record["near"]["sent"]["start_ns"]
    record["marks"] = [
        {"kind": "marker", "text": "calm", "begun_ns": begun + 1_000 * MS, "ended_ns": begun + 1_000 * MS},
        {"kind": "event", "text": "reboot", "begun_ns": begun + 4_980 * MS, "ended_ns": begun + 4_981 * MS},
    ]
    rows = {row.case: row for row in result_of(outcome_of(record), OutageSettings(host="far"), "outage udp", "").rows}
    assert rows["marker: calm"].figures["affected"].value == 0
    event = rows["event: reboot"].figures
    assert event["affected"].value == 1
    assert event["onset"].bounds is not None and event["onset"].bounds[1] < 0.03
    assert event["convergence"].value == pytest.approx(0.515, abs=0.02)


def test_a_far_end_that_cannot_be_asked_leaves_the_forward_direction_open() -> None:
    record = quiet_record()
    record["far"] = None
    result = result_of(outcome_of(record), OutageSettings(host="far"), "outage udp", "")
    assert result.rows[0].case == "forward" and not result.rows[0].figures
    assert result.rows[1].figures["interruptions"].value == 0


@pytest.mark.parametrize(
    ("lost", "budget_s", "said"),
    [
        ((500, 509), 1.0, "met"),
        ((500, 699), 1.0, "missed"),
        ((500, 599), 1.0, "undecided"),
        ((600, 999), 60.0, "missed"),
    ],
)
def test_a_budget_is_judged_by_the_whole_interval(lost: tuple[int, int], budget_s: float, said: str) -> None:
    record = quiet_record()
    record["far"]["flows"][0]["arrivals"] = arrivals(times(), FAR_AHEAD, lost)
    settings = OutageSettings(host="far", allowed_s=budget_s)
    result = result_of(outcome_of(record), settings, "outage udp", "")
    verdicts: list[Verdict] = [each.judge([result]) for each in find("outage udp").criteria(settings.plain())]
    order = ("missed", "undecided", "met")
    assert min((verdict.word for verdict in verdicts), key=order.index) == said


@pytest.mark.parametrize(
    ("moved", "said"),
    [({}, "new session"), ({"remote": "b"}, "another address"), ({"seen": "d"}, "another address")],
)
def test_a_session_that_goes_on_at_another_address_says_so(moved: dict[str, str], said: str) -> None:
    record = quiet_record()
    ends = {"remote": "a", "seen": "c"}
    record["sessions"] = [{**ends, "opened_ns": 1_000 * MS}, {**ends, **moved, "opened_ns": 6_000 * MS}]
    heard = {"sent_ns": 5_000 * MS, "arrived_ns": 5_002 * MS, "next": 400, "received": 400}
    record["near"]["flows"][0]["earlier"] = [{"heard": heard, "unknown": None}]
    record["far"]["flows"][0]["arrivals"] = {**arrivals(times(501), FAR_AHEAD), "next": 1000}
    found = outcome_of(record)
    assert [only(found, direction).ended for direction in ("forward", "reverse")] == [said, said]
    rows = result_of(found, OutageSettings(host="far"), "outage udp", "").rows
    remark = {"new session": "by a far end that was started again", "another address": "at another address"}[said]
    assert [row.remark for row in rows if row.group == "Interruption"] == [f"came back {remark}"] * 2


def test_after_a_restart_a_connection_is_back_when_the_first_packet_of_the_next_one_comes() -> None:
    """The far end let this one in 120 ms before the next connection carried anything."""
    record = quiet_record()
    ends = {"remote": "a", "seen": "c"}
    record["sessions"] = [{**ends, "opened_ns": 1_000 * MS}, {**ends, "opened_ns": 5_900 * MS}]
    heard = {"sent_ns": 5_000 * MS, "arrived_ns": 5_002 * MS, "next": 400, "received": 400}
    flow = record["near"]["flows"][0]
    flow.update(earlier=[{"heard": heard, "unknown": None}], connections=2)
    far_sent = times(start_ns=1_001 * MS + FAR_AHEAD)
    before = {**arrival(399, far_sent[399], -FAR_AHEAD), "arrived_ns": 5_002 * MS}
    after = {**arrival(501, far_sent[501], -FAR_AHEAD), "arrived_ns": 6_020 * MS}
    flow["arrivals"]["pauses"] = [{"before": before, "after": after, "dropped": 0, "held": 0}]
    first = {"number": 502, "sent_ns": times()[502], "arrived_ns": times()[502] + DELAY + FAR_AHEAD}
    record["far"]["flows"][0]["arrivals"] = {**arrivals(times(502), FAR_AHEAD), "first": first, "next": 1000}
    found = outcome_of(record)
    assert only(found, "reverse").end.highest == 5_020 * MS
    assert only(found, "forward").end.lowest <= 5_020 * MS <= only(found, "forward").end.highest


def test_a_budget_stays_one_criterion_when_the_plan_is_read_again() -> None:
    settings = OutageSettings(host="far", allowed_s=2.0, require=("lost < 5",))
    again = OutageSettings.model_validate(settings.plain())
    assert again.require == settings.require == ("lost < 5", "budget <= 2 s", "never == 0")


@pytest.mark.parametrize(
    "given",
    [
        {"flows": 1000, "interval_s": 0.001},
        {"undo": "true"},
        {"event": "true", "while_": "true"},
        {"markers_http": "0"},
        {"markers_http": "elsewhere:8625"},
        {"markers_http": "127.0.0.1:http"},
    ],
)
def test_settings_that_cannot_be_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(PlanError):
        OutageSettings(host="far", **given)


def test_plots_and_lines_show_every_interruption() -> None:
    record = quiet_record()
    record["far"]["flows"][0]["arrivals"] = arrivals(times(), FAR_AHEAD, (500, 549))
    found = outcome_of(json.loads(json.dumps(record)))
    line, delays = outage_plots(found)
    assert [trace["x"][0] for trace in line.traces if trace["x"]] == [pytest.approx(4.995, abs=0.01)]
    assert delays.traces
    assert len(interruption_lines(found)) == 2

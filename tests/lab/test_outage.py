"""Interruptions between two hosts in namespaces, of known length, and what the hosts of the ends did themselves."""

from __future__ import annotations

import itertools
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.command_line import keisoku, start
from support.outage_bed import FAR, FAR6, NEAR, NEIGHBOUR_ASKED_AGAIN_MS, PORT, Bed, FarEnd, FlowWatch, Truth, frozen
from support.outage_routers import SERVICE, BgpBed, VrrpBed

from keisoku.ground.host.place import Place
from keisoku.subjects.stream.outage.analysis import FlowOutcome, Outcome, outcome_of
from keisoku.subjects.stream.outage.measure import last_record
from keisoku.subjects.stream.outage.session import OutageSession
from keisoku.subjects.stream.outage.settings import OutageSettings

pytestmark = pytest.mark.lab
PATIENCE_S = 60.0
HELD_NS = 4 * NEIGHBOUR_ASKED_AGAIN_MS * 1_000_000


@pytest.fixture(scope="module")
def bed() -> Iterator[Bed]:
    with Bed() as made:
        yield made


@pytest.fixture
def far(bed: Bed) -> Iterator[FarEnd]:
    with bed.far_end() as end:
        yield end


def session_of(bed: Bed, tcp: bool = False, host: str = FAR, **settings: Any) -> OutageSession:
    return OutageSession(OutageSettings(host=f"{host}@{bed.name('near')}", **settings), tcp=tcp)


def outcome(session: OutageSession) -> Outcome:
    try:
        return outcome_of(json.loads(last_record(session, [])))
    finally:
        session.close()


def until_received(session: OutageSession, more: int) -> None:
    """Until so many more packets have come."""
    wanted = received(session) + more
    until_s = time.monotonic() + PATIENCE_S
    while received(session) < wanted:
        assert time.monotonic() < until_s, "nothing comes"
        session.keep_up(json.loads(session.near.glance()))
        time.sleep(0.01)


def received(session: OutageSession) -> int:
    return int(json.loads(session.near.glance())["received"])


def check(flow: FlowOutcome, truth: Truth) -> None:
    """The only interruption of a flow has the length that it had."""
    (one,) = flow.of_path
    least, most = truth.length_ns
    # Packets that a kernel keeps while a link is down come when it is up and the neighbour has answered.
    assert one.length.lowest <= most + HELD_NS * bool(one.held) and least <= one.length.highest, (one, truth)


@pytest.mark.parametrize(
    ("cause", "flows", "length_s", "hit"),
    [
        ("blackhole forward", 1, 0.05, {"forward"}),
        ("blackhole reverse", 10, 0.3, {"reverse"}),
        ("blackhole both", 100, 0.5, {"forward", "reverse"}),
        ("blackhole IPv6", 3, 0.2, {"forward", "reverse"}),
        ("nftables", 5, 0.3, {"forward", "reverse"}),
        ("link down", 2, 0.4, {"forward", "reverse"}),
    ],
)
def test_an_interruption_is_recovered_with_its_length_in_its_direction(
    bed: Bed, far: FarEnd, cause: str, flows: int, length_s: float, hit: set[str]
) -> None:
    interval_s = max(0.005, flows / 4000)
    host = FAR6 if cause == "blackhole IPv6" else FAR
    session = session_of(bed, host=host, flows=flows, interval_s=interval_s)
    until_received(session, 20 * flows)
    truth = bed.interrupted(*bed.causes()[cause], length_s)
    until_received(session, 20 * flows)
    found = outcome(session)
    for direction, each in found.directions.items():
        for flow in each:
            if direction in hit:
                check(flow, truth)
            else:
                assert not flow.of_path


def test_a_path_that_never_comes_back_is_never_a_loss_of_nothing(bed: Bed, far: FarEnd) -> None:
    session = session_of(bed)
    until_received(session, 50)
    cut, mend = bed.causes()["blackhole reverse"]
    truth = bed.interrupted(cut, lambda: None, 0.5)
    session.near.quiet()
    record = json.loads(last_record(session, []))
    mend()
    session.close()
    found = outcome_of(record)
    (flow,) = found.directions["reverse"]
    assert flow.never and flow.of_path[-1].length.lowest >= truth.length_ns[0] - 2e7
    assert found.forward_unknown, "the report cannot come back either"


@pytest.mark.parametrize("tcp", [False, True])
def test_a_stopped_far_end_is_no_interruption_of_the_path(bed: Bed, far: FarEnd, tcp: bool) -> None:
    session = session_of(bed, tcp=tcp, flows=5)
    until_received(session, 100)
    bed.interrupted(far.stop, far.go_on, 0.8)
    until_received(session, 100)
    found = outcome(session)
    for flows in found.directions.values():
        assert [flow.of_path for flow in flows] == [[]] * 5
    assert found.ends["far"].longest_ns >= 7e8
    assert found.ends["far"].not_sent >= 5 * 70


def test_a_stopped_near_end_is_no_interruption_of_the_path(bed: Bed, far: FarEnd, tmp_path: Path) -> None:
    host = f"{FAR}@{bed.name('near')}"
    child = start("outage", "udp", host, "--duration", "3s", "--out", "run", "--json", cwd=tmp_path)
    until_s = time.monotonic() + PATIENCE_S
    while not (tmp_path / "run" / "context.json").exists():
        assert time.monotonic() < until_s and child.poll() is None
        time.sleep(0.01)
    os.kill(child.pid, signal.SIGSTOP)
    time.sleep(0.8)
    os.kill(child.pid, signal.SIGCONT)
    said, wrong = child.communicate()
    assert child.returncode == 0, wrong
    (result,) = json.loads(said)["results"]
    rows = {row["case"]: row["figures"] for row in result["rows"]}
    assert rows["forward"]["interruptions"]["value"] == rows["reverse"]["interruptions"]["value"] == 0
    assert rows["near end"]["longest_stop"]["value"] >= 0.7
    assert "near-not-sent" in [flag["name"] for flag in result["flags"]]


def test_a_far_end_that_is_killed_and_started_again_lets_the_client_in_again(bed: Bed, tmp_path: Path) -> None:
    with bed.far_end() as far:
        host = f"{FAR}@{bed.name('near')}"
        kill = f"kill -9 {far.child.pid}"
        words = ("outage", "udp", host, "--event", kill, "--watch", "8s", "--out", "run", "--json")
        child = start(*words, cwd=tmp_path)
        far.child.wait()
        gone_ns = time.monotonic_ns()
        far.start()
        back_ns = time.monotonic_ns()
        said, wrong = child.communicate()
    assert child.returncode == 0, wrong
    (result,) = json.loads(said)["results"]
    again = "came back by a far end that was started again"
    found = [row for row in result["rows"] if row["group"] == "Interruption" and row["remark"] == again]
    assert {row["case"].partition(",")[0] for row in found} == {"forward", "reverse"}
    for row in found:
        interval = row["figures"]["interruption"]["interval"]
        # It listens a little before it says so, and is gone a little before that is noticed.
        assert abs((interval["lower"] + interval["upper"]) / 2 - (back_ns - gone_ns) / 1e9) <= 0.5


@pytest.mark.parametrize("tcp", [False, True])
def test_a_near_end_with_another_address_goes_on_there(bed: Bed, far: FarEnd, tcp: bool) -> None:
    session = session_of(bed, tcp=tcp, flows=3)
    until_received(session, 100)
    other = NEAR[:-1] + "9"

    def move(old: str, new: str) -> None:
        bed.address("near", "del", old)
        bed.address("near", "add", new)

    begun_ns = time.monotonic_ns()
    move(NEAR, other)
    try:
        until_received(session, 100)
        over_ns = time.monotonic_ns()
        found = outcome(session)
    finally:
        move(other, NEAR)
    for flows in found.directions.values():
        for flow in flows:
            one = max(flow.of_path, key=lambda one: one.length.likely)
            assert one.ended == "another address"
            # Nothing came for a second before the far end was asked.
            assert one.length.highest >= 1e9 and one.length.lowest <= over_ns - begun_ns


def test_a_far_end_that_answers_at_another_address_of_its_name_is_followed_there(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a name server says is given here: both addresses of the far host."""
    other = FAR[:-1] + "9"
    monkeypatch.setattr(Place, "addresses", lambda _: [FAR, other])
    bed.address("far", "add", other)
    with bed.far_end():
        session = session_of(bed)
        until_received(session, 50)
        bed.nft("drop far")
        try:
            until_received(session, 50)
        finally:
            bed.nft("pass")
        assert [one["remote"] for one in session.sessions] == [FAR, other]
        found = outcome(session)
    bed.address("far", "del", other)
    for flows in found.directions.values():
        assert max(flows[0].of_path, key=lambda one: one.length.likely).ended == "another address"


@pytest.mark.parametrize("cause", ["interface moved", "address moved"])
def test_what_moves_to_another_namespace_is_gone_for_so_long(bed: Bed, cause: str) -> None:
    with bed.far_end():
        session = session_of(bed, flows=3)
        until_received(session, 60)
        truth = bed.interrupted(*bed.causes()[cause], 0.3)
        until_received(session, 60)
        found = outcome(session)
    for flows in found.directions.values():
        for flow in flows:
            check(flow, truth)


@pytest.mark.parametrize("bed_of", [VrrpBed, BgpBed])
def test_routers_that_switch_over_are_seen_as_by_another_program(bed_of: type[VrrpBed | BgpBed]) -> None:
    with bed_of() as own, own.far_end():
        watch = FlowWatch(own, "far", PORT)
        host = SERVICE if bed_of is BgpBed else FAR
        session = session_of(own, host=host, flows=3)
        until_received(session, 60)
        (change,) = own.causes().values()
        truth = own.interrupted(*change, 0.3)
        until_received(session, 300)
        found, progress = outcome(session), watch.end()
    for flow in found.directions["forward"]:
        times = progress[flow.flow]
        gap_ns = max(later - one for one, later in itertools.pairwise(times) if later >= truth.begun_ns[0])
        one = max(flow.of_path, key=lambda one: one.length.likely)
        # Between two packets that came the way was away for less than that, and for two intervals less at least.
        assert one.length.lowest <= gap_ns + HELD_NS and one.length.highest >= gap_ns - 2e7 - HELD_NS


def test_a_frozen_far_end_is_no_interruption_of_the_path(bed: Bed, far: FarEnd) -> None:
    session = session_of(bed, flows=5)
    until_received(session, 100)
    with frozen(far.child.pid) as freezing:
        bed.interrupted(*freezing, 0.8)
    until_received(session, 100)
    found = outcome(session)
    for flows in found.directions.values():
        assert [flow.of_path for flow in flows] == [[]] * 5
    assert found.ends["far"].longest_ns >= 7e8


def test_markers_and_a_command_are_dated(bed: Bed, far: FarEnd, tmp_path: Path) -> None:
    command = "sleep 0.3; echo 'step 1' > marks; sleep 0.3; false"
    host = f"{FAR}@{bed.name('near')}"
    words = ("--while", command, "--markers", "marks", "--watch", "0.5s", "--budget", "5s", "--json")
    done = keisoku("outage", "udp", host, *words, cwd=tmp_path)
    assert done.code == 0, done.stderr
    (result,) = json.loads(done.stdout)["results"]
    events = {row["case"]: row["figures"]["begin"]["value"] for row in result["rows"] if row["group"] == "Event"}
    assert list(events) == [f"command: {command}", "marker: step 1", "command over: exit code 1"]
    begun, marked, over = events.values()
    assert 0.25 <= marked - begun <= over - begun


def test_a_budget_that_is_exceeded_is_exit_code_1(bed: Bed, far: FarEnd, tmp_path: Path) -> None:
    router = bed.name("router")
    cut = f"ip -n {router} route add blackhole {FAR}; sleep 0.4; ip -n {router} route del blackhole {FAR}"
    host = f"{FAR}@{bed.name('near')}"
    words = ("--event", cut, "--watch", "1s", "--budget", "0.2s")
    done = keisoku("outage", "udp", host, *words, cwd=tmp_path)
    assert done.code == 1, done.stdout + done.stderr
    assert "budget <= 0.2 s" in done.stdout


def test_whoever_does_not_answer_is_named_with_what_to_do(bed: Bed, tmp_path: Path) -> None:
    done = keisoku("outage", "udp", f"{FAR}@{bed.name('near')}", "--port", str(PORT + 7), cwd=tmp_path)
    assert done.code == 2
    assert f"refuses TCP port {PORT + 7}; start 'keisoku outage serve' there" in " ".join(done.stderr.split())

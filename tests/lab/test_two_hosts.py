"""Frames that leave at one host and arrive at another: every count is the truth of the device between them."""

from __future__ import annotations

import random
import shutil
from contextlib import ExitStack
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.serving import serving
from support.ssh_servers import end_all
from support.trials import CALM_ATTEMPTS, incomplete
from support.two_hosts import FAR, MASTERS, TwoHosts, command_at, ptp_master, two_hosts

import keisoku as ks
from keisoku.ground.host.place import Place
from keisoku.ground.lab.device.faults import Applied, Faults
from keisoku.ground.run.directory import RunDirectory
from keisoku.subjects.clock.relation import Relation
from keisoku.subjects.device.plan.plan import Plan, parse
from keisoku.subjects.device.plan_testbed import open_engine
from keisoku.subjects.device.record.arrival import CORRUPT, DUPLICATE, LOST, REORDERED
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.frames import FrameWriter
from keisoku.subjects.device.record.trial import Phases, Trial
from keisoku.subjects.device.record.trial_log import TrialLog
from keisoku.subjects.device.testbed.receiving_host import ReceivingServer

pytestmark = pytest.mark.lab
FRAMES, STREAM, EACH, FPS = 20_000, 7, 100, 20_000.0
AHEAD_S = 200_000
RATE = ["--rate", "2kpps", "--duration", "0.3s"]
PROCEDURES = {
    "trial": RATE,
    "changes": RATE,
    "latency": [*RATE, "--repetitions", "2", "--clock", f"ptp:{MASTERS[0]}"],
}
"""At rates that leave CPUs to the other host, which is the same machine here: it says that they stood still."""
PHASES = Phases(learning_wait_ns=10_000_000, drain_ns=200_000_000, rest_ns=0)


def faults() -> Faults:
    chosen = random.Random(21).sample(range(0, FRAMES // 2, 2), 4 * EACH)
    drop, duplicate, swap, corrupt = (tuple(chosen[place : place + EACH]) for place in range(0, 4 * EACH, EACH))
    hit = tuple((sequence, 5) for sequence in corrupt)
    return Faults(drop=drop, duplicate=duplicate, swap=swap, corrupt=hit, stream=STREAM)


def plan_of(hosts: TwoHosts, engine: str, tcp_port: int, **more: object) -> Plan:
    receiver = f"{FAR}@{hosts.near}:{tcp_port}"
    ports = {"tx": hosts.port(1, engine), "rx": hosts.lab.ports[1].interface, "receiver": receiver}
    return parse({"methods": ["loss"], "frame_bytes": [128], **ports, **more})


def carried(given: Faults, engine: str, rows: Path | None = None) -> tuple[Facts, Applied]:
    """Of one trial, and what the device did to its frames. A tester that gets no CPU neither sends nor reads all, and
    says so: then it is done again, between hosts of its own, as the device knows its frames by their first number."""
    trial = Trial(
        purpose="truth", frame_bytes=128, frames_per_second=FPS, duration_ns=round(FRAMES / FPS * 1e9), phases=PHASES
    )
    for _ in range(CALM_ATTEMPTS):
        with ExitStack() as stack:
            hosts = stack.enter_context(two_hosts(given))
            lent = ReceivingServer(hosts.port(2, engine), Place(FAR, hosts.far), 0)
            tcp_port = stack.enter_context(serving(lent))
            writer = None if rows is None else stack.enter_context(FrameWriter(rows))
            tester = stack.enter_context(open_engine(plan_of(hosts, engine, tcp_port)))
            tester.start(trial, stream=STREAM, seed=0, frames=writer)
            facts, _ = tester.finish()
            if writer is not None:
                writer.finish(facts)
            applied = hosts.lab.applied(STREAM)
        if not incomplete(trial, facts):
            break
    return facts, applied


@pytest.mark.parametrize("engine", ["xdp", "packet"])
def test_loss_duplication_order_and_corruption_are_those_of_the_device(engine: str) -> None:
    given = faults()
    facts, applied = carried(given, engine)
    tracked, offered = facts.tracked, facts.sent.offered_frames
    assert (applied.seen, applied.dropped, applied.duplicated, applied.swapped) == (offered, EACH, EACH, EACH)
    lost = [number for gap in tracked.lost for number in range(gap.first, gap.last + 1)]
    assert lost == sorted(given.drop)
    assert (tracked.duplicated.count, tracked.corrupt.count) == (EACH, EACH)
    assert tracked.reordered.count >= EACH
    assert offered == tracked.forwarded_frames + tracked.lost_frames + tracked.corrupt.count
    assert tracked.latency is None
    assert {transmitter.port for transmitter in facts.transmitters} == {0}
    assert {receiver.port for receiver in facts.receivers} == {1}


def test_rows_of_frames_come_from_the_host_that_receives_and_say_no_latency(tmp_path: Path) -> None:
    """Of frames that arrived and of those that did not; `keisoku changes` was once refused, because it keeps rows."""
    given = faults()
    facts, _ = carried(given, "packet", tmp_path / "rows.parquet")
    rows = pq.read_table(tmp_path / "rows.parquet").to_pydict()
    of_flags = {
        flag: [number for number, flags in zip(rows["sequence"], rows["flags"], strict=True) if flags == flag]
        for flag in (0, DUPLICATE, CORRUPT, REORDERED, LOST)
    }
    tracked = facts.tracked
    lost = {number for gap in tracked.lost for number in range(gap.first, gap.last + 1)}
    assert set(given.drop) == lost and of_flags[LOST] == sorted(lost)
    assert len(rows["sequence"]) == tracked.received_frames + tracked.lost_frames
    assert set(of_flags[DUPLICATE]) <= set(given.duplicate) and len(of_flags[DUPLICATE]) == tracked.duplicated.count
    assert len(of_flags[CORRUPT]) == tracked.corrupt_arrivals and len(of_flags[REORDERED]) == tracked.reordered.count
    assert set(of_flags[0] + of_flags[REORDERED]) == set(range(FRAMES)) - lost - set(dict(given.corrupt))
    assert set(rows["transmit_ns"]) == {None}
    assert sum(time is None for time in rows["receive_ns"]) == tracked.lost_frames


@pytest.mark.skipif(shutil.which("ptp4l") is None, reason="ptp4l is not installed (Debian: linuxptp)")
def test_two_commands_measure_latency_only_where_a_ptp_master_relates_their_clocks(tmp_path: Path) -> None:
    """The clock of the host that receives is 55 hours ahead, which is more than half of what a frame can say."""
    with ExitStack() as stack:
        hosts = stack.enter_context(two_hosts(Faults(drop=tuple(range(0, 200, 2)))))
        stack.enter_context(ptp_master(hosts, tmp_path))
        ports = [f"packet:{port.interface}" for port in hosts.lab.ports]
        lent = ["port", "serve", ports[1], "--at", FAR, "--clock", f"ptp:{MASTERS[1]}"]
        server = command_at(hosts.far, tmp_path, lent, AHEAD_S)
        stack.callback(server.communicate)
        stack.callback(end_all, hosts.far)  # unshare passes no signal on
        assert server.stdout and "is lent at TCP port" in server.stdout.readline()
        measured = ["--rate", "5kpps", "--duration", "0.5s", "--size", "64", "--waits", "0.1s"]
        where = ["--tx", ports[0], "--rx", ports[1], "--receiver", FAR, *measured]
        _, said = (refused := command_at(hosts.near, tmp_path, ["latency", *where])).communicate()
        assert refused.returncode == 2 and "the clocks of two hosts are not related" in said
        clocked = ["trial", *where, "--clock", f"ptp:{MASTERS[0]}", "--out"]
        for attempt in range(CALM_ATTEMPTS):
            timed = command_at(hosts.near, tmp_path, [*clocked, f"timed{attempt}"])
            _, said = timed.communicate()
            # A host that stops both ends for 100 ms or more leaves no valid trial.
            if "nothing was measured" not in said:
                break
        assert timed.returncode == 0, said
    run = RunDirectory.open(tmp_path / f"timed{attempt}")
    related = Relation(**run.context["hosts_related"])
    error_ns = 2 * related.offset_uncertainty_ns
    assert 0 < error_ns < 2e6 and abs(related.offset_ns - AHEAD_S * 10**9) <= error_ns
    (trial,) = TrialLog(run).records()
    tracked = trial.facts.tracked
    assert (tracked.lost_frames, tracked.forwarded_frames) == (100, trial.facts.sent.offered_frames - 100)
    assert tracked.latency is not None and tracked.latency.count == tracked.forwarded_frames
    assert -2 * error_ns < tracked.latency.min_ns < 2e6 + 2 * error_ns


@pytest.mark.long
@pytest.mark.skipif(shutil.which("ptp4l") is None, reason="ptp4l is not installed (Debian: linuxptp)")
@pytest.mark.parametrize("device", ["bridge", "router"])
def test_commands_measure_through_a_bridge_and_through_a_router(device: str, tmp_path: Path) -> None:
    """The host that sends asks the router at its port, and no other."""
    with ExitStack() as stack:
        hosts = stack.enter_context(two_hosts(None, device))
        stack.enter_context(ptp_master(hosts, tmp_path))
        ports = [f"packet:{port.interface}" for port in hosts.lab.ports]
        lent = ["port", "serve", ports[1], "--at", FAR, "--clock", f"ptp:{MASTERS[1]}"]
        server = command_at(hosts.far, tmp_path, lent)
        stack.callback(server.communicate)
        stack.callback(end_all, hosts.far)
        assert server.stdout and "is lent at TCP port" in server.stdout.readline()
        gateways = [port.dut_ipv4 for port in hosts.lab.ports if port.dut_ipv4]
        through = ["--gateway", ",".join(gateways)] if gateways else []
        where = ["--tx", ports[0], "--rx", ports[1], "--receiver", FAR, "--size", "128", "--waits", "0.1s", *through]
        for name, words in PROCEDURES.items():
            done = command_at(hosts.near, tmp_path, [name, *where, *words, "--out", name])
            _, said = done.communicate()
            assert done.returncode == 0, f"{name}: {said}"
            found = ks.load(tmp_path / name)
            assert found.results and all(row.figures for row in found.results[0].rows), name
        refused = command_at(hosts.near, tmp_path, ["congestion", *where])
        _, said = refused.communicate()
        assert refused.returncode == 2 and len(said.strip().splitlines()) == 1, said

"""Servers and clients in the lab: load, what the switch shows of it, limits of its ports, and one whole mechanism."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from support.command_line import journal_of

from keisoku.errors import PlanError
from keisoku.ground.host.namespace import Namespace
from keisoku.ground.host.program import Program
from keisoku.ground.host.undo import undo_left
from keisoku.ground.lab.system.lab import SystemLab, SystemPort
from keisoku.ground.lab.system.shape import ServedFile, SystemShape
from keisoku.subjects.system.load import clients
from keisoku.subjects.system.load.bulk_servers import bulk_aims
from keisoku.subjects.system.load.client_run import ClientRun
from keisoku.subjects.system.load.target import lab_aims
from keisoku.subjects.system.network.port_watch import PortWatch, WatchedPort
from keisoku.subjects.system.opening import open_system
from keisoku.subjects.system.shaping.port_limits import PortLimits
from keisoku.subjects.system.shaping.port_place import PortPlace

pytestmark = [pytest.mark.lab, pytest.mark.alone]
REQUESTS = 300
FILE_BYTES = 3000


def needs(program: str, origin: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(Program(program, "").path is None, reason=f"{program} is not installed ({origin})")


@pytest.fixture(scope="module")
def lab() -> Iterator[SystemLab]:
    with SystemLab(SystemShape((None, 100_000_000), files=(ServedFile(FILE_BYTES),))) as made:
        yield made


def run(lab: SystemLab, client: str, **how: object) -> list[ClientRun]:
    return clients.run([aim.load(**how) for aim in lab_aims(lab)], client)


def discipline_at(port: SystemPort) -> str:
    place = Namespace(port.limit_namespace.name)
    tc = Program("tc", "iproute2")
    return place.run(lambda: tc.run("qdisc", "show", "dev", port.limit_interface))


@pytest.mark.parametrize(
    ("client", "how"),
    [
        ("own", {"connections": 7}),
        ("own", {"connections": 7, "keep_alive": True}),
        ("own", {"connections": 50, "per_second": 500.0, "poisson": True}),
        ("ab", {"connections": 7}),
    ],
)
def test_every_request_is_answered_whole_and_counted(lab: SystemLab, client: str, how: dict[str, object]) -> None:
    for seen in run(lab, client, requests=REQUESTS, timeout_s=60.0, **how):
        assert (seen.completed, seen.failed, seen.given_up, seen.unsent) == (REQUESTS, 0, 0, 0)
        assert seen.received_bytes > REQUESTS * FILE_BYTES
        assert sum(count for _, _, count in seen.latencies) == REQUESTS
        assert all(low < high for low, high, _ in seen.latencies)


@needs("wrk", "the Debian package wrk")
def test_wrk_is_answered_whole_and_says_so(lab: SystemLab) -> None:
    paths = tuple((f"/{FILE_BYTES}.bin?{number}", 1.0 + number) for number in range(2))
    loads = [aim.load(seconds=1.0, connections=7, keep_alive=bool(at)) for at, aim in enumerate(lab_aims(lab))]
    for seen in clients.run([replace(load, paths=paths) for load in loads], "wrk"):
        assert seen.completed > 0
        assert seen.failed == 0
        assert seen.received_bytes > seen.completed * FILE_BYTES
        assert sum(count for _, _, count in seen.latencies) == seen.completed
        assert seen.seconds >= 1.0


@needs("oha", "the crate oha")
@pytest.mark.parametrize("how", [{"requests": REQUESTS}, {"seconds": 1.0, "per_second": 100.0, "keep_alive": True}])
def test_oha_is_answered_whole_and_says_so(lab: SystemLab, how: dict[str, Any]) -> None:
    for seen in run(lab, "oha", connections=7, timeout_s=60.0, **how):
        assert seen.failed == 0
        assert seen.completed == how.get("requests", seen.completed) > 0
        assert seen.received_bytes == seen.completed * FILE_BYTES
        assert sum(count for _, _, count in seen.latencies) == seen.completed


@pytest.mark.parametrize(
    "client", ["stream", pytest.param("iperf3", marks=needs("iperf3", "the Debian package iperf3"))]
)
def test_streams_of_all_clients_at_once_stay_below_their_lines(lab: SystemLab, client: str) -> None:
    with bulk_aims(lab) as aims:
        unlimited, rated = clients.run([aim.load(seconds=1.0, connections=2) for aim in aims], client)
    assert unlimited.received_bytes > 0
    # What waited in the lines' queues and the bucket's burst comes beside the rate.
    assert 0 < 8 * rated.received_bytes < 100e6 * rated.seconds * 1.02 + 8 * 300_000


def test_what_is_asked_for_in_vain_has_failed(lab: SystemLab) -> None:
    load = lab_aims(lab)[0].load(requests=20)
    (missing,) = clients.run([replace(load, paths=(("/no", 1.0),))], "own")
    assert (missing.completed, missing.failures) == (0, {"refusals": 20})
    (refused,) = clients.run([replace(load, requests=None, seconds=0.3, server="198.18.1.1:81")], "own")
    assert refused.completed == 0
    assert refused.failures["refused"] > 0


def test_the_switch_counts_what_the_client_did(lab: SystemLab) -> None:
    port = lab.ports[1]
    watch = PortWatch(WatchedPort(port.name, port.line_bps, port.seen_interface, port.seen_namespace))
    try:
        before = watch.read()
        load = lab_aims(lab)[1].load(requests=REQUESTS, connections=5, timeout_s=60.0)
        (seen,) = clients.run([load], "own")
        after = watch.read()
    finally:
        watch.close()
    gone = {name: after.totals[name] - before.totals[name] for name in after.totals}
    assert gone["opened"] == gone["completed"] == gone["answers"] == REQUESTS
    assert (gone["broken"], gone["open"], gone["untracked"]) == (0, 0, 0)
    assert sum(count for _, _, count in after.durations) == REQUESTS
    assert after.sent_bytes - before.sent_bytes > seen.received_bytes
    # From the first SYN to the client's FIN is never longer than from before the first to after the last.
    assert 0 < gone["answering_ns"] <= gone["closed_ns"] <= 5 * (after.at_ns - before.at_ns)


def test_limits_are_set_changed_and_lifted(lab: SystemLab) -> None:
    one, other = lab.ports
    untouched = discipline_at(one), discipline_at(other)
    places = {port.name: PortPlace(port.limit_interface, port.limit_namespace) for port in lab.ports}
    with pytest.raises(ZeroDivisionError), PortLimits(places) as limits:
        limits.set({one.name: 5e6})
        assert "htb 6b73:" in discipline_at(one)
        assert discipline_at(other) == untouched[1]
        (seen,) = clients.run([lab_aims(lab)[0].load(connections=5, seconds=1.0)], "own")
        # A token bucket gives its burst beside its rate, however long the second took.
        assert 8 * seen.received_bytes <= 5e6 * seen.seconds * 1.02 + 8 * 20_000
        limits.set({other.name: 7e6})
        assert discipline_at(one) == untouched[0]
        with pytest.raises(PlanError, match="the limit of another keisoku process"), PortLimits(places):
            pass
        raise ZeroDivisionError
    assert (discipline_at(one), discipline_at(other)) == untouched
    assert not journal_of(os.getpid(), "limit")


def test_a_qdisc_of_somebody_elses_is_left_alone(lab: SystemLab) -> None:
    port = lab.ports[0]
    place = Namespace(port.limit_namespace.name)

    def tc(*arguments: str) -> None:
        subprocess.run(["tc", "qdisc", *arguments], check=True)

    place.run(
        lambda: tc("add", "dev", port.limit_interface, "root", "tbf", "rate", "1gbit", "burst", "1mb", "limit", "1mb")
    )
    try:
        theirs = discipline_at(port)
        with (
            pytest.raises(PlanError, match="keisoku did not set"),
            PortLimits({port.name: PortPlace(port.limit_interface, port.limit_namespace)}),
        ):
            pass
        assert discipline_at(port) == theirs
    finally:
        place.run(lambda: tc("del", "dev", port.limit_interface, "root"))


def test_the_journal_of_a_dead_run_and_guard_is_undone(lab: SystemLab) -> None:
    port = lab.ports[0]
    limits = PortLimits({port.name: PortPlace(port.limit_interface, port.limit_namespace)})
    with limits:
        limits.set({port.name: 5e6})
        (entry,) = journal_of(os.getpid(), "limit")
        assert undo_left() == []
        owner, born, number = entry.stem.split("-")
        # The number has passed to another process since: the one that wrote it is not the one that has it.
        entry.rename(entry.with_stem(f"{owner}-{int(born) - 1}-{number}"))
        assert undo_left() == [f"lifted the limit of {port.limit_interface}"]
        assert "htb" not in discipline_at(port)
    assert not journal_of(os.getpid(), "limit")


def test_a_limit_before_a_shared_line_gives_back_what_undeliverable_traffic_wastes() -> None:
    """Of 100 Mb/s, UDP takes nearly all and delivers 20; limited to what its last line carries, others get the rest."""
    name = "lab:system?rates=20M,75M&uplink=100M&queue=300k&file=100k&udp=95M,-&load=-,6"
    totals: dict[float | None, list[float]] = {None: [], 22e6: []}
    with open_system(name) as system:
        for limit in (None, 22e6, 22e6, None):
            system.limit({"client1": limit})
            system.observe(0.7)
            seen = system.observe(1.0)
            totals[limit].append(seen.bits_per_second)
            first = seen.clients[0]
            assert first.limit_bps == limit
            # It delivers what its last line can, and no more, limit or not.
            assert 8 * first.sent_bytes / seen.seconds < 21e6
    # It is twice as much on a calm host; whatever a host does, it is more.
    assert sum(totals[22e6]) > 1.2 * sum(totals[None])

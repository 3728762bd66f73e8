"""Two-ended measurements over paths whose truth is known, and the ways in which the other end can be absent.

What a path shows while this host is held up is no error of the method, so a measurement that is off is repeated.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.command_line import keisoku

from keisoku.errors import EngineError, PlanError
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.control import GREETING, ControlError
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.ground.lab.path.cross_traffic import CrossTraffic
from keisoku.ground.lab.path.hop import Hop
from keisoku.ground.lab.path.lab import PathLab
from keisoku.ground.run.result import Result
from keisoku.subjects.path.clocks.analysis import PAIRS
from keisoku.subjects.path.clocks.analysis import analyse as compare
from keisoku.subjects.path.clocks.settings import SourceComparisonSettings
from keisoku.subjects.path.clocks.stages import measure as measure_sources
from keisoku.subjects.path.packet_pair.analysis import analyse
from keisoku.subjects.path.packet_pair.flags import COARSE
from keisoku.subjects.path.packet_pair.settings import PacketPairSettings
from keisoku.subjects.path.packet_pair.stages import measure
from keisoku.subjects.path.stamp.sender import DelaySender
from keisoku.subjects.path.stamp.settings import DelaySettings
from keisoku.subjects.path.time_source import SOURCES, Source
from keisoku.subjects.path.train.session import TrainSession

pytestmark = pytest.mark.lab
GIGABIT, FAST, SLOW = 1_000_000_000, 100_000_000, 10_000_000
TRIES = 6
COARSE_PERCENT = 100 * 2**0.5 / COARSE


@contextmanager
def _served(lab: PathLab) -> Iterator[tuple[Place, int]]:
    """Where to measure from, and the port of a server at the target."""
    with FarEnd("path", Place(lab.target_address, lab.target_namespace)) as server:
        yield Place(lab.target_address, lab.tester_namespace), server.port


def _observe(place: Place, port: int, stamps: Source) -> Result:
    settings = PacketPairSettings(host=place.host, port=port, sweep_pairs=10, most_pairs=400, stamps=stamps)
    with TrainSession(place, port) as session:
        facts = measure(session, settings)
        noise = facts["stamp_noise_ns"]
        assert isinstance(noise, dict)
        return analyse(session.log.trains(stamps), settings, noise, facts)


def _until(place: Place, port: int, right: Callable[[Result], bool], stamps: Source = "kernel") -> Result:
    for _ in range(TRIES):
        found = _observe(place, port, stamps)
        if right(found):
            return found
    raise AssertionError(f"not right in {TRIES} measurements: {found}")


def _forward(found: Result, name: str) -> float:
    return found.rows[0].figures[name].value


def test_a_loaded_narrow_link_is_measured_both_ways() -> None:
    hops = [Hop(GIGABIT), Hop(FAST, reverse_bps=FAST // 2)]
    with PathLab(hops, cross_traffic=[CrossTraffic(2, share=0.4)]) as lab, _served(lab) as (place, port):

        def right(found: Result) -> bool:
            rates = {row.case: row.figures["capacity"].value for row in found.rows if row.group == "Direction"}
            return rates == {"forward": pytest.approx(FAST, rel=0.03), "reverse": pytest.approx(FAST / 2, rel=0.03)}

        found = _until(place, port, right)
        sizes = [row.at.value for row in found.rows if row.at and row.case.endswith("forward")]
        assert sizes == [200, 400, 600, 800, 1000, 1250, 1500]
        assert not found.flagged("token-bucket")


def test_a_token_bucket_is_flagged_with_its_sustained_rate() -> None:
    with PathLab([Hop(GIGABIT), Hop(SLOW, bucket_bytes=15_000)]) as lab, _served(lab) as (place, port):

        def right(found: Result) -> bool:
            flags = [flag for flag in found.flags if flag.name == "token-bucket" and flag.text.startswith("forward")]
            # The bucket counts Ethernet headers too.
            truth = pytest.approx(SLOW * 1500 / 1514, rel=0.03)
            return bool(flags) and flags[0].figures["sustained_rate"].value == truth

        _until(place, port, right)


def test_programs_stamps_limit_a_fast_link_and_are_flagged_where_the_kernels_are_not() -> None:
    """The same host, the same kind of link; 17 packets of 1500 byte take 192 µs, a receiver wakes some µs late."""
    with PathLab([Hop(GIGABIT)]) as lab, _served(lab) as (place, port):

        def limited(found: Result) -> bool:
            # By the program's stamps trains arrive faster than they left; that must not pass for a lower bound, and
            # never for stages, however late the program is woken.
            assert not found.flagged("hidden-l2-stage")
            return _forward(found, "of_stamps") < COARSE_PERCENT or (
                found.flagged("clock-limited") and not found.flagged("sender-limited")
            )

        def free(found: Result) -> bool:
            return not found.flagged("clock-limited") and _forward(found, "capacity") == pytest.approx(GIGABIT, rel=0.2)

        by_program = _until(place, port, limited, "user-gettimeofday")
        if not by_program.flagged("clock-limited"):
            pytest.skip("programs are woken so evenly here that their stamps do for 1 Gb/s")
        by_kernel = _until(place, port, free)
        # How many times better depends on the host (4.9 times was met); the flag above says that it is enough.
        assert _forward(by_program, "of_stamps") > _forward(by_kernel, "of_stamps")


def test_hidden_stages_are_flagged_by_what_a_byte_costs() -> None:
    with PathLab([Hop(FAST, stages=(FAST,))]) as lab, _served(lab) as (place, port):

        def right(found: Result) -> bool:
            return found.flagged("hidden-l2-stage") and _forward(found, "like_links") == pytest.approx(2, rel=0.1)

        _until(place, port, right)


def test_sources_of_time_are_compared_on_the_same_packets() -> None:
    """The kernel's stamps give the link's rate; the clock's part is what programs' stamps differ from them."""
    users = ("user-gettimeofday", "user-tsc")
    with PathLab([Hop(FAST)]) as lab, _served(lab) as (place, port):
        for _ in range(TRIES):
            settings = SourceComparisonSettings(host=place.host, port=port, repetitions=2, pairs=20)
            with TrainSession(place, port) as session:
                facts = measure_sources(session, settings)
                noise = facts["stamp_noise_ns"]
                assert isinstance(noise, dict)
                found = compare(session.log, settings, noise)
            figures = {row.case: row.figures for row in found.rows if row.group == PAIRS}
            assert list(figures) == [*users, "kernel"]
            pairs = [
                [t.number for t in session.log.trains(source) if t.count == 2 and t.complete] for source in SOURCES
            ]
            assert len(pairs[0]) > 30 and pairs[0] == pairs[1] == pairs[SOURCES.index("kernel")]
            assert "of_clock_observed" not in figures["kernel"]
            assert all(figures[source]["of_clock_observed"].value > 0 for source in users)
            if figures["kernel"]["median"].value == pytest.approx(FAST / 1e6, rel=0.03):
                return
    raise AssertionError(f"not right in {TRIES} measurements: {figures}")


def test_one_client_at_a_time_and_the_next_one_is_told() -> None:
    with PathLab([Hop(FAST)]) as lab, _served(lab) as (place, port):
        session = TrainSession(place, port)
        with pytest.raises(ControlError, match="another client"):
            TrainSession(place, port)
        session.close()


def test_servers_behind_nat_had_another_udp_port_for_each_client() -> None:
    """A firewall lets through what it was told beforehand: one port, for one client after the other."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        udp_port = probe.getsockname()[1]
    with FarEnd("path", Place("127.0.0.1"), "--udp-port", str(udp_port)) as server:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
            taken.bind(("127.0.0.1", udp_port))
            with pytest.raises(ControlError, match="another --udp-port"):
                TrainSession(Place("127.0.0.1"), server.port)
        for _ in range(2):
            with TrainSession(Place("127.0.0.1"), server.port) as session:
                assert session.peer == ("127.0.0.1", udp_port)


@pytest.mark.parametrize(
    ("answer", "told"),
    [(b"SSH-2.0-OpenSSH\r\n", "as greeting"), (b"", "sends no greeting"), (b"keisoku-path 9\n", "version 9")],
)
def test_whoever_is_no_server_of_this_version_is_told_so(answer: bytes, told: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def greet() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.sendall(answer)
                connection.recv(len(GREETING))

        thread = threading.Thread(target=greet)
        thread.start()
        with pytest.raises(ControlError, match=told):
            TrainSession(Place("127.0.0.1"), listener.getsockname()[1])
        thread.join()


def test_a_host_that_resets_is_one_sentence_and_exit_code_2(tmp_path: Path) -> None:
    with PathLab([Hop(FAST)], target="resets") as lab:
        host = f"{lab.target_address}@{lab.tester_namespace}"
        keisoku("path", "packet-pair", host, cwd=tmp_path).refused("refuses TCP port 8620")
        with pytest.raises(EngineError, match=r"UDP port 862 refuses"):
            _delays(lab).measure()
    assert list(tmp_path.iterdir()) == []


def test_a_host_that_drops_everything_and_one_that_nobody_knows_are_told() -> None:
    with PathLab([Hop(FAST)], target="drops") as lab:
        with pytest.raises(EngineError, match=r"does not answer at TCP port 8620 within 5 s"):
            TrainSession(Place(lab.target_address, lab.tester_namespace), 8620)
        with pytest.raises(EngineError, match=r"answered none of 3 packets"):
            _delays(lab).measure()
    with pytest.raises(EngineError, match=r"no-such-host\.invalid is not known"):
        Place("no-such-host.invalid").addresses()
    with pytest.raises(PlanError, match=r"there is no namespace nowhere"):
        Place.parse("192.0.2.1@nowhere")


def _delays(lab: PathLab) -> DelaySender:
    settings = DelaySettings(host=lab.target_address, packets=3, wait_s=0.1)
    return DelaySender(Place(lab.target_address, lab.tester_namespace), settings)

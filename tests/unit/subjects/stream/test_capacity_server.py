"""A server of UDPSTP at a loopback address: what it refuses, what it never sends, and a whole test with a client."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from support.serving import serving

from keisoku.errors import EngineError, PlanError
from keisoku.faces.cli.stream.serve import command
from keisoku.ground.entry import Work
from keisoku.ground.host.place import Place
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.settings import parsed
from keisoku.running.measurement.carry_out import analyse, carry_out
from keisoku.running.measurement.table import find
from keisoku.subjects.stream.capacity import near, pdu
from keisoku.subjects.stream.capacity.far import MOST_S, CapacityServer, granted
from keisoku.subjects.stream.capacity.pdu import Activation, Null, PduError, Setup, Status
from keisoku.subjects.stream.capacity.seal import Keys, sealed
from keisoku.subjects.stream.capacity.sending_end import SendingEnd
from keisoku.subjects.stream.capacity.sending_rate import SendingRate, table

HERE = "127.0.0.1"
KEY = b"between us"


class Client:
    """A socket of a client that says what it likes."""

    def __init__(self, server: CapacityServer, address: str = HERE) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, 0))
        self.socket.settimeout(2)
        self._server = (HERE, server.port)

    def asks(self, request: Setup, **seal: Any) -> Setup:
        self.socket.sendto(sealed(request.pack(), int(time.time()), **seal), self._server)
        while pdu.kind_of(answer := self.socket.recv(2048)) == pdu.NULL:
            continue
        return Setup.parse(answer)

    def says(self, data: bytes, port: int) -> None:
        self.socket.sendto(data, (HERE, port))

    def hears_nothing(self) -> bool:
        """By now: what a server answers at once would be here, as one that it does answer comes after it."""
        self.socket.setblocking(False)
        try:
            return not self.socket.recv(2048)
        except BlockingIOError:
            return True


@pytest.fixture
def server() -> Iterator[CapacityServer]:
    one = CapacityServer(Place(HERE), 0)
    with serving(one):
        yield one


@pytest.fixture
def signed() -> Iterator[CapacityServer]:
    one = CapacityServer(Place(HERE), 0, key=KEY)
    with serving(one):
        yield one


def test_requests_are_refused_with_their_reason(server: CapacityServer, signed: CapacityServer) -> None:
    now_s = int(time.time())
    with closing(Client(server).socket), closing(Client(signed).socket):
        ours, theirs = Client(server), Client(signed)
        assert ours.asks(Setup(version=19)) == Setup(version=20, command=2, response=pdu.BAD_VERSION)
        assert ours.asks(Setup(connections=0)).response == pdu.BAD_CONNECTIONS
        assert ours.asks(Setup(connection=2, connections=2)).response == pdu.BAD_CONNECTIONS
        assert ours.asks(Setup(), key=KEY).response == pdu.NO_KEY_HERE
        assert theirs.asks(Setup()).response == pdu.KEY_NEEDED
        assert theirs.asks(Setup(), key=b"another").response == pdu.BAD_DIGEST
        # Signed well, and long ago.
        old = sealed(Setup().pack(), now_s - 60, Keys.of(KEY, now_s - 60).client)
        theirs.says(old, signed.port)
        assert Setup.parse(theirs.socket.recv(2048)).response == pdu.BAD_TIME


def test_one_client_measures_at_a_time_with_a_few_connections(server: CapacityServer) -> None:
    one, other = Client(server), Client(server)
    answers = [one.asks(Setup(connections_id=7, connections=24, connection=place)) for place in range(9)]
    assert [answer.response for answer in answers] == [pdu.OK] * 8 + [pdu.NO_CONNECTION]
    assert other.asks(Setup(connections_id=8)).response == pdu.CAPACITY_EXCEEDED


@pytest.mark.parametrize("any_address", ["0.0.0.0", "::"])
def test_at_any_address_it_answers_from_the_one_that_was_asked(any_address: str) -> None:
    """It answered from another address of its host, which no client takes for an answer."""
    server = CapacityServer(Place(any_address), 0)
    with serving(server):
        for asked in ("127.0.0.5", "127.0.0.9"):
            with closing(Client(server).socket) as client:
                client.sendto(sealed(Setup(connections_id=7).pack(), int(time.time())), (asked, server.port))
                came = [client.recvfrom(2048) for _ in range(2)]
                ports = {pdu.kind_of(data): source for data, source in came}
                port = next(Setup.parse(data).port for data, _ in came if pdu.kind_of(data) == pdu.SETUP)
                assert ports == {pdu.SETUP: (asked, server.port), pdu.NULL: (asked, port)}
                client.sendto(sealed(Activation(duration_s=1).pack(), int(time.time())), (asked, port))
                assert client.recvfrom(2048)[1] == (asked, port)


def test_it_does_not_measure_while_another_measurement_of_this_host_goes_on() -> None:
    busy = threading.Lock()
    server = CapacityServer(Place(HERE), 0, busy=busy)
    with serving(server):
        client = Client(server)
        with busy:
            assert client.asks(Setup()).response == pdu.CAPACITY_EXCEEDED
        assert client.asks(Setup()).response == pdu.OK
    assert not busy.locked()


def test_a_server_that_has_not_ended_the_last_test_yet_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy host the second direction of a measurement was refused: 'is measuring with another client'."""
    busy = threading.Lock()
    busy.acquire()
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            busy.release()

    monkeypatch.setattr(near, "time", SimpleNamespace(**vars(time) | {"sleep": sleep}))
    server = CapacityServer(Place(HERE), 0, busy=busy)
    with serving(server):
        asked = Activation(command=pdu.ACTIVATE_DOWN, duration_s=1, sub_interval_ms=500)
        assert near.measure(Place(HERE), server.port, asked).parameters.duration_s == 1
    assert len(waits) == 3


def test_no_load_goes_where_nobody_answered_from(server: CapacityServer) -> None:
    """A request with a forged source gets an answer of its own length and a null request. An activation from another
    address gets nothing."""
    client, stranger = Client(server), Client(server, "127.0.0.2")
    answer = client.asks(Setup())
    assert Null.parse(client.socket.recv(2048)) == Null()
    stranger.says(sealed(Activation().pack(), 0), answer.port)
    client.says(b"noise", answer.port)
    assert client.hears_nothing() and stranger.hears_nothing()
    client.says(sealed(Activation().pack(), 0), answer.port)
    client.socket.settimeout(2)
    assert Activation.parse(client.socket.recv(2048)).response == pdu.OK


@given(st.lists(st.binary(max_size=120), min_size=1, max_size=20))
@settings(max_examples=20, deadline=None)
def test_noise_is_never_answered(noise: list[bytes]) -> None:
    server = CapacityServer(Place(HERE), 0)
    client = Client(server)
    with closing(client.socket):
        for data in [*noise, *[b"\xac\xe1" + one.ljust(54, b"\1")[:54] for one in noise]]:
            with pytest.raises(PduError):
                server._set_up(data, client.socket.getsockname(), HERE)
        assert client.hears_nothing()


@given(
    st.builds(
        Activation,
        **{
            name: st.integers(0, 255)
            for name in (
                "low_delay_ms",
                "high_delay_ms",
                "feedback_ms",
                "duration_s",
                "traffic_class",
                "one_way",
                "fast_rows",
                "slow_after",
                "errors_above",
                "only_losses",
                "algorithm",
                "sub_interval_ms",
            )
        },
    )
)
def test_whatever_is_asked_for_the_server_grants_what_is_possible(asked: Activation) -> None:
    given_ = granted(replace(asked, command=pdu.ACTIVATE_UP))
    assert 1 <= given_.low_delay_ms <= given_.high_delay_ms and 5 <= given_.feedback_ms <= 250
    assert 1 <= given_.duration_s <= MOST_S and 100 <= given_.sub_interval_ms <= 1000 * given_.duration_s
    assert (given_.traffic_class, given_.algorithm, given_.rate_index) == (0, 0, pdu.SEARCH)
    assert given_.fast_rows and given_.slow_after and given_.one_way <= 1 and given_.only_losses <= 1


def test_a_whole_measurement_signed_and_analysed_again(signed: CapacityServer, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(KEY + b"\n")
    measurement = find("stream capacity")
    values = {"host": HERE, "port": signed.port, "duration_s": 1, "sub_interval_s": 0.25, "key_file": str(key)}
    done = carry_out(Work(measurement, parsed(measurement.settings, values), tmp_path / "run"))
    (result,) = done.results
    for row in result.rows:
        assert row.figures["maximum"].value > 10e6 and "busy" in row.remark
    assert result.deviations and len(result.rows) == 2
    assert analyse(RunDirectory.open(tmp_path / "run")).results == done.results
    assert KEY not in (tmp_path / "run" / "plan.toml").read_bytes()


def test_a_client_says_why_it_cannot_measure(signed: CapacityServer, server: CapacityServer) -> None:
    for one, key, said in (
        (signed, None, "give --key-file"),
        (signed, b"another", "has another key"),
        (server, KEY, "has no key"),
    ):
        with pytest.raises(EngineError, match=said):
            near.measure(Place(HERE), one.port, Activation(), key)
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as silent:
        silent.bind((HERE, 0))
        port = silent.getsockname()[1]
    with pytest.raises(EngineError, match="start 'keisoku stream serve --capacity' there"):
        near.measure(Place(HERE), port, Activation())


def test_the_key_of_a_server_needs_tests_of_capacity(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("secret")
    done = CliRunner().invoke(command, ["--key-file", str(tmp_path / "key")])
    assert isinstance(done.exception, PlanError) and "add --capacity" in str(done.exception)


def test_a_server_cannot_have_a_client_send_faster_than_the_protocol_allows() -> None:
    """Neither from the beginning, nor later."""
    flood = SendingRate(interval1_us=1, payload1=9000, burst1=1000)
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as server:
        server.bind((HERE, 0))
        port = server.getsockname()[1]

        def answer() -> None:
            data, peer = server.recvfrom(2048)
            setup = replace(Setup.parse(data), response=pdu.OK, command=pdu.SETUP_RESPONSE, port=port)
            server.sendto(sealed(setup.pack(), 0), peer)
            data, peer = server.recvfrom(2048)
            activation = replace(Activation.parse(data), response=pdu.OK, rate=flood)
            server.sendto(sealed(activation.pack(), 0), peer)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        with pytest.raises(EngineError, match="parameters that RFC 9946 does not allow"):
            near.measure(Place(HERE), port, Activation(command=pdu.ACTIVATE_UP))
        thread.join()
    end = SendingEnd(Activation(rate=table()[0]), 0, 0)
    end.arrived(0, sealed(Status(number=1, rate=flood).pack(), 0))
    assert end.rate == table()[0]

"""A server of UDPSTP at a loopback address: what it refuses, what it never sends, and a whole test with a client."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from keisoku.errors import EngineError, PlanError
from keisoku.faces.cli.stream.serve import command
from keisoku.ground.entry import Work
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.control import ControlError
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.ground.observer import Observer
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.settings import parsed
from keisoku.running.measurement.carry_out import analyse, carry_out
from keisoku.running.measurement.table import find
from keisoku.subjects.stream.capacity import carry, near, pdu
from keisoku.subjects.stream.capacity.pdu import Activation, Null, Setup, Status
from keisoku.subjects.stream.capacity.seal import Keys, sealed
from keisoku.subjects.stream.capacity.sending_end import SendingEnd
from keisoku.subjects.stream.capacity.sending_rate import SendingRate
from keisoku.subjects.stream.session import StreamSession

HERE = "127.0.0.1"
KEY = b"between us"


class Client:
    """A socket of a client that says what it likes."""

    def __init__(self, port: int, address: str = HERE) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((address, 0))
        self.socket.settimeout(2)
        self._server = (HERE, port)

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


@contextmanager
def measuring(address: str = HERE, key: Path | None = None) -> Iterator[int]:
    """The UDP port of a server."""
    signed = [] if key is None else ["--key-file", str(key)]
    with FarEnd("stream", Place(address), "--capacity=0", *signed) as far:
        yield far.ports[1]


@pytest.fixture
def server() -> Iterator[int]:
    with measuring() as port:
        yield port


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "key"
    path.write_bytes(KEY + b"\n")
    return path


@pytest.fixture
def signed(key: Path) -> Iterator[int]:
    with measuring(key=key) as port:
        yield port


def test_requests_are_refused_with_their_reason(server: int, signed: int) -> None:
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
        old = sealed(Setup().pack(), now_s - 60, Keys.derive(KEY, now_s - 60).client)
        theirs.says(old, signed)
        assert Setup.parse(theirs.socket.recv(2048)).response == pdu.BAD_TIME


def test_one_client_measures_at_a_time_with_a_few_connections(server: int) -> None:
    one, other = Client(server), Client(server)
    answers = [one.asks(Setup(connections_id=7, connections=24, connection=place)) for place in range(9)]
    assert [answer.response for answer in answers] == [pdu.OK] * 8 + [pdu.NO_CONNECTION]
    assert other.asks(Setup(connections_id=8)).response == pdu.CAPACITY_EXCEEDED


@pytest.mark.parametrize("any_address", ["0.0.0.0", "::"])
def test_at_any_address_it_answers_from_the_one_that_was_asked(any_address: str) -> None:
    """It answered from another address of its host, which no client takes for an answer."""
    with measuring(any_address) as port:
        for asked in ("127.0.0.5", "127.0.0.9"):
            with closing(Client(port).socket) as client:
                client.sendto(sealed(Setup(connections_id=7).pack(), int(time.time())), (asked, port))
                came = [client.recvfrom(2048) for _ in range(2)]
                ports = {pdu.kind_of(data): source for data, source in came}
                other = next(Setup.parse(data).port for data, _ in came if pdu.kind_of(data) == pdu.SETUP)
                assert ports == {pdu.SETUP: (asked, port), pdu.NULL: (asked, other)}
                client.sendto(sealed(Activation(duration_s=1).pack(), int(time.time())), (asked, other))
                assert client.recvfrom(2048)[1] == (asked, other)


def test_it_does_not_measure_while_another_measurement_of_this_host_goes_on() -> None:
    with FarEnd("stream", Place(HERE), "--capacity=0") as far:
        client = Client(far.ports[1])
        with StreamSession(Place(HERE), far.port):
            assert client.asks(Setup()).response == pdu.CAPACITY_EXCEEDED
        while (response := client.asks(Setup()).response) == pdu.CAPACITY_EXCEEDED:
            continue  # it has not noticed yet that the other is gone
        assert response == pdu.OK
        with pytest.raises(ControlError, match="another client"):
            StreamSession(Place(HERE), far.port)


def test_a_server_that_has_not_ended_the_last_test_yet_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy host the second direction of a measurement was refused: 'is measuring with another client'."""
    waits: list[float] = []
    with FarEnd("stream", Place(HERE), "--capacity=0") as far:
        session = StreamSession(Place(HERE), far.port)

        def sleep(seconds: float) -> None:
            waits.append(seconds)
            if len(waits) == 3:
                session.close()

        monkeypatch.setattr(near, "time", SimpleNamespace(**vars(time) | {"sleep": sleep}))
        asked = Activation(command=pdu.ACTIVATE_DOWN, duration_s=1, sub_interval_ms=500)
        assert near.measure(Place(HERE), far.ports[1], asked).parameters.duration_s == 1
    assert len(waits) >= 3


def test_no_load_goes_where_nobody_answered_from(server: int) -> None:
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


@pytest.fixture(scope="module")
def lasting() -> Iterator[int]:
    with measuring() as port:
        yield port


@given(st.lists(st.binary(max_size=120), min_size=1, max_size=20))
@settings(max_examples=20, deadline=None)
def test_noise_is_never_answered(lasting: int, noise: list[bytes]) -> None:
    client = Client(lasting)
    with closing(client.socket):
        for data in [*noise, *[b"\xac\xe1" + one.ljust(54, b"\1")[:54] for one in noise]]:
            client.says(data, lasting)
        # What is answered comes behind all that, and nothing before it.
        client.socket.sendto(sealed(Setup(version=1).pack(), 0), (HERE, lasting))
        assert Setup.parse(client.socket.recv(2048)).response == pdu.BAD_VERSION
        assert client.hears_nothing()


def test_a_whole_measurement_signed_and_analysed_again(signed: int, key: Path, tmp_path: Path) -> None:
    measurement = find("stream capacity")
    values = {"host": HERE, "port": signed, "duration_s": 1, "sub_interval_s": 0.25, "key_file": str(key)}
    done = carry_out(Work(measurement, parsed(measurement.settings, values), tmp_path / "run"))
    (result,) = done.results
    for row in result.rows:
        assert row.figures["maximum"].value > 10e6 and "busy" in row.remark
    assert result.deviations and len(result.rows) == 2
    assert analyse(RunDirectory.open(tmp_path / "run")).results == done.results
    assert KEY not in (tmp_path / "run" / "plan.toml").read_bytes()


def test_a_run_began_only_after_its_first_direction(
    server: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever started it on the page waited for ten seconds before anything was shown."""
    said: list[str] = []

    class Watching(Observer):
        def begun(self, directory: RunDirectory) -> None:
            said.append("begun")

    def load(*given: Any) -> None:
        said.append("load")
        carry.carry_out(*given)

    monkeypatch.setattr(near, "carry_out", load)
    entry = find("stream capacity")
    values = {"host": HERE, "port": server, "duration_s": 1, "sub_interval_s": 0.25, "direction": "down"}
    carry_out(Work(entry, parsed(entry.settings, values), tmp_path / "run", observer=Watching()))
    assert said == ["begun", "load"]


def test_a_client_says_why_it_cannot_measure(signed: int, server: int) -> None:
    for one, key, said in (
        (signed, None, "give --key-file"),
        (signed, b"another", "has another key"),
        (server, KEY, "has no key"),
    ):
        with pytest.raises(EngineError, match=said):
            near.measure(Place(HERE), one, Activation(), key)
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
    usual = SendingRate(interval2_us=1000, payload2=1222, burst2=1)
    end = SendingEnd(Activation(rate=usual), 0, 0)
    end.arrived(0, sealed(Status(number=1, rate=flood).pack(), 0))
    assert end.rate == usual

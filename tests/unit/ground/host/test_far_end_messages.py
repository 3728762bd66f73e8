"""Messages of clients that are none of ours: the far end answers or hangs up, and then serves the next client."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.control import GREETING as OF_PATHS
from keisoku.ground.host.two_ended.control import Control
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.subjects.stream.session import GREETING as OF_STREAMS

HERE = Place("127.0.0.1")
GREETINGS = {"path": OF_PATHS, "stream": OF_STREAMS}
DOES = {
    "path": ["hello", "noise", "watch", "collect", "send", "nothing"],
    "stream": [
        "trial",
        "transactions",
        "probes",
        "probes-end",
        "nat",
        "nat-end",
        "interface",
        "file",
        "file-op",
        "run",
    ],
}
NAMES = ["wait_s", "packets", "trains", "gap_s", "trial", "set", "name", "bytes", "bps", "direct", "op", "offered"]
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture(scope="module", params=["path", "stream"])
def far(request: pytest.FixtureRequest) -> Iterator[tuple[str, FarEnd]]:
    with FarEnd(request.param, HERE) as served:
        yield request.param, served
    assert served.says and not [line for line in served.says if "panicked" in line]


def framed(message: Any) -> bytes:
    text = json.dumps(message).encode()
    return struct.pack("!II", len(text), 0) + text


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_whatever_a_client_says_the_next_one_is_served(far: tuple[str, FarEnd], data: st.DataObject) -> None:
    service, served = far
    greeting = GREETINGS[service]
    does = st.sampled_from(DOES[service])
    message = st.dictionaries(st.sampled_from(NAMES), _values, max_size=4)
    said = data.draw(st.lists(st.tuples(does, message), max_size=3))
    noise = data.draw(st.binary(max_size=60))
    # Nothing is waited for here: a client may ask for that.
    messages = [framed({**rest, "do": do} | ({"wait_s": 0} if "wait_s" in rest else {})) for do, rest in said]
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", served.port)) as client:
        client.settimeout(20)
        # It may hang up before it has all.
        client.sendall(greeting + b"".join(messages) + noise)
        client.shutdown(socket.SHUT_WR)
        while client.recv(1 << 16):
            continue
    while b"another client" in (came := welcomed(served.port, greeting)):
        continue  # it has not noticed yet that the client before is gone
    assert b"error" not in came


def welcomed(port: int, greeting: bytes) -> bytes:
    """What it says first to a client that greets it."""
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.settimeout(20)
        client.sendall(greeting)
        came = b""
        while len(came) < len(greeting) + 70 and (part := client.recv(1000)):
            came += part
    assert came.startswith(greeting)
    return came


def test_a_report_of_a_long_run_on_a_busy_host_is_read() -> None:
    """After 600 s in which many packets were not sent, it had more than 1 MiB, and was taken for nonsense."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        far, _ = server.accept()
    with near, far:
        text = json.dumps({"record": {"slips": [1_000_000] * 500_000}}).encode()
        telling = threading.Thread(target=far.sendall, args=(struct.pack("!II", len(text), 0) + text,))
        telling.start()
        message, _ = Control(near, "the far end", OF_PATHS).receive(30)
        telling.join()
    assert len(message["record"]["slips"]) == 500_000

"""An end of a two-ended measurement, over loopback: what it sends, and when."""

from __future__ import annotations

import time

import pytest

from keisoku._core import StampedSocket
from keisoku.subjects.path.train.probe import HELLO, received_rows
from keisoku.subjects.path.train.probe_end import APART_NS, ProbeEnd

TOKEN = bytes(8)


@pytest.mark.parametrize("count", [1, 3])
def test_a_packet_by_itself_was_as_late_as_the_handling_of_the_short_one_ahead_of_it(count: int) -> None:
    """A link of the lab delivered the short one while it was due: at 1 Gb/s no delay grew with the size."""
    sender, receiver = ProbeEnd("127.0.0.1", TOKEN), StampedSocket("udp", ("127.0.0.1", 0))
    began_ns = time.monotonic_ns()
    sent = sender.send(("127.0.0.1", receiver.address[1]), [(7, 1000, count)], 0.0)
    assert count > 1 or time.monotonic_ns() - began_ns >= APART_NS
    came = received_rows(TOKEN, receiver.receive(time.monotonic_ns() + 5_000_000_000, least=count + 1)[0])
    assert list(came["train"]) == [HELLO, *[7] * count]
    assert list(sent["index"]) == list(range(count))

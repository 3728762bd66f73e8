"""Events of the instrument's memory as Python values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.fpga_events import encode_event

from keisoku.errors import EngineError
from keisoku.ground.fpga.events import EVENT_BYTES, Event, EventKind, decode_event

NUMBERS = st.integers(0, 2**48 - 1)
EVENTS = st.builds(Event, st.sampled_from(EventKind), st.integers(0, 2**44 - 1).map(lambda t: t * 16), NUMBERS, NUMBERS)


def test_an_event_by_hand() -> None:
    octets = bytes.fromhex("0 00000000010 00000000002A 00000000002C".replace(" ", ""))
    event = decode_event(octets)
    assert event == Event(EventKind.LOST, 256, 42, 44)
    assert event.frames == 3
    assert encode_event(event) == octets


def test_each_kind_lies_in_the_highest_four_bits() -> None:
    for kind in EventKind:
        assert decode_event(bytes([kind << 4]) + bytes(EVENT_BYTES - 1)) == Event(kind, 0, 0, 0)


def test_a_latency_may_be_below_zero() -> None:
    assert Event(EventKind.FRAME, 0, 1, 811).latency_ns == 811
    assert Event(EventKind.FRAME, 0, 1, 2**48 - 8).latency_ns == -8
    assert Event(EventKind.DUPLICATED, 0, 5, 5).frames == 1


@given(EVENTS)
def test_events_are_read_as_they_were_written(event: Event) -> None:
    assert decode_event(encode_event(event)) == event


def test_bytes_that_are_no_events_are_refused() -> None:
    with pytest.raises(EngineError, match="an event has 18 bytes, not 17"):
        decode_event(bytes(17))
    with pytest.raises(EngineError, match="no event of kind 15"):
        decode_event(b"\xff" * 18)

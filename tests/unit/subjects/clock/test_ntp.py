"""NTP's framing and the reading that an exchange makes; bytes and times made by hand."""

from __future__ import annotations

import hashlib
import struct
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.ntp_responder import ntp_stamp

from keisoku.errors import EngineError
from keisoku.subjects.clock.reading import Reading, Translation
from keisoku.subjects.clock.reference import ntp_packet as ntp
from keisoku.subjects.clock.reference.ntp import exchange
from keisoku.subjects.clock.reference.ntp_standing import lack, reference_id

NOW = 1_795_000_000_123_456_789
COOKIE = 0x0123456789ABCDEF


def packet(
    *,
    leap: int = 0,
    mode: int = 4,
    stratum: int = 2,
    identity: bytes = b"GPS\0",
    origin: int = COOKIE,
    held_ns: int = 1000,
    dispersion_s: int = 1,
    updated_ns: int | None = None,
    precision: int = -20,
) -> bytes:
    return ntp.PACKET.pack(
        leap << 6 | 4 << 3 | mode,
        stratum,
        0,
        precision,
        1 << 15,
        dispersion_s << 16,
        struct.unpack("!I", identity)[0],
        0 if updated_ns is None else ntp_stamp(updated_ns),
        origin,
        ntp_stamp(NOW),
        ntp_stamp(NOW + held_ns),
    )


def test_a_request_is_client_mode_of_version_4_and_tells_nothing_but_its_cookie() -> None:
    sent = ntp.request(COOKIE)
    assert len(sent) == 48 and sent[0] == 0x23
    assert sent[1:40] == bytes(39) and sent[40:] == COOKIE.to_bytes(8, "big")


def test_an_answer_is_read() -> None:
    found = ntp.answer(packet(), COOKIE, NOW)
    assert found is not None
    assert (found.stratum, found.leap, found.root_delay_ns, found.root_dispersion_ns) == (2, 0, 500_000_000, 10**9)
    assert abs(found.received_ns - NOW) <= 1 and abs(found.transmitted_ns - NOW - 1000) <= 1


@pytest.mark.parametrize("strange", [packet(origin=COOKIE + 1), packet(mode=3), packet()[:47], b""])
def test_what_is_no_answer_to_the_request_is_passed_over(strange: bytes) -> None:
    assert ntp.answer(strange, COOKIE, NOW) is None


@pytest.mark.parametrize(
    ("bad", "says"),
    [(packet(stratum=0, identity=b"RATE"), "RATE"), (packet(leap=3), "not synchronised"), (packet(stratum=16), "not")],
)
def test_a_server_that_cannot_or_will_not_tell_the_time_is_named(bad: bytes, says: str) -> None:
    with pytest.raises(EngineError, match=says):
        ntp.answer(bad, COOKIE, NOW)


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (packet(held_ns=-(10**9)), "answered 1 s before it was asked"),
        (packet(held_ns=-2000), "before it was asked"),
        (packet(dispersion_s=16), "16 s or more away"),
        (packet(updated_ns=NOW + 10**9), "set after the answer left"),
    ],
)
def test_a_server_whose_times_contradict_each_other_is_refused(bad: bytes, says: str) -> None:
    """T3 before T2 by 1 s was taken for a reading."""
    with pytest.raises(EngineError, match=says):
        ntp.answer(bad, COOKIE, NOW)


def test_a_coarse_server_may_answer_within_one_step_of_its_clock() -> None:
    assert ntp.answer(packet(held_ns=-900), COOKIE, NOW) is not None
    assert ntp.answer(packet(held_ns=-10_000_000, precision=-6), COOKIE, NOW) is not None
    with pytest.raises(EngineError, match="before it was asked"):
        ntp.answer(packet(held_ns=-20_000_000, precision=3), COOKIE, NOW)
    assert ntp.answer(packet(updated_ns=NOW - 10**12), COOKIE, NOW) is not None


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (packet(stratum=8, identity=bytes((127, 127, 1, 1)), dispersion_s=0), "stratum 8, reference id 127.127.1.1"),
        (packet(stratum=6, identity=bytes((127, 127, 1, 0)), dispersion_s=0), "reference id 127.127.1.0"),
        (packet(stratum=5, identity=bytes((127, 0, 0, 1)), dispersion_s=0), "own undisciplined clock"),
        (packet(stratum=1, identity=b"LOCL", dispersion_s=0), "LOCL"),
        (packet(stratum=1, identity=bytes(4), dispersion_s=0), "names no source (stratum 1, reference id 0)"),
        (packet(stratum=3, identity=bytes(4), dispersion_s=0), "names no source"),
        (packet(stratum=3, identity=bytes((198, 51, 100, 1)), dispersion_s=0), "its source is this host, 198.51.100.1"),
        (packet(stratum=1, dispersion_s=1), "1.25 s away"),
        (packet(stratum=1, dispersion_s=0), None),
        (packet(stratum=2, identity=bytes((127, 127, 20, 0)), dispersion_s=0), None),
        (packet(stratum=15, identity=bytes((192, 0, 2, 1)), dispersion_s=0), None),
    ],
)
def test_a_server_that_has_its_time_from_nobody_is_told_by_what_it_says(given: bytes, says: str | None) -> None:
    """`local stratum 8` of chrony and ntpd's undisciplined clock replaced the ± 100 ppm of an oscillator."""
    found = ntp.answer(given, COOKIE, NOW)
    assert found is not None
    said = lack(found, "192.0.2.7", "198.51.100.1")
    assert (said is None) if says is None else (said is not None and says in said)


def test_a_server_that_follows_this_host_or_is_at_it_is_told_over_ipv6_too() -> None:
    """Its second is that of the clock that is measured."""
    own = "2001:db8::7"
    found = ntp.answer(packet(stratum=3, identity=reference_id(own), dispersion_s=0), COOKIE, NOW)
    assert found is not None and reference_id(own) == hashlib.md5(ip_address(own).packed).digest()[:4]
    assert "its source is this host" in str(lack(found, "2001:db8::1", own))
    assert lack(found, "2001:db8::1", "2001:db8::8") is None
    assert "it is at this host" in str(lack(found, "2001:db8::8", "2001:db8::8"))


CLOCK = Translation(Reading(0, NOW, 0), Reading(10**9, NOW + 10**9, 10**9))


def _held(held_ns: int, precision: int = -20) -> Reading:
    """An exchange of 200 µs; ticks are ns."""
    found = ntp.answer(packet(held_ns=held_ns, precision=precision), COOKIE, NOW)
    assert found is not None
    return exchange(500_000_000, 500_200_000, None, None, found, CLOCK)


def test_a_server_that_held_a_request_for_longer_than_it_was_away_is_refused() -> None:
    """T2 half a second too early gave a bracket of no width at all."""
    with pytest.raises(EngineError, match=r"held a request for 0\.5 s, which was away for 0\.0002 s"):
        _held(500_000_000)
    assert 200_000 <= _held(0).width <= 202_000


def test_a_coarse_server_is_known_to_a_step_of_its_clock() -> None:
    """Its brackets were as narrow as a fine one's: 200 µs for a clock that ticks 64 times a second."""
    assert _held(0, -6).width >= 15_625_000
    assert _held(15_625_000, -6).width >= 200_000


@given(st.binary(max_size=100))
def test_any_bytes_are_an_answer_or_nothing_or_one_sentence(junk: bytes) -> None:
    try:
        ntp.answer(junk, COOKIE, NOW)
    except EngineError as error:
        assert "NTP server" in str(error)


@given(st.integers(0, 6_000_000_000_000_000_000))
def test_stamps_survive_the_change_of_era_in_2036(unix: int) -> None:
    assert abs(ntp.unix_ns(ntp_stamp(unix), unix + 10**15) - unix) <= 1


@given(
    there=st.integers(1, 50_000_000),
    held=st.integers(0, 5_000_000),
    back=st.integers(1, 50_000_000),
    ahead=st.integers(-(10**15), 10**15),
    early=st.integers(0, 100_000),
    late=st.integers(0, 100_000),
    kernel=st.booleans(),
)
def test_the_truth_is_in_the_bracket_whatever_the_ways_take(
    there: int, held: int, back: int, ahead: int, early: int, late: int, kernel: bool
) -> None:
    """Ticks are ns here; CLOCK_REALTIME is `ahead` of nothing, the server's clock `ahead` of both."""
    sent = 10**9
    received = sent + there
    answered = received + held
    arrived = answered + back
    clock = Translation(
        Reading(sent - early - 5000, NOW - early - 5000, sent - early - 5000),
        Reading(arrived + late + 5000, NOW + arrived - sent + late + 5000, arrived + late + 5000),
    )
    answer = ntp.NtpAnswer(0, 1, b"", 0, 0, received + ahead, answered + ahead, 0)
    sent_ns, received_ns = (NOW, NOW + arrived - sent) if kernel else (None, None)
    found = exchange(sent - early, arrived + late, sent_ns, received_ns, answer, clock)
    assert found.before - 4 <= found.reference_ns - ahead <= found.after + 4
    assert found.width <= there + back + held // 1000 + (8 if kernel else early + late + 8)

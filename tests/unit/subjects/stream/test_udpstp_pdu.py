"""PDUs of UDPSTP: vectors put together by hand, every value back and forth, and any bytes."""

from __future__ import annotations

import struct
from dataclasses import fields, replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.udpstp_search import HIGH_SPEED, table

from keisoku.subjects.stream.capacity.pdu import (
    LOAD_BYTES,
    Activation,
    LoadHeader,
    Null,
    PduError,
    Setup,
    Status,
    SubInterval,
    checksum_of,
)
from keisoku.subjects.stream.capacity.seal import Keys, SealError, SealTimeError, Tail, sealed, verify
from keisoku.subjects.stream.capacity.sending_rate import SendingRate

KINDS: tuple[type[Setup | Null | Activation | Status], ...] = (Setup, Null, Activation, Status)
BYTES = {Setup: 56, Null: 48, Activation: 104, Status: 204}
_WIDTHS = {"B": 8, "H": 16, "I": 32, "Q": 64}


def _letters(layout: struct.Struct) -> list[str]:
    found, count = [], ""
    for letter in layout.format.removeprefix("!"):
        if letter.isdigit():
            count += letter
        else:
            found += [letter] * int(count or 1)
            count = ""
    return found


@st.composite
def pdus(draw: st.DrawFn) -> Setup | Null | Activation | Status:
    """Any values that fields can have."""
    kind = draw(st.sampled_from(KINDS))
    values = [
        draw(st.integers(-(2**31), 2**31 - 1) if one == "i" else st.integers(0, 2 ** _WIDTHS[one] - 1))
        for one in _letters(kind.layout)[1:]
    ]
    names = [one.name for one in fields(kind)]
    if kind in (Setup, Activation):
        values[names.index("command")] = draw(st.sampled_from((1, 2)))
    if kind is Status:
        values[0], values[1] = draw(st.sampled_from((0, 1, 2))), draw(st.sampled_from((0, 1)))
    return kind._from_flat(values)


@given(pdus(), st.binary(min_size=1, max_size=40), st.integers(0, 2**32 - 1), st.integers(0, 255))
def test_every_pdu_comes_back_and_is_refused_when_a_bit_changed(
    pdu: Setup | Null | Activation | Status, key: bytes, now_s: int, key_id: int
) -> None:
    data = sealed(pdu.pack(), now_s, key, key_id)
    assert len(data) == BYTES[type(pdu)]
    assert type(pdu).parse(data) == pdu
    assert (Tail.parse(data).mode, Tail.parse(data).unix_s, Tail.parse(data).key_id) == (1, now_s, key_id)
    verify(data, key, now_s + 5)
    with pytest.raises(SealTimeError):
        verify(data, key, now_s - 6)
    with pytest.raises(SealError):
        verify(data, key + b"x", now_s)
    changed = bytearray(data)
    changed[len(data) // 2] ^= 1
    if data[-2:] != b"\0\0":  # which means that there is no checksum
        with pytest.raises(PduError):
            Tail.parse(bytes(changed))


@given(st.lists(st.integers(0, 2**16 - 1), min_size=10, max_size=10), st.integers(LOAD_BYTES, 9000))
def test_the_header_of_a_load_comes_back(values: list[int], payload_bytes: int) -> None:
    load = LoadHeader(values[0] % 3, values[1] % 2, values[2], payload_bytes, *values[4:])
    buffer = bytearray(payload_bytes)
    load.pack_into(buffer)
    assert LoadHeader.parse(bytes(buffer)) == load
    buffer[30:32] = (checksum_of(bytes(buffer[:LOAD_BYTES]))).to_bytes(2, "big")
    assert LoadHeader.parse(bytes(buffer)) == load
    buffer[5] ^= 1
    if buffer[30:32] != b"\0\0":
        with pytest.raises(PduError, match="checksum"):
            LoadHeader.parse(bytes(buffer))


@given(st.binary(max_size=300), st.sampled_from(KINDS), st.integers(0, 60))
def test_any_bytes_are_a_pdu_or_are_refused(data: bytes, kind: type[Setup], cut: int) -> None:
    """Noise, noise behind the right identifier, and a PDU of which the end is missing."""
    whole = sealed(kind().pack(), 0)
    for given_ in (data, whole[:2] + data, (whole[:2] + data).ljust(len(whole), b"\xff")[: len(whole)]):
        for parse in (kind.parse, LoadHeader.parse, Tail.parse):
            try:
                parse(given_)
            except PduError:
                continue
    if cut:
        with pytest.raises(PduError):
            kind.parse(whole[:-cut])


def test_fields_are_where_the_rfc_has_them() -> None:
    setup = sealed(Setup(connection=1, connections=2, connections_id=3, port=0x1234, modifiers=2).pack(), 0)
    assert setup[:15].hex(" ") == "ac e1 00 14 01 02 00 03 01 00 00 00 12 34 02"
    rate = SendingRate(1, 2, 3, 4, 5, 6, 7)
    activation = Activation(rate=rate, sub_interval_ms=0x0102).pack()
    assert activation[28:56] == struct.pack("!7I", 1, 2, 3, 4, 5, 6, 7) and activation[56:58] == b"\1\2"
    status = Status(number=9, rate=rate, sub_interval=SubInterval(datagrams=8, payload_bytes=2**40), lasted_us=77)
    data = status.pack()
    assert data[4:8] == b"\0\0\0\x09" and data[36:40] == b"\0\0\0\0"
    assert data[40:52] == b"\0\0\0\x08" + (2**40).to_bytes(8, "big")
    assert int.from_bytes(data[140:144], "big") == 77


def test_keys_are_those_of_an_independent_implementation() -> None:
    """OpenSSL 3: `openssl kdf -keylen 64 -kdfopt mac:HMAC -kdfopt digest:SHA256 -kdfopt mode:COUNTER -kdfopt
    key:secret -kdfopt salt:UDPSTP -kdfopt info:1790000000 KBKDF`."""
    keys = Keys.derive(b"secret", 1_790_000_000)
    assert (keys.client + keys.server).hex() == (
        "91d5fd4809faa74d6931f153d35731511dbf37f6fa7821328a240155b068ced7"
        "65199871547ee51f2ffc11e434a20b43cf6ea63459244d609c424bf7ce323d93"
    )


def test_rows_of_the_table_are_in_mbps() -> None:
    for packet_bytes in (1250, 1500):
        rows = table(packet_bytes)
        assert [round(row.bps / 1e6, 9) for row in rows[1 : HIGH_SPEED + 1]] == list(range(1, HIGH_SPEED + 1))
        assert all(one.bps < other.bps for one, other in pairwise(rows))
        assert all(row.possible for row in rows)
    assert not replace(table()[500], interval1_us=1).possible

"""NetFlow and IPFIX, by datagrams that Scapy builds, and by what Scapy cannot build."""

from __future__ import annotations

from struct import pack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.layers.netflow import (
    NetflowDataflowsetV9,
    NetflowFlowsetV9,
    NetflowHeader,
    NetflowHeaderV5,
    NetflowHeaderV9,
    NetflowRecordV5,
    NetflowRecordV9,
    NetflowTemplateFieldV9,
    NetflowTemplateV9,
)
from scapy.packet import Raw

from keisoku.ground.telemetry.exported import NoExportError
from keisoku.ground.telemetry.flow_key import FlowKey
from keisoku.ground.telemetry.flow_records import RecordReader

KEY = FlowKey(bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]), 17, 5000, 53)
FIELDS = ((8, 4), (12, 4), (4, 1), (7, 2), (11, 2), (2, 4), (1, 4))
"""Source, destination, protocol, both ports, packets, bytes."""


def flow(packets: int = 7, bytes_: int = 700) -> bytes:
    return KEY.source + KEY.destination + pack("!BHHII", 17, 5000, 53, packets, bytes_)


def template(fields: tuple[tuple[int, int], ...], number: int = 300) -> NetflowTemplateV9:
    own = [NetflowTemplateFieldV9(fieldType=kind, fieldLength=length) for kind, length in fields]
    return NetflowTemplateV9(templateID=number, template_fields=own)


def version_9(*sets: object, up_ms: int = 0, number: int = 3) -> bytes:
    packet = NetflowHeader(version=9) / NetflowHeaderV9(packageSequence=number, SourceID=5, sysUptime=up_ms)
    for one in sets:
        packet = packet / one
    return bytes(packet)


def ipfix(*sets: bytes, sequence: int = 9, at_s: int = 100) -> bytes:
    content = b"".join(sets)
    return pack("!HHIII", 10, 16 + len(content), at_s, sequence, 4) + content


def data(content: bytes, number: int = 300) -> object:
    return NetflowDataflowsetV9(templateID=number, records=[NetflowRecordV9(fieldValue=content)])


def set_of(number: int, content: bytes) -> bytes:
    return pack("!HH", number, 4 + len(content)) + content


def test_netflow_5_says_whole_flows() -> None:
    own: dict[str, Any] = {"src": "10.0.0.1", "dst": "10.0.0.2", "srcport": 5000, "dstport": 53, "prot": 17, "input": 3}
    record = NetflowRecordV5(dpkts=7, dOctets=700, first=4000, **own)
    packet = NetflowHeader() / NetflowHeaderV5(flowSequence=11, sysUptime=9000, samplingInterval=0x4040) / record
    said = RecordReader().read(bytes(packet / record))
    assert (said.protocol, said.sequence, said.counted) == ("NetFlow 5", 11, 2)
    (first, second) = said.flows
    assert first == second
    assert (first.key, first.frames, first.bytes_, first.interface) == (KEY, 7, 700, 3)
    assert (first.one_in, first.age_ms) == (64, 5000)


def test_netflow_5_without_sampling_counts_every_packet() -> None:
    packet = NetflowHeader() / NetflowHeaderV5() / NetflowRecordV5()
    assert RecordReader().read(bytes(packet)).flows[0].one_in == 1


def test_records_are_read_by_the_template_that_came_before() -> None:
    reader = RecordReader()
    unknown = reader.read(version_9(data(flow())))
    assert (unknown.unknown_sets, unknown.flows) == (1, [])
    fields = (*FIELDS, (22, 4))
    reader.read(version_9(NetflowFlowsetV9(templates=[template(fields)])))
    said = reader.read(version_9(data(flow() + pack("!I", 4000)), up_ms=6000))
    assert (said.protocol, said.domain, said.sequence, said.counted) == ("NetFlow 9", 5, 3, 1)
    (record,) = said.flows
    assert (record.key, record.frames, record.bytes_, record.one_in, record.age_ms) == (KEY, 7, 700, None, 2000)


def test_options_say_how_it_samples() -> None:
    reader = RecordReader()
    # RFC 3954 §6.1: lengths of scopes and of options in bytes, then their fields. Scapy 2.8 fails to build these sets.
    options = Raw(set_of(1, pack("!HHHHHHH", 400, 4, 4, 1, 4, 34, 4) + bytes(2)))
    reader.read(version_9(NetflowFlowsetV9(templates=[template(FIELDS)])))
    reader.read(version_9(options))
    reader.read(version_9(data(pack("!II", 1, 100), 400)))
    (record,) = reader.read(version_9(data(flow()))).flows
    assert record.one_in == 100


def test_options_of_ipfix_say_how_it_samples() -> None:
    reader = RecordReader()
    # RFC 7011 §3.4.2.2: numbers of fields and of scopes.
    reader.read(ipfix(set_of(3, pack("!HHHHHHHHH", 400, 3, 1, 149, 4, 305, 4, 306, 4))))
    plain = b"".join(pack("!HH", *one) for one in FIELDS)
    reader.read(ipfix(set_of(2, pack("!HH", 300, len(FIELDS)) + plain), set_of(400, pack("!III", 4, 1, 63))))
    (record,) = reader.read(ipfix(set_of(300, flow()))).flows
    assert record.one_in == 64


def test_fields_of_variable_length_and_of_companies_are_passed_over() -> None:
    reader = RecordReader()
    fields = b"".join(pack("!HH", *one) for one in FIELDS) + pack("!HHI", 0x8000 | 77, 2, 6876)
    named = pack("!HH", 300, len(FIELDS) + 2) + pack("!HH", 82, 0xFFFF) + fields
    reader.read(ipfix(set_of(2, named)))
    short, long = bytes([3]) + b"eth", bytes([255]) + pack("!H", 300) + b"x" * 300
    said = reader.read(ipfix(set_of(300, short + flow(1) + b"zz" + long + flow(2) + b"zz")))
    assert [record.frames for record in said.flows] == [1, 2]
    assert (said.protocol, said.domain, said.sequence, said.counted) == ("IPFIX", 4, 9, 2)


def test_totals_are_read_as_what_came_since() -> None:
    reader = RecordReader()
    fields = ((8, 4), (12, 4), (4, 1), (7, 2), (11, 2), (86, 4), (85, 4), (150, 4))
    reader.read(ipfix(set_of(2, pack("!HH", 300, len(fields)) + b"".join(pack("!HH", *one) for one in fields))))
    frames = [
        reader.read(ipfix(set_of(300, flow(packets, 100 * packets) + pack("!I", 97)))).flows[0]
        for packets in (5, 12, 3)
    ]
    assert [(record.frames, record.bytes_) for record in frames] == [(5, 500), (7, 700), (3, 300)]
    assert frames[0].age_ms == 3000


@pytest.mark.parametrize(
    "text", [b"", b"\0\x05", b"\0\x07" + bytes(40), ipfix(b"\0\2\0\xff"), ipfix(set_of(300, b""))[:14]]
)
def test_what_is_no_export_is_refused(text: bytes) -> None:
    with pytest.raises(NoExportError):
        RecordReader().read(text)


@given(st.lists(st.binary(max_size=200), max_size=4), st.sampled_from([5, 9, 10]))
def test_no_bytes_do_anything_but_be_read_or_refused(texts: list[bytes], version: int) -> None:
    reader = RecordReader()
    for text in texts:
        for whole in (text, pack("!H", version) + text, ipfix(set_of(2, text), set_of(300, text))):
            try:
                said = reader.read(whole)
            except NoExportError:
                continue
            assert all(flow.frames >= 0 for flow in said.flows)

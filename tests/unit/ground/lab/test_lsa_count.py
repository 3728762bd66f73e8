"""LSAs in OSPF's packets, as Scapy makes them and in any octets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.contrib.ospf import (
    OSPF_External_LSA,
    OSPF_Hdr,
    OSPF_LSA_Hdr,
    OSPF_LSAck,
    OSPF_LSUpd,
    OSPF_Network_LSA,
    OSPF_NSSA_External_LSA,
    OSPF_Router_LSA,
    OSPF_SummaryIP_LSA,
)
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether

from keisoku.ground.lab.lsa_count import ACKNOWLEDGEMENT, kinds_of

_MADE = {
    1: OSPF_Router_LSA,
    2: OSPF_Network_LSA,
    3: OSPF_SummaryIP_LSA,
    5: OSPF_External_LSA,
    7: OSPF_NSSA_External_LSA,
}


@given(st.lists(st.sampled_from(sorted(_MADE)), max_size=20), st.binary(max_size=40))
def test_each_lsa_of_an_update_is_found_before_a_trailer(types: list[int], trailer: bytes) -> None:
    update = OSPF_LSUpd(lsalist=[_MADE[kind]() for kind in types])
    frame = bytes(Ether() / IP(proto=89) / OSPF_Hdr() / update) + trailer
    assert kinds_of(frame) == types


@pytest.mark.parametrize("count", [1, 7])
def test_each_header_of_an_acknowledgement_is_found(count: int) -> None:
    said = OSPF_LSAck(lsaheaders=[OSPF_LSA_Hdr() for _ in range(count)])
    assert kinds_of(bytes(Ether() / IP(proto=89) / OSPF_Hdr() / said)) == [ACKNOWLEDGEMENT] * count


@given(st.binary(max_size=200), st.integers(0, 150))
def test_what_is_cut_or_damaged_is_not_counted_wrongly(damage: bytes, length: int) -> None:
    update = OSPF_LSUpd(lsalist=[OSPF_Router_LSA(), OSPF_External_LSA()])
    whole = bytes(Ether() / IP(proto=89) / OSPF_Hdr() / update)
    assert kinds_of(whole[: min(length, len(whole) - 1)]) in (None, [])
    found = kinds_of(whole[:42] + damage)
    assert found is None or len(found) <= len(damage) // 20


def test_a_piece_of_a_packet_is_not_counted() -> None:
    update = OSPF_LSUpd(lsalist=[OSPF_Router_LSA()])
    assert kinds_of(bytes(Ether() / IP(proto=89, flags="MF") / OSPF_Hdr() / update)) is None

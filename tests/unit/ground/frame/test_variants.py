"""Variants: every one is what Scapy builds for the same values, and steps as its modifiers say."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.signed_frames import layers, names, ones_complement_sum, recomputed, signed

from keisoku.errors import PlanError
from keisoku.ground.frame.headers import Ends
from keisoku.ground.frame.imix import mix
from keisoku.ground.frame.variants import MOST_BYTES, MOST_VARIANTS, Frames, frames

ENDS = Ends("02:00:00:00:00:01", "02:00:00:00:00:02")
V4, V6 = "Ether()/IP()/UDP()", "Ether()/IPv6()/UDP()"
TUNNEL = "Ether()/Dot1Q()/IP()/UDP()/VXLAN()/Ether()/IP()/GRE(chksum_present=1)/IPv6()/TCP()"


def make(stack: str, *modifiers: str, sizes: tuple[int, ...] = (256,), seed: int = 1, streams: int = 1) -> Frames:
    return frames(stack, sizes, ENDS, modifiers, seed, streams)


def values(made: Frames, layer: str, field: str, count: int = 12, nth: int = 1) -> list[Any]:
    found = []
    for number in range(count):
        same = [each for each in layers(made.frame(number)) if type(each).__name__ == layer]
        found.append(getattr(same[nth - 1], field))
    return found


def test_a_plain_stack_is_one_variant() -> None:
    made = make("ipv4", sizes=(64,))
    assert (made.count, made.lengths.tolist(), len(made.bytes_)) == (1, [60], 60)
    assert made.frame(0) == made.frame(5) == made.bytes_
    assert made.checked_from == 42 and made.stack == V4


def test_a_list_is_taken_in_turn() -> None:
    made = make("Ether()/Dot1Q()/IP()/UDP()", "Dot1Q.vlan=list(5, 7,0x9)")
    assert made.count == 3
    assert values(made, "Dot1Q", "vlan", 7) == [5, 7, 9, 5, 7, 9, 5]


def test_an_increment_counts_over_byte_borders() -> None:
    made = make("ipv4", "IP.dst=increment(198.19.0.254, count=4)")
    assert values(made, "IP", "dst", 5) == ["198.19.0.254", "198.19.0.255", "198.19.1.0", "198.19.1.1", "198.19.0.254"]
    made = make("ipv4", "Ether.src=increment(02:00:00:00:00:ff, count=3, step=-255)")
    assert values(made, "Ether", "src", 3) == ["02:00:00:00:00:ff", "02:00:00:00:00:00", "01:ff:ff:ff:ff:01"]
    made = make("ipv6", "IPv6.src=increment(2001:2::ffff:ffff, count=2)")
    assert values(made, "IPv6", "src", 2) == ["2001:2::ffff:ffff", "2001:2::1:0:0"]


def test_modifiers_step_together() -> None:
    made = make("ipv4", "UDP.sport=list(1,2)", "UDP.dport=list(10,20,30)")
    assert made.count == 6
    assert values(made, "UDP", "sport", 6) == [1, 2, 1, 2, 1, 2]
    assert values(made, "UDP", "dport", 6) == [10, 20, 30, 10, 20, 30]


def test_the_nth_of_like_layers_is_named_by_number() -> None:
    made = make(TUNNEL, "IP[2].dst=list(10.0.0.1,10.0.0.2)")
    assert values(made, "IP", "dst", 2) == ["198.19.0.1", "198.19.0.1"]
    assert values(made, "IP", "dst", 2, nth=2) == ["10.0.0.1", "10.0.0.2"]


def test_fields_that_share_bytes_do_not_disturb_each_other() -> None:
    made = make(
        TUNNEL, "Dot1Q.vlan=increment(4000, count=96)", "Dot1Q.prio=increment(0, count=8)", "Dot1Q.dei=list(0,1)"
    )
    assert values(made, "Dot1Q", "vlan", 96) == list(range(4000, 4096))
    assert values(made, "Dot1Q", "prio", 16) == [*range(8), *range(8)]
    assert values(made, "Dot1Q", "dei", 4) == [0, 1, 0, 1]


def test_random_draws_stay_in_their_range_and_depend_on_the_seed() -> None:
    made = make("ipv4", "UDP.sport=random(1000-1003)", "UDP.dport=random(1000-1003)", sizes=(64,))
    assert made.count == MOST_VARIANTS
    sports, dports = values(made, "UDP", "sport", 200), values(made, "UDP", "dport", 200)
    assert set(sports) == set(dports) == set(range(1000, 1004))
    assert sports != dports
    assert make("ipv4", "UDP.sport=random(1-9)").bytes_ == make("ipv4", "UDP.sport=random(1-9)").bytes_
    assert make("ipv4", "UDP.sport=random(1-9)").bytes_ != make("ipv4", "UDP.sport=random(1-9)", seed=2).bytes_


def test_random_draws_of_large_frames_fit_the_room() -> None:
    made = make("ipv4", "rfc4814", sizes=(9018,))
    assert made.count == MOST_BYTES // 9014
    made = make("ipv4", "rfc4814", "IP.dst=increment(198.19.0.1, count=7)", sizes=(64, 1518))
    assert made.count % 14 == 0 and len(made.bytes_) <= MOST_BYTES < len(made.bytes_) + 7 * (60 + 1514)
    assert make("ipv4", "rfc4814", sizes=(64,), streams=16).count == MOST_VARIANTS // 16


def test_every_one_of_65536_frames_with_rfc4814_ports_has_a_right_checksum() -> None:
    made = make("ipv4", "rfc4814", sizes=(64,))
    table = np.frombuffer(made.bytes_, np.uint8).reshape(made.count, 60).astype(np.int64)
    words = table[:, 0::2] * 256 + table[:, 1::2]
    sport, dport = words[:, 17], words[:, 18]
    assert sport.min() < 1100 and sport.max() > 65_400 and sport.min() >= 1024
    assert dport.min() < 100 and dport.max() > 49_000 and dport.min() >= 1 and dport.max() <= 49_151
    ip_sum = words[:, 7:17].sum(axis=1)
    pseudo = words[:, 13:17].sum(axis=1) + 17 + words[:, 19]
    udp_sum = words[:, 17:].sum(axis=1) + pseudo
    assert (ip_sum % 0xFFFF == 0).all() and (udp_sum % 0xFFFF == 0).all()
    assert (words[:, 20] != 0).all()


def test_a_udp_checksum_that_comes_out_zero_is_sent_as_ones() -> None:
    sums = [
        int.from_bytes(frame[40:42], "big")
        for frame in _all(make("ipv4", "UDP.sport=increment(0, count=65536)", sizes=(64,)))
    ]
    # Ports 0 and 65535 are the same number in ones' complement; of all others each has its own checksum.
    assert 0 not in sums and sums.count(0xFFFF) == 1


def test_udp_in_mpls_has_no_checksum_whatever_varies() -> None:
    """Nothing says of which addresses it would be, so Scapy leaves it zero; fields beside it could not be varied."""
    stack = "Ether()/IP()/MPLS(label=10020, ttl=64, s=1)/UDP(sport=30000, dport=6080)/IP()"
    made = make(stack, "IP.tos=increment(0, count=64, step=4)", "IP[2].tos=increment(0, count=64, step=4)")
    sent = [made.frame(number) for number in range(3)]
    assert [(frame[15], frame[47]) for frame in sent] == [(0, 0), (4, 4), (8, 8)]
    assert {frame[44:46] for frame in sent} == {bytes(2)}


def test_rfc4814_means_the_innermost_ports() -> None:
    made = make(f"{V4}/VXLAN()/{V4}", "rfc4814")
    assert set(values(made, "UDP", "dport", 12)) == {4789}
    assert len(set(values(made, "UDP", "dport", 12, nth=2))) > 6


def test_a_mix_of_sizes_combines_with_modifiers() -> None:
    sizes = mix("frame size", "imix")
    made = make("ipv4", "UDP.sport=increment(5000, count=5)", sizes=sizes)
    assert made.count == 60
    assert made.lengths.tolist() == [size - 4 for size in sizes] * 5
    assert made.least_frame_bytes == 64
    for number, frame in enumerate(_all(made)):
        assert layers(frame)[2].sport == 5000 + number % 5
        assert recomputed(signed(frame, sequence=number)) == signed(frame, sequence=number)


FIELDS = {
    "Ether.src": 2**48 - 1,
    "Dot1Q.vlan": 4095,
    "IP.src": 2**32 - 1,
    "IP.tos": 255,
    "VXLAN.vni": 2**24 - 1,
    "Ether[2].dst": 2**48 - 1,
    "IP[2].dst": 2**32 - 1,
    "IPv6.dst": 2**128 - 1,
    "IPv6.fl": 2**20 - 1,
    "TCP.sport": 2**16 - 1,
    "TCP.seq": 2**32 - 1,
}


def written(name: str, number: int) -> str:
    if ".src" in name or ".dst" in name:
        if name.startswith("Ether"):
            return number.to_bytes(6, "big").hex(":")
        return str(ip_address(number.to_bytes(16 if name.startswith("IPv6") else 4, "big")))
    return str(number)


@st.composite
def lists_of_values(draw: st.DrawFn) -> list[str]:
    chosen = draw(st.lists(st.sampled_from(sorted(FIELDS)), min_size=1, max_size=4, unique=True))
    texts = []
    for name in chosen:
        numbers = draw(st.lists(st.integers(0, FIELDS[name]), min_size=1, max_size=3))
        texts.append(f"{name}=list({', '.join(written(name, number) for number in numbers)})")
    return texts


@settings(max_examples=40, deadline=None)
@given(modifiers=lists_of_values(), sizes=st.lists(st.integers(200, 400), min_size=1, max_size=3))
def test_every_variant_has_right_checksums_whatever_varies(modifiers: list[str], sizes: list[int]) -> None:
    made = make(TUNNEL, *modifiers, sizes=tuple(sizes))
    for number, frame in enumerate(_all(made)):
        sent = signed(frame, sequence=number)
        assert ones_complement_sum(sent[made.checked_from :]) in (0, 0xFFFF)
        assert recomputed(sent) == sent
        assert names(sent)[:6] == ["Ether", "Dot1Q", "IP", "UDP", "VXLAN", "Ether"]


@pytest.mark.parametrize(
    ("stack", "modifier", "expected"),
    [
        (V4, "UDP.sport", "'UDP.sport' is no modifier; write for example"),
        (V4, "UDP.sport=decrement(1)", "is no modifier"),
        (V4, "UDP.spor=list(1)", "UDP has no field 'spor'; did you mean sport"),
        (V4, "TCP.sport=list(1)", "there is no TCP in Ether"),
        (V4, "IP[2].dst=list(10.0.0.1)", r"there is no IP\[2\] in Ether"),
        (V4, "UDP.sport=list(65536)", "exceeds the range of UDP.sport; stay below or at 65535"),
        (V4, "UDP.sport=increment(65535, count=2)", "exceeds the range of UDP.sport"),
        (V4, "UDP.sport=increment(5, count=9, step=-1)", "exceeds the range of UDP.sport"),
        (V4, "UDP.sport=increment(5)", "has no count of values"),
        (V4, "UDP.sport=increment(5, count=0)", "has no count of values"),
        (V4, "UDP.sport=increment(5, count=99999999999)", "use a count of at most 65536"),
        (V4, "UDP.sport=increment(5, size=3)", "'size=3' in .* is not understood"),
        (V4, "UDP.sport=random(5)", "has no range"),
        (V4, "UDP.sport=random(9-5)", "is empty; put the smaller value first"),
        (V4, "UDP.sport=list(http)", "'http' is no number; write it as 1024"),
        (V4, "UDP.sport=list()", "'' is no number"),
        (V4, "IP.dst=list(www.example.org)", "is no IPv4 address; write it as 198.18.0.1"),
        (V6, "IPv6.dst=list(10.0.0.1)", "is no IPv6 address"),
        (V4, "Ether.src=list(broadcast)", "is no MAC address"),
        (V4, "IP.options=list(1)", "IP.options is neither a number nor an address"),
        ("Ether()/IP()/GRE()", "GRE.key=list(1)", "GRE.key does not occur in these headers"),
        ("Ether()/IP()/GRE()", "GRE.chksum_present=list(0,1)", "changes the headers around it"),
        ("Ether()", "rfc4814", r"rfc4814 varies ports, and Ether\(\) has none; add UDP\(\) or TCP\(\)"),
    ],
)
def test_a_wrong_modifier_is_refused(stack: str, modifier: str, expected: str) -> None:
    with pytest.raises(PlanError, match=expected) as caught:
        make(stack, modifier)
    assert caught.value.field == "modify"


def test_a_field_varies_once() -> None:
    with pytest.raises(PlanError, match=r"UDP.dport is varied twice; leave one out"):
        make("ipv4", "rfc4814", "UDP[1].dport=list(5)")


def test_what_does_not_fit_names_the_field_with_the_most_values() -> None:
    with pytest.raises(PlanError, match=r"modify: IP.dst with 257 values .* 65792 frames") as caught:
        make("ipv4", "IP.dst=increment(10.0.0.1, count=257)", "UDP.sport=increment(1, count=256)", sizes=(64,))
    assert "use fewer values, or counts that divide each other, or smaller frames" in str(caught.value)
    with pytest.raises(PlanError, match=r"modify: .* 16384 KiB"):
        make("ipv4", "UDP.sport=increment(1, count=32768)", sizes=(1518,))


def test_a_size_below_the_stack_in_a_mix_is_refused() -> None:
    with pytest.raises(PlanError, match=r"frame size: 64 byte are too few .* use at least 84"):
        make("ipv6", sizes=mix("frame size", "imix"))
    with pytest.raises(PlanError, match="no frame size is given"):
        make("ipv6", sizes=())


def test_a_checksum_that_is_varied_is_wrong_on_purpose() -> None:
    made = make("ipv4", "UDP.chksum=list(1,2)")
    assert values(made, "UDP", "chksum", 2) == [1, 2]


def _all(made: Frames) -> list[bytes]:
    return [made.frame(number) for number in range(made.count)]

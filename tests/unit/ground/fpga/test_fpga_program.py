"""Programs of the FPGA's generators: every header comes back byte for byte, and what does not fit is refused."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisoku.errors import PlanError
from keisoku.ground.fpga.program import (
    HEADERS_AT,
    MAILBOX_AT,
    PATCHES_AT,
    PROGRAM_AT,
    Patch,
    PlannedFrame,
    encode,
    interval,
    mailbox,
)
from keisoku.ground.frame.headers import Ends, Headers
from keisoku.ground.frame.stack import parse

STACKS = [
    "ethernet",
    "ipv4",
    "ipv6",
    "mpls",
    "Ether()/IP()/UDP(dport=4341)/LISP()/IP()/UDP()",
    "Ether()/IPv6()/IP()/UDP()",
]
ENDS = Ends("02:00:00:00:00:01", "02:00:00:00:00:02")


def header(stack: str, size: int) -> bytes:
    headers = Headers(parse(stack), ENDS)
    return headers.frame(size)[: headers.header_bytes]


@pytest.mark.parametrize("stack", STACKS)
def test_one_slot_serves_all_sizes_of_a_stack(stack: str) -> None:
    least = Headers(parse(stack), ENDS).least_frame_bytes
    sizes = [*range(least, least + 40), 255, 256, 300, 1518, 9000, 16_387]
    program = encode([PlannedFrame(header(stack, size), size) for size in sizes])
    assert len(program.slots) == 1
    for size in sizes:
        assert program.slots[0].patched_header(size - 4) == header(stack, size)


def test_a_slot_made_of_few_sizes_serves_the_sizes_between() -> None:
    program = encode([PlannedFrame(header("ipv4", size), size) for size in (64, 65, 1518, 9000)])
    for size in range(64, 9000, 37):
        assert program.slots[0].patched_header(size - 4) == header("ipv4", size)


def test_headers_that_differ_in_more_than_size_have_slots_of_their_own() -> None:
    frames = []
    for size in (64, 570, 1518):
        for host in (5, 9, 200):
            stack = f"Ether()/IP(dst='198.19.0.{host}')/UDP()"
            frames.append(PlannedFrame(header(stack, size), size))
    program = encode(frames)
    assert len(program.slots) <= 9
    for frame, slot in zip(frames, program.slot_of, strict=True):
        assert program.slots[slot].patched_header(frame.frame_bytes - 4) == frame.header


@given(st.data())
def test_any_linear_words_are_found_again(data: st.DataObject) -> None:
    """A bug of the search may cost a slot, but never a wrong byte."""
    base = data.draw(st.binary(min_size=20, max_size=60))
    offsets = data.draw(st.lists(st.integers(0, len(base) // 2 - 1), max_size=8, unique=True))
    patches = [
        Patch(
            2 * at,
            data.draw(st.integers(0, 65534)),
            data.draw(st.sampled_from([-8, -2, -1, 1, 2, 7])),
            data.draw(st.booleans()),
        )
        for at in offsets
    ]
    frames = []
    for size in data.draw(st.lists(st.integers(100, 16_387), min_size=1, max_size=8, unique=True)):
        made = bytearray(base)
        for patch in patches:
            made[patch.offset : patch.offset + 2] = patch.value(size - 4).to_bytes(2, "big")
        frames.append(PlannedFrame(bytes(made), size))
    program = encode(frames)
    for frame, slot in zip(frames, program.slot_of, strict=True):
        assert program.slots[slot].patched_header(frame.frame_bytes - 4) == frame.header
        offsets_made = [patch.offset for patch in program.slots[slot].patches]
        assert offsets_made == sorted(offsets_made)


def test_the_words_of_a_program() -> None:
    frames = [
        PlannedFrame(bytes(range(1, 15)), 64, 8, "crc"),
        PlannedFrame(bytes(range(1, 15)), 16_387, 2**32 - 1, "alignment", marked=False),
        PlannedFrame(bytes(range(2, 16)), 65, 12, "dribble"),
    ]
    writes = dict(encode(frames).writes)
    assert writes[PROGRAM_AT] == [
        1 << 28 | 1 << 27 | 14 << 19 | 60,
        8,
        1 << 29 | 1 << 28 | 14 << 19 | 16_383,
        2**32 - 1,
        1 << 29 | 1 << 27 | 14 << 19 | 1 << 14 | 61,
        12,
    ]
    assert writes[HEADERS_AT][:4] == [0x04030201, 0x08070605, 0x0C0B0A09, 0x00000E0D]
    assert writes[HEADERS_AT][32] == 0x05040302 and len(writes[HEADERS_AT]) == 64
    assert writes[PATCHES_AT] == [0] * 16
    assert Patch(40, 0xFFDA, -2, True).word == 1 << 28 | 1 << 27 | 40 << 20 | 0xE << 16 | 0xFFDA


def test_the_signature_takes_the_room_of_headers_in_undersize_frames() -> None:
    program = encode([PlannedFrame(header("ipv4", 64), 63, defect="undersize"), PlannedFrame(header("ipv4", 64), 64)])
    assert [len(program.slots[slot].header) for slot in program.slot_of] == [41, 42]


def test_an_interval_is_rounded_to_the_nearest_fraction() -> None:
    assert interval(Fraction(84)) == (84, 0)
    assert interval(Fraction(1000, 3)) == (333, 1431655765)
    assert interval(Fraction(2**33 - 1, 2**34)) == (0, 2**31)
    for wrong in (Fraction(0), Fraction(2**32)):
        with pytest.raises(PlanError, match="rate"):
            interval(wrong)


def test_the_mailbox_takes_any_frame() -> None:
    assert mailbox(bytes(range(1, 7))) == (MAILBOX_AT, [0x04030201, 0x00000605])
    for length in (0, 2049):
        with pytest.raises(PlanError, match="frame size"):
            mailbox(bytes(length))


@pytest.mark.parametrize(
    ("frame", "field"),
    [
        (PlannedFrame(bytes(14), 16_388), "frame size"),
        (PlannedFrame(bytes(14), 35), "frame size"),
        (PlannedFrame(bytes(14), 4, marked=False), "frame size"),
        (PlannedFrame(bytes(129), 200), "headers"),
        (PlannedFrame(b"", 200), "headers"),
        (PlannedFrame(bytes(14), 64, 7), "gap"),
        (PlannedFrame(bytes(14), 64, 2**32), "gap"),
    ],
)
def test_what_the_generator_cannot_send_is_refused(frame: PlannedFrame, field: str) -> None:
    with pytest.raises(PlanError) as refused:
        encode([frame])
    assert refused.value.field == field


def test_what_has_no_room_is_refused() -> None:
    with pytest.raises(PlanError, match="1024 entries"):
        encode([PlannedFrame(bytes(14), 64)] * 1025)
    with pytest.raises(PlanError, match="32 different headers"):
        encode([PlannedFrame(bytes([value, 3 * value]) + bytes(12), 64) for value in range(33)])

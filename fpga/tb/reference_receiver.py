"""A receiver as docs/signature/README.md and IEEE 802.3 describe it, in plain Python: what the RTL is compared with.

`frames` finds the frames on a line, `judge` says what the instrument must say of one, `Counts` what it must count. It
knows nothing of clocks and pipelines, and must share no idea with the RTL.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

MAGIC = b"\x6b\x73"
PREAMBLE, SFD = 0x55, 0xD5
FCS_BYTES, SIGNATURE_BYTES = 4, 18
FRAME_BYTES_MOST = 2**15 - 1
MAILBOX_BYTES = range(64, 1519)


@dataclass(frozen=True)
class Arrival:
    """What arrival_t says of a frame, but for the time."""

    fcs_bad: bool
    misaligned: bool
    marked: bool
    sums_to_zero: bool
    frame_bytes: int
    """With FCS; no more than FRAME_BYTES_MOST."""
    stream: int | None = None
    """This and the next two are None unless marked."""
    number: int | None = None
    sent_ns: int | None = None


@dataclass(frozen=True)
class Carried:
    """A frame as it came off the line."""

    frame: bytes
    """From behind the SFD to the end, FCS included if there was one."""
    failed: bool
    """rx_er came within it or its preamble."""
    misaligned: bool
    """Half a byte was left over."""
    sfd_at: int
    """Clock of its SFD, or of the SFD's second half."""


@dataclass
class Counts:
    """The counts of receive_registers."""

    frames: int = 0
    bytes: int = 0
    fcs_bad: int = 0
    misaligned: int = 0
    undersize: int = 0
    oversize: int = 0
    fragments: int = 0
    jabbers: int = 0
    mailbox: list[bytes] = field(default_factory=list)
    """Frames that the mailbox was offered, without FCS."""

    def add(self, frame: bytes, arrival: Arrival, max_frame_bytes: int = 1518) -> None:
        """Counts one frame."""
        small, large = arrival.frame_bytes < 64, arrival.frame_bytes > max_frame_bytes
        self.frames += 1
        self.bytes += arrival.frame_bytes
        self.fcs_bad += arrival.fcs_bad
        self.misaligned += arrival.misaligned
        self.undersize += small and not arrival.fcs_bad
        self.oversize += large and not arrival.fcs_bad
        self.fragments += small and arrival.fcs_bad
        self.jabbers += large and arrival.fcs_bad
        if not arrival.fcs_bad and not arrival.marked and arrival.frame_bytes in MAILBOX_BYTES:
            self.mailbox.append(frame[:-FCS_BYTES])


def judge(frame: bytes, checked_from: int, *, failed: bool = False, misaligned: bool = False) -> Arrival:
    """What the instrument says of a frame with its FCS (or what stands in its place)."""
    body, fcs = frame[:-FCS_BYTES], frame[-FCS_BYTES:]
    right = len(frame) >= FCS_BYTES and zlib.crc32(body).to_bytes(4, "little") == fcs
    at = max(0, len(body) - SIGNATURE_BYTES)
    filler, signature = body[checked_from:at], body[at:]
    marked = len(signature) == SIGNATURE_BYTES and signature.startswith(MAGIC)
    stream, number, sent_ns = (int.from_bytes(signature[a:b], "big") for a, b in ((2, 4), (4, 10), (10, 16)))
    return Arrival(
        fcs_bad=not right or failed or misaligned,
        misaligned=misaligned,
        marked=marked,
        sums_to_zero=is_zero(filler) and is_zero(signature),
        frame_bytes=min(len(frame), FRAME_BYTES_MOST),
        stream=stream if marked else None,
        number=number if marked else None,
        sent_ns=sent_ns if marked else None,
    )


def is_zero(region: bytes) -> bool:
    """Whether the 16-bit words sum to zero in ones' complement, an odd last byte padded with zero."""
    padded = region + bytes(len(region) % 2)
    return sum(int.from_bytes(padded[i : i + 2], "big") for i in range(0, len(padded), 2)) % 0xFFFF == 0


def frames(line: Iterable[tuple[int, int, int]], *, nibbles: bool = False) -> Iterator[Carried]:
    """The frames on a line of (rx_dv, rx_er, rxd), one a clock; at 10 and 100 Mb/s a clock is half a byte.

    A carrier in which no SFD comes is no frame, nor is one that was there at the first clock.
    """
    carrier: list[tuple[int, int, int]] = []
    known = False
    for clock, (valid, error, data) in enumerate(line):
        if valid:
            carrier.append((clock, error, data & 0xF if nibbles else data))
            continue
        if known:
            yield from _frame(carrier, nibbles)
        known, carrier = True, []


def _frame(carrier: Sequence[tuple[int, int, int]], nibbles: bool) -> Iterator[Carried]:
    values = [data for _, _, data in carrier]
    if nibbles:
        sfd = next((i for i in range(1, len(values)) if values[i - 1 : i + 1] == [SFD & 0xF, SFD >> 4]), None)
    else:
        sfd = next((i for i, value in enumerate(values) if value == SFD), None)
    if sfd is None:
        return
    rest = values[sfd + 1 :]
    pairs = zip(rest[::2], rest[1::2], strict=False)
    yield Carried(
        frame=bytes(low | high << 4 for low, high in pairs) if nibbles else bytes(rest),
        failed=any(error for _, error, _ in carrier),
        misaligned=nibbles and len(rest) % 2 == 1,
        sfd_at=carrier[sfd][0],
    )


def with_fcs(body: bytes) -> bytes:
    """A frame with the FCS that belongs to it."""
    return body + zlib.crc32(body).to_bytes(4, "little")


def signed(body: bytes, stream: int, number: int, sent_ns: int) -> bytes:
    """A frame without FCS whose last 18 bytes are replaced by a signature."""
    words = MAGIC + stream.to_bytes(2, "big") + number.to_bytes(6, "big") + sent_ns.to_bytes(6, "big")
    total = sum(int.from_bytes(words[i : i + 2], "big") for i in range(0, 16, 2))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return body[:-SIGNATURE_BYTES] + words + (0xFFFF - total).to_bytes(2, "big")

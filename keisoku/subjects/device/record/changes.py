"""What arrived otherwise than expected, as an engine counts it: pairs of an expected frame and the one that came.

Mirrors `core/src/account/changes.rs`. What a pair means is decided in `keisoku/ground/frame/difference.py`.
"""

from __future__ import annotations

from keisoku.frozen import Frozen
from keisoku.subjects.device.record.counts import Buckets


class Kind(Frozen):
    """Changed arrivals of one stream that are alike."""

    kind: int
    """Its number in rows of frames, from 1."""
    sequence: int
    """Sequence number of the first of them."""
    variant: int
    """Which of the stream's frames it was."""
    corrupt: bool
    """The payload or the signature is not as it was sent, so the sequence number may be wrong as well."""
    same_front: bool = False
    """Its front is the expected one, which no port hands over."""
    frames: int
    first_received_ns: int
    """When the first and the last of them arrived, since the first frame of the trial was due."""
    last_received_ns: int
    latency: Buckets = Buckets()
    """Of those that are no duplicates; empty if the trial did not ask for it (`Trial.marks`)."""
    length: int | None
    """Length of the frame that arrived, without FCS; None: its front was not kept."""
    front: str | None
    """The first bytes of that frame, in hexadecimal digits."""
    sent: str = ""
    """The frame that was expected in its place, without its payload, in hexadecimal digits; the engine adds it."""
    sent_length: int = 0
    """Length of that frame, without FCS."""
    header_bytes: int = 0
    """Where the payload of that frame begins."""
    free: tuple[str, ...] = ()
    """Fields of that frame that may become anything: no difference of theirs is told."""


class StreamChanges(Frozen):
    """How many arrivals of a stream were not as expected, and what they are."""

    compared_frames: int
    """Arrivals that were compared: all intact and corrupt frames of the stream."""
    changed_frames: int
    further_frames: int
    """Changed arrivals of kinds for which there was no room in `kinds`."""
    kinds: list[Kind]
    expected: tuple[str, ...] = ()
    """What the device was expected to change, as a user writes it; the engine adds it."""

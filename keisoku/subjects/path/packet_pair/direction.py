"""All that is known of the packet pairs of one direction of a path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keisoku.subjects.path.packet_pair.bucket import Bucket
from keisoku.subjects.path.packet_pair.coalescence import Coalescence
from keisoku.subjects.path.packet_pair.minimum_sum import LinkCapacity
from keisoku.subjects.path.packet_pair.modes import Mode
from keisoku.subjects.path.packet_pair.serialisation import Serialisation
from keisoku.subjects.path.train.dispersion import Dispersions
from keisoku.subjects.path.train.log import Train
from keisoku.subjects.path.train.probe import Direction


@dataclass(frozen=True)
class PairDirection:
    """All that was computed of one direction, for the answer, its flags and the plots."""

    direction: Direction
    trains: Sequence[Train]
    ip_bytes: int
    count: int
    """Of the trains that gave the capacity."""
    pairs: Dispersions
    capacity: LinkCapacity | None
    clock_share: float | None
    """Relative standard deviation that timestamp noise adds to a single train's rate; None: not known."""
    bucket: Bucket | None
    coalescence: Coalescence | None
    adr_bps: tuple[float, float] | None
    """Average dispersion rate of long trains with its 95 % half width."""
    modes: list[Mode]
    sweep: dict[int, LinkCapacity]
    serialisation: Serialisation | None
    ip_links: int | None
    stamp_ns: float | None
    """Standard deviation of one timestamp; None: not known."""

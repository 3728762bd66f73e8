"""A probe of one hop and its reply: the raw row of a one-packet measurement. It computes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from keisoku.subjects.path.time_source import Source


class HopProbe(NamedTuple):
    """One packet with a TTL of `hop`, and the ICMP message that it brought back, if any came."""

    hop: int
    size_bytes: int
    """Length of the probe's IP packet."""
    sent_ns: int
    """Transmit stamp (CLOCK_REALTIME)."""
    rtt_ns: int | None = None
    """Receive stamp minus transmit stamp; None: no reply in time."""
    reply_bytes: int | None = None
    """Length of the reply's IP packet."""
    replier: str | None = None
    reply_ttl: int | None = None
    """TTL with which the reply arrived: another value means another return path."""
    icmp_type: int | None = None
    icmp_code: int | None = None
    stamps: str = "kernel"
    """Source of the timestamps: 'kernel', 'hardware' or 'user'; the worse of both ends."""
    rtt_tsc_ns: int | None = None
    """The same round trip between the program's own readings of the calibrated counter."""
    rtt_gettimeofday_ns: int | None = None
    """The same between its readings of the time of day in whole µs (gettimeofday)."""
    train: int | None = None
    """Number of the back-to-back train the packet belonged to; None: it was alone."""
    place: int = 0
    """Place of the packet in its train."""
    handed_ns: int | None = None
    """When the program handed it to the kernel (CLOCK_REALTIME). A shaper at this host's own port holds it from then
    until `sent_ns`. None: a run of before this was kept, or not known."""

    @property
    def answered(self) -> bool:
        """A reply came in time."""
        return self.rtt_ns is not None

    def row(self) -> dict[str, Any]:
        """For a table on disk."""
        return self._asdict()


def by_source(probes: Iterable[HopProbe], source: Source) -> list[HopProbe]:
    """The same probes with the round trips of one source of time; a probe without it counts as unanswered."""
    if source in ("kernel", "hardware"):
        return [probe if probe.stamps == source else probe._replace(rtt_ns=None) for probe in probes]
    name = "rtt_tsc_ns" if source == "user-tsc" else "rtt_gettimeofday_ns"
    return [probe._replace(rtt_ns=getattr(probe, name), stamps="user") for probe in probes]


def from_row(row: dict[str, Any]) -> HopProbe:
    """The inverse of `HopProbe.row`. Raises TypeError for a row with other columns."""
    return HopProbe(**row)

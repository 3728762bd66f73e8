"""What analyzers and generators tell: counts of the traffic, as the containers `state` of the modules.

A count that is not known is absent, and never zero: while traffic runs there are only counts of frames, and what
depends on the order of arrivals is there only if they came in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from xml.sax.saxutils import escape

from keisoku.subjects.device.record.facts import StreamFacts

_ANALYZER = "urn:ietf:params:xml:ns:yang:ietf-traffic-analyzer"
_TESTER = "urn:keisoku:yang:keisoku-tester"


@dataclass(frozen=True)
class Latencies:
    """Of frames, in ns."""

    samples: int
    least: float
    most: float
    total: float

    def __add__(self, other: Latencies) -> Latencies:
        if not (self.samples and other.samples):
            return self if self.samples else other
        least, most = min(self.least, other.least), max(self.most, other.most)
        return Latencies(self.samples + other.samples, least, most, self.total + other.total)


_NONE = Latencies(0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Counts:
    """What an analyzer has seen; None: not known."""

    packets: int = 0
    octets: int | None = 0
    test_frames: int = 0
    sequence_errors: int | None = 0
    payload_errors: int | None = 0
    latencies: Latencies | None = _NONE

    def __add__(self, other: Counts) -> Counts:
        latencies = None
        if self.latencies is not None and other.latencies is not None:
            latencies = self.latencies + other.latencies
        return Counts(
            self.packets + other.packets,
            _sum(self.octets, other.octets),
            self.test_frames + other.test_frames,
            _sum(self.sequence_errors, other.sequence_errors),
            _sum(self.payload_errors, other.payload_errors),
            latencies,
        )

    def xml(self) -> str:
        """As XML."""
        latency = ""
        if self.latencies is not None and self.latencies.samples:
            one = self.latencies
            figures = {"min": one.least, "max": one.most, "average": one.total / one.samples}
            whole = {"samples": one.samples} | {name: round(value) for name, value in figures.items()}
            latency = f"<latency>{_leaves(whole)}</latency>"
        test = {
            "testframe-pkts": self.test_frames,
            "sequence-errors": self.sequence_errors,
            "payload-errors": self.payload_errors,
        }
        leaves = _leaves({"pkts": self.packets, "octets": self.octets})
        inner = f"<testframe-stats>{_leaves(test)}{latency}</testframe-stats>"
        return f'<state xmlns="{_ANALYZER}">{leaves}{inner}</state>'


def of_stream(stream: StreamFacts, port: int) -> Counts:
    """What one stream adds to an analyzer at a port, beside numbers of frames, once the traffic is over."""
    arrived, tracked = stream.received_at(port), stream.tracked
    if arrived == 0:
        return Counts()
    if arrived != tracked.received_frames:  # the account of the stream is that of several ports
        return Counts(sequence_errors=None, payload_errors=None, latencies=None)
    one = tracked.latency
    latencies = _NONE if one is None else Latencies(one.count, one.min_ns, one.max_ns, one.mean_ns * one.count)
    return Counts(
        sequence_errors=_sequence_errors(stream), payload_errors=tracked.corrupt_arrivals, latencies=latencies
    )


def _sequence_errors(stream: StreamFacts) -> int | None:
    """Arrivals that were not the next number: one behind each run of lost frames. Not known where frames came out of
    order or twice, or where lost ones are not kept one by one."""
    tracked = stream.tracked
    duplicates = tracked.received_frames - tracked.forwarded_frames
    if tracked.reordering is not None or duplicates or tracked.lost_kept_as != "list":
        return None
    return sum(gap.last < stream.offered_frames - 1 for gap in tracked.lost)


@dataclass(frozen=True)
class Sent:
    """What became of a generator's traffic."""

    transmitting: bool = False
    offered: int = 0
    lost: int | None = None
    """None: not known yet."""
    invalid_because: tuple[str, ...] = ()

    def xml(self) -> str:
        """As XML."""
        leaves = _leaves({"offered-frames": self.offered, "lost-frames": self.lost})
        reasons = "".join(f"<invalid-because>{escape(reason)}</invalid-because>" for reason in self.invalid_because)
        going = "true" if self.transmitting else "false"
        return f'<state xmlns="{_TESTER}"><transmitting>{going}</transmitting>{leaves}{reasons}</state>'


def total(parts: Sequence[Counts], packets: int, octets: int | None, test_frames: int) -> Counts:
    """Of several streams, with the numbers of frames at the port."""
    whole = sum(parts, Counts())
    return replace(whole, packets=packets, octets=octets, test_frames=test_frames)


def _leaves(values: Mapping[str, int | None]) -> str:
    return "".join(f"<{name}>{value}</{name}>" for name, value in values.items() if value is not None)


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other

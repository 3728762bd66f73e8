"""Which frames came with another hop count than expected, from the kinds of changed frames of a trial."""

from __future__ import annotations

from dataclasses import dataclass

from keisoku.device.record.changed_headers import changes_of
from keisoku.device.record.trial import Facts

_HOP_COUNTS = {"IP.ttl", "IP[1].ttl", "IPv6.hlim", "IPv6[1].hlim"}
"""Of the outermost header."""


@dataclass(frozen=True)
class HopCount:
    """Frames of all flows whose hop count is `found` and not `expected`."""

    expected: int
    found: int
    frames: int
    flows: int
    first_ns: int
    """When the first and the last of them arrived, since the first frame of the trial was due."""
    last_ns: int
    longest_ns: int
    """The longest time from the first to the last such frame of a flow."""


def hop_counts(facts: Facts) -> list[HopCount]:
    """Those of most hops first."""
    spans: dict[tuple[int, int], dict[int, list[tuple[int, int, int]]]] = {}
    for place, stream in enumerate(facts.streams):
        for kind in stream.changes.kinds if stream.changes else ():
            for change in () if kind.corrupt else changes_of(kind):
                if change.field in _HOP_COUNTS and change.before and change.after:
                    own = spans.setdefault((int(change.before), int(change.after)), {})
                    own.setdefault(place, []).append((kind.frames, kind.first_received_ns, kind.last_received_ns))
    found = []
    for (expected, seen), flows in spans.items():
        every = [span for own in flows.values() for span in own]
        lengths = (max(last for _, _, last in own) - min(first for _, first, _ in own) for own in flows.values())
        found.append(
            HopCount(
                expected,
                seen,
                sum(frames for frames, _, _ in every),
                len(flows),
                min(first for _, first, _ in every),
                max(last for _, _, last in every),
                max(lengths),
            )
        )
    return sorted(found, key=lambda one: (one.found - one.expected, one.expected))

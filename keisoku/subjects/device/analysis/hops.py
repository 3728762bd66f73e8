"""Which frames came with another hop count than expected, from the kinds of changed frames of a trial."""

from __future__ import annotations

import math
from dataclasses import dataclass

from keisoku.subjects.device.analysis.outage import frame_gap_ns
from keisoku.subjects.device.record.changed_headers import changes_of
from keisoku.subjects.device.record.trial_record import TrialRecord

_HOP_COUNTS = {"IP.ttl", "IP[1].ttl", "IPv6.hlim", "IPv6[1].hlim"}
"""Of the outermost header."""
_LASTING = 0.5
"""A hop count that a flow has for so much of the time after an event is that of a way, and not of a loop."""


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
    """For how long a flow had it at most, all spells together: its frames times the time between two of them. From the
    first to the last frame it would be the time between two events where each of them made a short loop."""

    def is_loop(self, watch_ns: float, round_ns: float) -> bool:
        """Whether these frames went round in a loop, where events are `watch_ns` apart and come again after `round_ns`.

        Another way is used from one event to the next at least, in each of the rounds in which it is seen at all.
        """
        rounds = max(1, math.ceil((self.last_ns - self.first_ns) / round_ns))
        return self.found < self.expected and self.longest_ns < _LASTING * watch_ns * rounds


def hop_counts(record: TrialRecord) -> list[HopCount]:
    """Those of most hops first."""
    spans: dict[tuple[int, int], dict[int, list[tuple[int, int, int]]]] = {}
    for place, stream in enumerate(record.facts.streams):
        for kind in stream.changes.kinds if stream.changes else ():
            for change in () if kind.corrupt else changes_of(kind):
                if change.field in _HOP_COUNTS and change.before and change.after:
                    own = spans.setdefault((int(change.before), int(change.after)), {})
                    own.setdefault(place, []).append((kind.frames, kind.first_received_ns, kind.last_received_ns))
    found = []
    for (expected, seen), flows in spans.items():
        every = [span for own in flows.values() for span in own]
        lengths = (
            sum(frames for frames, _, _ in own) * frame_gap_ns(record, record.facts.streams[place])
            for place, own in flows.items()
        )
        found.append(
            HopCount(
                expected,
                seen,
                sum(frames for frames, _, _ in every),
                len(flows),
                min(first for _, first, _ in every),
                max(last for _, _, last in every),
                round(max(lengths)),
            )
        )
    return sorted(found, key=lambda one: (one.found - one.expected, one.expected))

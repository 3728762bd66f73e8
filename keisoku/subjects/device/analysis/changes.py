"""What a device changed, from the counts of a trial: findings by field, over all streams or for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keisoku.ground.frame.difference import Difference
from keisoku.ground.frame.expectation import Expectation, learnt, settled
from keisoku.subjects.device.record.changed_headers import changes_of, headers
from keisoku.subjects.device.record.changes import Kind, StreamChanges
from keisoku.subjects.device.record.facts import Facts

MOST_SHARE = 0.5
"""What more than this share of a stream's frames show is learnt."""


@dataclass(frozen=True)
class Finding:
    """Frames of one stream that were changed alike."""

    stream: int
    """Index of the stream in the trial."""
    changes: tuple[Difference, ...]
    frames: int
    first_ns: int
    last_ns: int
    kinds: tuple[int, ...]
    """Numbers of the kinds in rows of frames."""

    @property
    def text(self) -> str:
        """'IP.dscp 46 to 0, IP.ecn 0 to 3'."""
        return ", ".join(change.text for change in self.changes)


def findings(facts: Facts) -> list[Finding]:
    """All findings, those of most frames first."""
    found: dict[tuple[int, tuple[Difference, ...]], list[Kind]] = {}
    for place, stream in enumerate(facts.streams):
        for kind in stream.changes.kinds if stream.changes else ():
            found.setdefault((place, changes_of(kind)), []).append(kind)
    listed = [
        Finding(
            stream,
            changes,
            sum(kind.frames for kind in kinds),
            min(kind.first_received_ns for kind in kinds),
            max(kind.last_received_ns for kind in kinds),
            tuple(kind.kind for kind in kinds),
        )
        for (stream, changes), kinds in found.items()
    ]
    return sorted(listed, key=lambda one: (-one.frames, one.stream, one.text))


def merged(found: Sequence[Finding]) -> list[tuple[str, int, list[int]]]:
    """The same changes of several streams together: text, frames and streams, those of most frames first."""
    texts: dict[str, list[Finding]] = {}
    for one in found:
        texts.setdefault(one.text, []).append(one)
    listed = [(text, sum(one.frames for one in own), [one.stream for one in own]) for text, own in texts.items()]
    return sorted(listed, key=lambda one: (-one[1], one[0]))


def totals(facts: Facts) -> tuple[int, int, int]:
    """Arrivals that were compared, that were changed, and those of the latter that are not described."""
    own = [stream.changes for stream in facts.streams if stream.changes]
    return (
        sum(one.compared_frames for one in own),
        sum(one.changed_frames for one in own),
        sum(one.further_frames for one in own),
    )


def usual(changes: StreamChanges) -> tuple[Expectation, ...]:
    """What the device does to most frames of a stream, beside what was expected; empty if most are as expected, or if
    no one change holds for most."""
    votes: dict[tuple[Expectation, ...], int] = {}
    for kind in changes.kinds:
        found = None if kind.corrupt else headers(kind)
        if found is not None and found[1].end is not None:
            made = learnt(found[0], settled(found[1], found[0], kind.free))
            votes[made] = votes.get(made, 0) + kind.frames
    votes.pop((), None)
    if not votes:
        return ()
    most = max(votes, key=lambda made: votes[made])
    return most if votes[most] > MOST_SHARE * changes.compared_frames else ()

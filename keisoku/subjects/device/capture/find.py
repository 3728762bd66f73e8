"""Where and when test frames were seen, by sequence number, in a capture file.

It reports what the capture holds and what the capture itself may have missed, never which device lost a frame.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from keisoku._core import find_frames
from keisoku.errors import PlanError
from keisoku.ground.host.text_file import check_regular

_MOST_SEQUENCE = 2**48 - 1
_MOST_WANTED = 100_000


@dataclass(frozen=True)
class Sighting:
    """One wanted frame at one port (its index in `Found.ports`)."""

    port: int
    sequence: int
    time_ns: int
    """Since the epoch (CLOCK_REALTIME)."""
    direction: Literal["incoming", "outgoing"] | None
    """None if the file does not contain it."""
    length: int
    """In bytes without FCS."""
    intact: bool
    """False: the signature is damaged, so the sequence number is only a claim."""


@dataclass(frozen=True)
class PortFrames:
    """A port of the capture and what was seen there."""

    name: str
    description: str
    frames: int
    streams: dict[int, int]
    """Test frames by stream."""
    unreadable: int
    """Frames cut before their signature, which cannot be identified."""
    dropped: int | None
    """Frames lost by the capture itself. None if the file does not contain the number."""


@dataclass(frozen=True)
class FoundFrames:
    """The wanted frames of one stream, in the order of the file."""

    stream: int
    wanted: tuple[tuple[int, int], ...]
    """Ranges of sequence numbers, both ends included."""
    ports: tuple[PortFrames, ...]
    sightings: tuple[Sighting, ...]
    ends_early: bool
    """The file ends within a block, as after a kill."""

    def carrying(self) -> list[int]:
        """Ports (indices) at which the stream was seen at all."""
        return [index for index, port in enumerate(self.ports) if port.streams.get(self.stream)]

    def never_seen(self, port: int) -> list[tuple[int, int]]:
        """Ranges of the wanted sequence numbers without an intact frame at the port."""
        seen = sorted({sighting.sequence for sighting in self.sightings if sighting.port == port and sighting.intact})
        missing: list[tuple[int, int]] = []
        place = 0
        for first, last in self.wanted:
            while place < len(seen) and seen[place] <= last:
                if seen[place] > first:
                    missing.append((first, seen[place] - 1))
                first = seen[place] + 1
                place += 1
            if first <= last:
                missing.append((first, last))
        return missing

    def doubt(self, port: int) -> str | None:
        """Why a frame that was never seen at the port may have been there; None if it was not."""
        own = self.ports[port]
        if self.ends_early:
            return "the file ends within a block"
        if own.dropped:
            return f"the capture lost {own.dropped} frames there"
        if own.dropped is None:
            return "the file does not say whether the capture lost frames"
        if own.unreadable:
            return f"{own.unreadable} frames were cut before their signature"
        return None


def find(path: Path, sequences: str, stream: int | None = None) -> FoundFrames:
    """Look up the frames of `stream` whose numbers are in `sequences`, such as '5,12-20', in pcap or pcapng.

    Without `stream` the file must hold test frames of one stream only. Raises PlanError if it does not, if
    `sequences` is no such list, or for what is no regular file; EngineError if the file is no capture.
    """
    check_regular("file", path)
    wanted = parse_ranges(sequences)
    if stream is None:
        stream = _only_stream(path)
    if not 0 <= stream <= 0xFFFF:
        raise PlanError("stream", f"{stream} is no stream number", "give 0 to 65535")
    found = json.loads(find_frames(str(path), stream, wanted))
    return FoundFrames(
        stream=stream,
        wanted=tuple(wanted),
        ports=_ports(found),
        sightings=tuple(Sighting(**sighting) for sighting in found["sightings"]),
        ends_early=found["ends_early"],
    )


def parse_ranges(text: str) -> list[tuple[int, int]]:
    """'5,12-20' as ascending ranges that neither touch nor overlap. Raises PlanError for anything else."""
    ranges = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not (first.isdecimal() and (last.isdecimal() if dash else True)):
            raise PlanError("sequence", f"'{part}' is no sequence number or range", "write for example 5,12-20")
        ranges.append((int(first), int(last or first)))
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if end < start or end > _MOST_SEQUENCE:
            raise PlanError("sequence", f"'{start}-{end}' is no range of sequence numbers", "write for example 12-20")
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    if sum(last - first + 1 for first, last in merged) > _MOST_WANTED:
        raise PlanError("sequence", f"more than {_MOST_WANTED} frames are asked for", "ask for fewer at a time")
    return merged


def _only_stream(path: Path) -> int:
    counts: dict[int, int] = {}
    for port in _ports(json.loads(find_frames(str(path), None, []))):
        for number, frames in port.streams.items():
            counts[number] = counts.get(number, 0) + frames
    if len(counts) == 1:
        return next(iter(counts))
    if not counts:
        raise PlanError("stream", f"{path} holds no test frame", "give a capture of a measurement")
    listed = ", ".join(str(number) for number in sorted(counts)[:20])
    raise PlanError("stream", f"{path} holds several streams", f"give one of {listed}")


def _ports(found: dict[str, Any]) -> tuple[PortFrames, ...]:
    ports = []
    for port in found["ports"]:
        streams = {int(number): frames for number, frames in port["streams"].items()}
        ports.append(PortFrames(**port | {"streams": streams}))
    return tuple(ports)

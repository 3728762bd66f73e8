"""Interruptions from one far end to the next: it was started again, or one of both ends got another address.

What the one before had received is known by the last of its packets that came here. The one behind it answers that it
does not know the session as soon as it is there, by which the end is known. Of a connection the end is the first packet
on the next one: an application has nothing before that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from keisoku.subjects.device.analysis.outage import Between


@dataclass(frozen=True)
class Restart:
    """Of one flow in one direction. Times are of this end's clock, in ns."""

    begin: Between
    end: Between
    first: int
    last: int
    """Numbers of the packets that were lost."""
    moved: bool
    """Whether one of the ends has another address since."""


def forward_restarts(record: Mapping[str, Any], flow: int) -> Iterator[Restart]:
    """In the direction to the far end."""
    sent = record["near"]["sent"]
    interval_ns, late_ns = int(sent["interval_ns"]), int(sent["late_ns"])

    def due_ns(number: int) -> float:
        return float(sent["start_ns"] + (number * sent["flows"] + flow) * interval_ns // sent["flows"])

    first_on_last = record["far"]["flows"][flow]["arrivals"]["first"] if _is_connected(record, flow) else None
    for heard, unknown, renewed_ns, moved in _changes(record, flow):
        low = due_ns(heard["next"] - 1)
        # What it received in the last interval of its life, it could not say any more.
        high = max(due_ns(heard["next"]), float(heard["arrived_ns"]) + interval_ns) + late_ns
        if first_on_last is not None and renewed_ns == record["sessions"][-1]["opened_ns"]:
            last = int(first_on_last["number"]) - 1
        elif unknown is not None:
            last = int(unknown["number"]) - 1
        else:
            last = int((renewed_ns - sent["start_ns"]) * sent["flows"] // interval_ns - flow) // int(sent["flows"])
        end = Between.from_ends(due_ns(last), due_ns(last + 1) + late_ns)
        begin, first = Between.from_ends(low, min(high, end.highest)), int(heard["next"])
        yield Restart(begin, end, first, max(last, first), moved)


def reverse_restarts(record: Mapping[str, Any], flow: int) -> Iterator[Restart]:
    """In the direction from the far end."""
    interval_ns = int(record["near"]["sent"]["interval_ns"])
    late_ns = int(record["near"]["sent"]["late_ns"])
    for heard, unknown, renewed_ns, moved in _changes(record, flow):
        low = float(heard["arrived_ns"])
        back_ns = float(unknown["first_ns"]) if unknown is not None else float(renewed_ns)
        if _is_connected(record, flow):
            pauses = record["near"]["flows"][flow]["arrivals"]["pauses"]
            came = (one["after"]["arrived_ns"] for one in pauses if one["after"]["arrived_ns"] >= renewed_ns)
            back_ns = float(next(came, renewed_ns))
        begin = Between.from_ends(low, min(low + interval_ns + late_ns, back_ns))
        end = Between.from_ends(max(back_ns - interval_ns - late_ns, begin.lowest), back_ns)
        lost = max(1, math.floor((back_ns - low) / interval_ns))
        yield Restart(begin, end, 0, lost - 1, moved)


def _is_connected(record: Mapping[str, Any], flow: int) -> bool:
    """Whether the flow is a connection, not datagrams."""
    return bool(record["near"]["flows"][flow]["connections"])


def _changes(
    record: Mapping[str, Any], flow: int
) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any] | None, int, bool]]:
    """For each far end that another one followed: its last packet that came, the next one's first answer, when that one
    let this end in, and whether one of the ends has another address since."""
    earlier = record["near"]["flows"][flow]["earlier"]
    for one, (before, session) in zip(earlier, pairwise(record["sessions"]), strict=False):
        if one["heard"] is not None:
            moved = any(before.get(end) != session.get(end) for end in ("remote", "seen"))
            yield one["heard"], one["unknown"], int(session["opened_ns"]), moved

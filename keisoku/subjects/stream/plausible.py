"""Whether the rates of a cell can be true: not above what the links carry, and offered as intended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keisoku.language import phrase
from keisoku.subjects.stream.outcome import CellOutcome
from keisoku.subjects.stream.settings import StreamSettings

TOLERANCE = 0.005
"""Share of the intended rate by which the offered one may be less, as for devices; and of a link's rate by which the
bucket that it starts with lets more through in a trial."""
BUSY = 0.9
"""Share of its time from which on a sending thread was the limit."""
_HEADERS = {"tcp": 52, "udp": 28}
"""Bytes of IPv4 with each segment; of TCP with its timestamps, which no segment that is reported has."""
_SEGMENT_BYTES = 1448

Links = Mapping[str, Sequence[Mapping[str, Any]]]
"""By end (`near`, `far`), as `keisoku.ground.host.link_rate.LinkRate`."""


@dataclass(frozen=True)
class Shortfall:
    """A rate that was not offered as intended, in bit/s of all streams together."""

    intended_bps: float
    offered_bps: float
    reason: str


def above_link(settings: StreamSettings, one: CellOutcome, links: Links) -> tuple[int, float, str]:
    """How many trials are above what a link carries; that limit in bit/s of payload, and what it is."""
    found: tuple[int, float, str] = (0, 0.0, "")
    for direction in ("forward", "reverse"):
        values = one.bps.get(direction, [])
        for end, limits in links.items():
            for link in limits:
                if not (link["both_ways"] or (end == "near") == (direction == "forward")):
                    continue
                payload_bps = link["bps"] * _payload_share(settings, one, int(link["frame_bytes"]))
                above = sum(value > payload_bps * (1 + TOLERANCE) for value in values)
                if above > found[0]:
                    what = phrase("line rate") if link["limit"] == "line" else phrase("token bucket")
                    found = (
                        above,
                        payload_bps,
                        phrase(
                            "the {what} of {interface} at the {end} end",
                            what=what,
                            interface=link["interface"],
                            end=end,
                        ),
                    )
    return found


def shortfall(settings: StreamSettings, one: CellOutcome) -> Shortfall | None:
    """None if the rate was offered, or none was asked for."""
    trial = settings.trial(settings.setups()[one.cell.setup], one.cell.message_bytes)
    if trial.bps is None or not one.offered_bps:
        return None
    streams = len(trial.flows())
    intended_bps = trial.bps * streams
    offered_bps = sum(one.offered_bps) / len(one.offered_bps)
    # The last call of each stream may not have been due.
    grain_bps = 8 * trial.message_bytes * trial.segments * streams / trial.duration_s
    if offered_bps >= intended_bps * (1 - TOLERANCE) - grain_bps:
        return None
    cpu_s_per_gb = sum(one.sender_s_per_gb) / len(one.sender_s_per_gb) if one.sender_s_per_gb else 0.0
    busy = cpu_s_per_gb * offered_bps / 8e9 / streams
    if busy >= BUSY:
        reason = phrase(
            "the sending threads were busy all the time: use larger messages, --factor offload=on, or more streams"
        )
    elif settings.protocol == "tcp":
        reason = phrase("the connection did not take more: the path or the receiver is the limit")
    else:
        reason = phrase("the sending threads had to wait: the host was busy, or its own interface is slower")
    return Shortfall(intended_bps, offered_bps, reason)


def _payload_share(settings: StreamSettings, one: CellOutcome, frame_bytes: int) -> float:
    payload = one.cell.message_bytes if settings.protocol == "udp" else one.segment_bytes or _SEGMENT_BYTES
    return payload / (payload + _HEADERS[settings.protocol] + frame_bytes)

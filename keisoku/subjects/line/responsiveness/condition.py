"""The conditions that a round goes through: what loads the path, and for how long. It does no I/O."""

from __future__ import annotations

from typing import Literal

from keisoku.language import phrase
from keisoku.subjects.line.responsiveness.settings import ResponsivenessSettings
from keisoku.subjects.stream.trial import Direction, StreamTrial

Condition = Literal["idle", "up", "down", "both", "up-overload", "down-overload", "up-half", "down-half"]
Way = Literal["up", "down"]

WAYS: tuple[Way, ...] = ("up", "down")
LOADED: tuple[Condition, ...] = ("up", "down", "both")
NAMES: dict[Condition, str] = {
    "idle": phrase("idle"),
    "up": phrase("upload"),
    "down": phrase("download"),
    "both": phrase("both ways"),
}
"""Of those that have a row of their own."""
UNITS = {
    "round trips/min": "rpm",
    "ns": "median p95 added connection request loading_flows stood reached length upload download",
    "%": "lost",
    "bit/s": "up_rate down_rate drains",
    "byte": "stood_bytes length_bytes",
    "": "hop",
}
"""Figures of all rows, by their unit; the added latency of a hop has the name of its direction."""
OVERLOADS: dict[Way, Condition] = {"up": "up-overload", "down": "down-overload"}
HALVES: dict[Way, Condition] = {"up": "up-half", "down": "down-half"}
"""UDP of half of that rate, of which an ordinary line loses nothing."""
DIRECTIONS: dict[Way, Direction] = {"up": "forward", "down": "reverse"}
OVERLOAD = 1.5
"""What UDP offers, as a multiple of the rate that TCP had: a queue of 200 ms is full after 400 ms."""
DATAGRAM_BYTES = 1200
"""Payload of its datagrams, as RFC 9000 §14 expects to pass everywhere: a datagram in two fragments needs more of the
line, and is lost if either is."""
INTERVAL_S = 0.02
"""From one STAMP packet to the next; the draft's 100 probes a second of both kinds together."""
LONG_BYTES, LONG_PACKETS = 1200, 15
"""Length and number of the long packets that are sent while the path is idle: they show whether a line serialises."""
PATIENCE_S = 1.5
"""After which a packet without an answer is lost."""
AROUND_S = 0.7
"""What a condition takes besides its time on two cores."""
MESSAGE_BYTES = 1 << 16
"""Of one call to send on a TCP flow."""


def conditions(settings: ResponsivenessSettings) -> list[Condition]:
    """Of one round, in order."""
    return ["idle", *LOADED, *(OVERLOADS.values() if settings.overload else ())]


def lasts_s(settings: ResponsivenessSettings, condition: Condition) -> float:
    """For how long it is probed, with the ramp of its load."""
    return settings.duration_s if condition == "idle" else settings.ramp_s + settings.duration_s


def takes_s(settings: ResponsivenessSettings, condition: Condition) -> float:
    """With its preparation and the wait for the last answers."""
    if condition == "idle":
        return AROUND_S + lasts_s(settings, condition) + LONG_PACKETS * INTERVAL_S
    return AROUND_S + lasts_s(settings, condition) + (PATIENCE_S if condition in OVERLOADS.values() else 0.0)


def load_streams(
    settings: ResponsivenessSettings, condition: Condition, rates_bps: dict[Way, float]
) -> StreamTrial | None:
    """The streams that load the path; None if nothing does, or if UDP has no rate to be a multiple of."""
    if condition == "idle":
        return None
    for way in WAYS:
        if condition in (OVERLOADS[way], HALVES[way]):
            if not rates_bps.get(way):
                return None
            return StreamTrial(
                protocol="udp",
                message_bytes=DATAGRAM_BYTES,
                direction=DIRECTIONS[way],
                duration_s=lasts_s(settings, condition),
                bps=(OVERLOAD if condition == OVERLOADS[way] else 0.5) * rates_bps[way],
            )
    return StreamTrial(
        protocol="tcp",
        message_bytes=MESSAGE_BYTES,
        streams=settings.streams,
        direction="both" if condition == "both" else DIRECTIONS["up" if condition == "up" else "down"],
        duration_s=lasts_s(settings, condition),
        warm_up_s=settings.ramp_s,
        congestion=settings.congestion,
    )

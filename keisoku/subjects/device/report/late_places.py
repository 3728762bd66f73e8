"""Where the slowest frames waited, in words: the parts of their ways beside those of the median frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keisoku.ground.report import digits
from keisoku.ground.report.plot import Plot, axis, device_colour, hover
from keisoku.language import phrase, plural
from keisoku.subjects.device.plot.device import Device
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.waits import WaitPlace

STANDS_OUT = 0.7
"""A place is named if at least so much of what the slowest frames take longer than a median frame was spent there,"""
SLOW = 2.0
"""and if they take at least so many times as long;"""
MOST = 0.8
"""or if so much of their latency was spent there, which a median frame may do, too."""
NO_QUEUE = "noqueue"
"""The kind of the queue of an interface that has none: a frame that is long there was interrupted with its CPU."""
_HANDLERS = {
    "br_handle_frame": phrase("the bridge"),
    "bond_handle_frame": phrase("the bond"),
    "macvlan_handle_frame": "macvlan",
    "ipvlan_handle_frame": "ipvlan",
    "netdev_frame_hook": "Open vSwitch",
    "team_handle_frame": phrase("the team"),
}
"""By the kernel's function that takes the packets."""


@dataclass(frozen=True)
class LatePlace:
    """What the slowest frames spent at one place, in ns."""

    place: WaitPlace
    frames: int
    """How many of them passed it."""
    mean_ns: float
    """Of all of them; those that did not pass it count as 0."""
    median_ns: int
    """Of the sampled frames that passed it; 0: none did."""


@dataclass(frozen=True)
class LateFrames:
    """The slowest frames of one trial; their mean latency is the sum over the places."""

    trial: int
    places: list[LatePlace]
    """In the order in which frames pass them."""
    slowest: int
    sent: int
    """Frames that arrived in this trial."""
    least_ns: int
    """Latency of the fastest of them."""
    mean_ns: float
    median_ns: int
    """Latency of half of the sample at most."""
    sampled: int
    not_followed: int
    apart_ns: int
    unread: int
    absent: list[tuple[str, str]]

    @property
    def cause(self) -> LatePlace | None:
        """The place at which they waited; None: none stands out."""
        seen = [one for one in self.places if one.place.kind != "unseen" and one.place.qdisc != NO_QUEUE]
        if not seen:
            return None
        later = max(seen, key=lambda one: one.mean_ns - one.median_ns)
        more_ns = STANDS_OUT * (self.mean_ns - self.median_ns)
        if self.mean_ns >= SLOW * self.median_ns and later.mean_ns - later.median_ns >= more_ns:
            return later
        longest = max(seen, key=lambda one: one.mean_ns)
        return longest if longest.mean_ns >= MOST * self.mean_ns else None


def late_frames(records: Sequence[TrialRecord]) -> LateFrames | None:
    """Of the trial whose slowest frames took longest; None if none watched or no frame arrived."""
    watched = [late for record in records if (late := _late(record)) is not None]
    return max(watched, key=lambda one: one.mean_ns, default=None)


def _late(record: TrialRecord) -> LateFrames | None:
    waits = record.facts.waits
    if waits is None or not waits.slowest or waits.median_ns is None:
        return None
    rows = waits.frames.rows
    _, number = np.unique(rows[:, :2], axis=0, return_inverse=True)
    number = number.reshape(-1)
    totals = np.bincount(number, weights=rows[:, 4])
    places = []
    for index, place in enumerate(waits.places):
        own = rows[:, 2] == index
        spent = float(rows[own, 4].sum()) / waits.slowest
        places.append(LatePlace(place, len(np.unique(number[own])), spent, place.median_ns or 0))
    return LateFrames(
        trial=record.index,
        places=places,
        slowest=waits.slowest,
        sent=record.facts.tracked.forwarded_frames,
        least_ns=round(float(totals.min())),
        mean_ns=float(totals.sum()) / waits.slowest,
        median_ns=waits.median_ns,
        sampled=waits.sampled,
        not_followed=waits.not_followed,
        apart_ns=waits.apart_ns,
        unread=waits.unread,
        absent=list(waits.absent),
    )


def late_sentence(late: LateFrames) -> str:
    """Where they waited, in one sentence, or that no place stands out."""
    group = phrase(
        "The slowest {count} of {all} frames ({least} and more)",
        count=digits.count(late.slowest),
        all=digits.count(late.sent),
        least=_time(late.least_ns),
    )
    cause = late.cause
    if cause is None:
        return phrase(
            "{group} take {mean} on average and a median frame {median}: no part of the kernel stands out.",
            group=group,
            mean=_time(late.mean_ns),
            median=_time(late.median_ns),
        )
    return phrase(
        "{group} waited {where}: {part} of {mean} on average; a median frame spends {median} there.",
        group=group,
        where=where(cause.place),
        part=_time(cause.mean_ns),
        mean=_time(late.mean_ns),
        median=_time(cause.median_ns),
    )


def late_limits(late: LateFrames) -> list[str]:
    """What was not looked at, a sentence each."""
    limits = []
    if late.not_followed:
        limits.append(
            plural(
                "{count} of the slowest frames has no hops: XDP carried it, or 65,536 others came first.",
                "{count} of the slowest frames have no hops: XDP carried them, or 65,536 others came first.",
                count=digits.count(late.not_followed),
            )
        )
    if late.apart_ns > 0:
        limits.append(
            phrase(
                "The tester's stamps and the kernel's clock contradict each other by up to {time}: "
                "the first and the last part of a way are uncertain by so much.",
                time=_time(late.apart_ns),
            )
        )
    if late.unread:
        limits.append(
            plural(
                "The end of {count} packet could not be read: it may have been a test frame on its way.",
                "The ends of {count} packets could not be read: they may have been test frames on their way.",
                count=digits.count(late.unread),
            )
        )
    if any(event == "pages" for event, _ in late.absent):
        limits.append(
            phrase("Before Linux 6.11 packets that lie in pages, as those of packet sockets, are not followed.")
        )
    if any(event == "interfaces" for event, _ in late.absent):
        limits.append(phrase("The frames passed more than 1,024 interfaces: some have no name."))
    limits += [
        phrase("Not watched here: the kernel's event {event} ({why}).", event=event, why=why)
        for event, why in late.absent
        if event not in ("pages", "interfaces")
    ]
    return limits


def where(place: WaitPlace) -> str:
    """The place in words: it continues 'waited'."""
    if place.kind == "unseen":
        return phrase("where the kernel shows no test frames")
    at = _at(place)
    if place.kind == "tester":
        return phrase("in the tester's own socket, at {at}", at=at)
    if place.kind == "ring":
        return phrase("in the ring of {at} until a CPU polled it (NAPI)", at=at)
    if place.kind == "backlog":
        return phrase("in a CPU's queue of received packets, at {at}", at=at)
    if place.kind == "gro":
        return phrase("after the ring of {at}, before the protocols (GRO)", at=at)
    if place.qdisc == NO_QUEUE:
        return phrase("at {at}, which has no queue", at=at)
    if place.kind == "queue":
        return phrase("in the queue of {at} ({qdisc})", at=at, qdisc=place.qdisc)
    if place.kind == "driver":
        return phrase("in the driver of {at}", at=at)
    ends = phrase("between {came_from} and {at}", came_from=place.came_from, at=at) if place.came_from else at
    if place.kind == "program":
        return phrase("in a program {ends}", ends=ends)
    if place.handler:
        return phrase("in {handler} {ends}", handler=_HANDLERS.get(place.handler, place.handler), ends=ends)
    return phrase("in the protocols {ends} (filters, route, neighbour)", ends=ends)


def late_plot(late: LateFrames, device: Device) -> Plot:
    """At each place a bar for the median and one for the slowest frames."""
    factor, unit = digits.scale("ns", late.mean_ns)
    plot = Plot(
        f"late-{device.index}",
        phrase(
            "{device}: how long the slowest {count} frames were in each part of this host's kernel, beside the median.",
            device=device.name,
            count=digits.count(late.slowest),
        ),
        {"xaxis": {"type": "category"}, "yaxis": axis(phrase("Time ({unit})", unit=unit), log_ratio=float("inf"))},
    )
    bars = (
        (phrase("median frame"), 0.35, [float(one.median_ns) for one in late.places]),
        (phrase("slowest frames"), 1.0, [one.mean_ns for one in late.places]),
    )
    for name, opacity, times_ns in bars:
        plot.add(
            {
                "type": "bar",
                "name": name,
                "x": [_short(one.place) for one in late.places],
                "y": [max(0.0, time_ns) / factor for time_ns in times_ns],
                "marker": {"color": device_colour(device.index, opacity)},
                "hovertext": [
                    hover(where(one.place), _time(time_ns)) for one, time_ns in zip(late.places, times_ns, strict=True)
                ],
            }
        )
    return plot


def row_texts(one: LatePlace) -> tuple[str, str, str, str]:
    """Place, mean of the slowest frames, median frame, and how many of the slowest frames passed it."""
    return where(one.place), _time(one.mean_ns), _time(one.median_ns), digits.count(one.frames)


def _at(place: WaitPlace) -> str:
    if place.of_tester:
        return phrase("the tester's port {interface}", interface=place.interface)
    if place.namespace:
        return phrase("{interface} in {namespace}", interface=place.interface, namespace=place.namespace)
    return place.interface


def _short(place: WaitPlace) -> str:
    """For an axis."""
    return " ".join(filter(None, [place.kind, place.interface]))


def _time(time_ns: float) -> str:
    factor, unit = digits.scale("ns", abs(time_ns))
    return f"{digits.significant(time_ns / factor, 3)} {unit}"

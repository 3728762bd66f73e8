"""What an exchange with a PTP master bounds: its four times, corrections and timescale become one reading.

It makes no assumption about path asymmetry, and takes a master's time for UTC only if the master says so.
"""

from __future__ import annotations

from keisoku.language import phrase
from keisoku.subjects.clock.reading import Reading
from keisoku.subjects.clock.reference.ptp.message import SCALE, Announced, Arrival, Flag, Message, Moment

RUNS_FAST_MOST = 1e-3
"""An oscillator's 100 ppm on both sides, and twice what a kernel lets NTP steer."""
TOO_LARGE = (1 << 63) - 1
"""A correctionField of this says that the correction is not known (13.3.2.9 of IEEE 1588-2019)."""
SLAVE_ONLY = 255
STEPS_MOST = 254
"""Boundary clocks between a master and its grandmaster; an Announce of more is never qualified (9.3.2.5 of -2019)."""
_NS = 1_000_000_000
_CLASSES = {
    6: phrase("locked to a primary source"),
    7: phrase("holding over from a primary source"),
    13: phrase("locked to a source of its application"),
    14: phrase("holding over from a source of its application"),
    52: phrase("degraded from a primary source"),
    58: phrase("degraded from a source of its application"),
    187: phrase("degraded from a primary source"),
    193: phrase("degraded from a source of its application"),
    248: phrase("not locked to a source that it states"),
}
_DEGRADED = frozenset({52, 58, 187, 193})
"""Out of the specification of their holdover (Table 4 of IEEE 1588-2019)."""
_DEFAULT_CLASS = 248
"""Of a clock without a source, which is ptp4l's own default; those above are reserved, 255 is slave-only (Table 4)."""
_ACCURACY_OVER_10_S, _ACCURACY_UNKNOWN = 0x31, 0xFE
"""clockAccuracy (Table 5 of -2019)."""


def departure_ns(sync: Message, follow_up: Message | None) -> int | None:
    """When Sync left, by the master, with what transparent clocks held it (11.2), rounded down.

    `follow_up`: of a two-step master, else None. None if a correction is not known.
    """
    precise = sync if follow_up is None else follow_up
    assert isinstance(precise.body, Moment)
    parts = [message.correction for message in (sync, follow_up) if message is not None]
    return None if TOO_LARGE in parts else (precise.body.time_ns * SCALE + sum(parts)) // SCALE


def arrival_ns(response: Message) -> int | None:
    """When Delay_Req arrived, by the master, less what transparent clocks held it (11.3), rounded up."""
    assert isinstance(response.body, Arrival)
    if response.correction == TOO_LARGE:
        return None
    return -((response.correction - response.body.time_ns * SCALE) // SCALE)


def fastest(first: Reading, last: Reading) -> float:
    """Ticks in a ns of any other clock, at most, by two readings of this host's. Raises ValueError if it went back."""
    if last.reference_ns <= first.reference_ns:
        raise ValueError("a clock went back between two readings of it")
    return (last.after - first.before) / (last.reference_ns - first.reference_ns) * (1 + RUNS_FAST_MOST)


def exchange(departed_ns: int, arrived: int, left: int, received_ns: int, ticks_per_ns: float) -> Reading | None:
    """The reading in the middle of the master's two times; as wide as the round trip, and as hard.

    Sync left at `departed_ns` and was here at `arrived` ticks at the latest; Delay_Req was here until `left` ticks at
    least and was at the master's at `received_ns`. None if that contradicts itself: something came before it left.
    """
    span_ns = received_ns - departed_ns
    middle_ns = departed_ns + span_ns // 2
    # Each bound is carried to the middle at the highest rate, so that it stays one.
    before = left - round((received_ns - middle_ns) * ticks_per_ns + 0.5)
    after = arrived + round((middle_ns - departed_ns) * ticks_per_ns + 0.5)
    return Reading(before, middle_ns, after) if span_ns >= 0 and before <= after else None


def utc_ns(master_ns: int, announce: Message) -> int | None:
    """A master's time as ns of UTC since 1970 (7.2.4); None if it does not know the offset from TAI.

    Of an arbitrary timescale that master's own epoch is taken for 1970, as it is where ptp4l stamps in software.
    """
    assert isinstance(announce.body, Announced)
    if Flag.PTP_TIMESCALE not in announce.flags:
        return master_ns
    if Flag.UTC_OFFSET_VALID not in announce.flags:
        return None
    return master_ns - announce.body.utc_offset_s * _NS


def ahead_ns(reading: Reading, host: Reading, ticks_per_ns: float, announce: Message) -> tuple[int, int] | None:
    """By how much the master's UTC is ahead of this host's time of day, and the bound of that, in ns.

    `host`: CLOCK_REALTIME, read within the exchange or next to it.
    """
    shown_ns = utc_ns(reading.reference_ns, announce)
    if shown_ns is None:
        return None
    later = ((reading.before + reading.after) - (host.before + host.after)) / 2 / ticks_per_ns
    bound = (reading.width + host.width) / 2 / ticks_per_ns + abs(later) * RUNS_FAST_MOST
    return shown_ns - host.reference_ns - round(later), round(bound + 1)


def timescale(announce: Message) -> str:
    """In words."""
    return phrase("TAI (PTP timescale)") if Flag.PTP_TIMESCALE in announce.flags else phrase("an arbitrary timescale")


def grade(announce: Message) -> str:
    """What clockClass says, in words (Table 4 of -2019)."""
    assert isinstance(announce.body, Announced)
    number = announce.body.clock_class
    return phrase(
        "{grade} (clock class {number})", grade=_CLASSES.get(number, phrase("of a class of its profile")), number=number
    )


def lack(announce: Message) -> str | None:
    """Why the master's time is nobody's, by its clockClass (7.6.2.5 of -2019, Table 4); None if it has a source.

    Classes of other profiles (68 to 122, 133 to 170, 216 to 232) are taken as those profiles' own.
    """
    assert isinstance(announce.body, Announced)
    number = announce.body.clock_class
    if number >= _DEFAULT_CLASS or number in _DEGRADED:
        return phrase(
            "it is {grade} (clock class {number})",
            grade=_CLASSES.get(number, phrase("of a reserved class")),
            number=number,
        )
    return None


def inaccuracy(announce: Message) -> str | None:
    """What is to be said of its clockAccuracy (7.6.2.6 of -2019, Table 5); None if it is 10 s or better."""
    assert isinstance(announce.body, Announced)
    return {
        _ACCURACY_OVER_10_S: phrase("it says that its time is off by more than 10 s (clock accuracy 0x31)"),
        _ACCURACY_UNKNOWN: phrase("it does not know how accurate its time is (clock accuracy 0xfe)"),
    }.get(announce.body.accuracy)


def facts(announce: Message) -> dict[str, object]:
    """What the master says of itself, for the context of a run."""
    assert isinstance(announce.body, Announced)
    said = announce.body
    return {
        "master": str(announce.source),
        "domain": announce.domain,
        "grandmaster": said.grandmaster.hex(),
        "steps_removed": said.steps_removed,
        "clock_class": said.clock_class,
        "clock_accuracy": said.accuracy,
        "offset_scaled_log_variance": said.variance,
        "time_source": said.time_source,
        "ptp_timescale": Flag.PTP_TIMESCALE in announce.flags,
        "utc_offset_s": said.utc_offset_s if Flag.UTC_OFFSET_VALID in announce.flags else None,
        "leap_61": Flag.LEAP_61 in announce.flags,
        "leap_59": Flag.LEAP_59 in announce.flags,
        "time_traceable": Flag.TIME_TRACEABLE in announce.flags,
        "frequency_traceable": Flag.FREQUENCY_TRACEABLE in announce.flags,
    }

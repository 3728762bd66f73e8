"""Sentences on interruptions of a clock's log and on what its figures leave out. Computes no figure."""

from __future__ import annotations

from collections.abc import Mapping

from keisoku.ground.run.result import Flag
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.clock.stability.phase_log import WIDE, PhaseLog

WINDOWS_MIN = 3
"""Windows without a common phase that a figure needs."""
_BREAKS_SHOWN = 20


def log_flags(log: PhaseLog, noises: Mapping[int, int]) -> list[Flag]:
    """What happened to the log, and what its noise is of; `noises` is α by averaging factor."""
    found = []
    for reason in dict.fromkeys(one.reason for one in log.breaks):
        mine = [one for one in log.breaks if one.reason == reason]
        size = _change if reason == "frequency step" else _size
        places = ", ".join(f"{one.at_s:.6g} s" + size(one.size_s) for one in mine[:_BREAKS_SHOWN])
        more = phrase(" and {mine} more", mine=len(mine) - _BREAKS_SHOWN) if len(mine) > _BREAKS_SHOWN else ""
        cut = _CROSSED.get(reason, phrase("no figure crosses it"))
        found.append(
            Flag(name=reason.replace(" ", "-"), text=join_texts("", [_SAID[reason], " ", places, more, "; ", cut]))
        )
    if log.spikes:
        text = phrase("{readings} with a single outlying phase, left out", readings=_readings(log.spikes))
        found.append(Flag(name="spikes", text=text))
    if log.wide:
        text = phrase(
            "{readings} delayed (bounds over {wide:g} times the median), left out",
            readings=_readings(log.wide),
            wide=WIDE,
        )
        found.append(Flag(name="wide-readings", text=text))
    if log.short:
        text = phrase("{readings} in stretches too short for an analysis, left out", readings=_readings(log.short))
        found.append(Flag(name="short-stretches", text=text))
    if noises and min(noises.values()) == 2:
        text = phrase(
            "white phase noise at every averaging time: the deviations fall as 1/τ and show how "
            "well the clock can be read, not how stable its oscillator is"
        )
        found.append(Flag(name="reading-noise", text=text))
    return found


_SAID = {
    "gap": phrase("readings are missing after"),
    "step": phrase("the phase stepped at"),
    "suspend": phrase("the machine was suspended before"),
    "reboot": phrase("the machine booted before"),
    "clock source": phrase("the kernel changed its clock source before"),
    "reference went back": phrase("the reference went back at"),
    "frequency step": phrase("the frequency stepped at"),
}
_CROSSED = {
    "gap": phrase("the log goes on with missing points"),
    "frequency step": phrase("the figures are of both sides together"),
}
"""What is not cut."""


def _readings(number: int) -> str:
    return plural("{count} reading", "{count} readings", count=number)


def _change(share: float) -> str:
    return f" ({share * 1e9:+.4g} ppb)"


def _size(size_s: float) -> str:
    return f" ({size_s * 1e9:+.4g} ns)" if 0 < abs(size_s) < 1e-3 else f" ({size_s:+.4g} s)" if size_s else ""


def log_remarks(log: PhaseLog, noises: Mapping[int, int]) -> list[str]:
    """How figures were made of the log, and what they leave out."""
    said = [
        phrase(
            "Overlapping estimates; intervals of 95 % from χ² with the equivalent degrees of freedom of the noise "
            "named in the row (Greenhall and Riley 2003). That noise was identified by lag-1 autocorrelation (Riley "
            "and Greenhall 2004) and is taken to grow no whiter with the averaging time."
        ),
        phrase(
            "A deviation is shown where the log holds at least {windows_min} windows of its full "
            "length without a common reading: ADEV to a sixth of the log, MDEV and HDEV to a "
            "ninth, MTIE and the standard deviation of the frequency to a third. MTIE and that "
            "standard deviation have no interval.",
            windows_min=WINDOWS_MIN,
        ),
        phrase(
            "Uncertainties of rate and drift hold for the noise seen up to a twelfth of the "
            "stretch; what wanders more slowly is not in them."
        ),
    ]
    if log.missing:
        said.append(
            phrase(
                "Missing points: {count}, not interpolated: terms that need one are left out; MTIE passes over them "
                "and is a lower bound.",
                count=log.missing,
            )
        )
    if not noises:
        said.append(phrase("The log is too short to identify noise: no intervals."))
    return said

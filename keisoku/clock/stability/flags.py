"""Sentences on interruptions of a clock's log and on what its figures leave out. Computes no figure."""

from __future__ import annotations

from collections.abc import Mapping

from keisoku.clock.stability.phase_log import WIDE, PhaseLog
from keisoku.run.result import Flag

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
        more = f" and {len(mine) - _BREAKS_SHOWN} more" if len(mine) > _BREAKS_SHOWN else ""
        cut = _CROSSED.get(reason, "no figure crosses it")
        found.append(Flag(name=reason.replace(" ", "-"), text=f"{_SAID[reason]} {places}{more}; {cut}"))
    if log.spikes:
        text = f"{_counted(log.spikes, 'reading')} with a single outlying phase, left out"
        found.append(Flag(name="spikes", text=text))
    if log.wide:
        text = f"{_counted(log.wide, 'reading')} delayed (bounds over {WIDE:g} times the median), left out"
        found.append(Flag(name="wide-readings", text=text))
    if log.short:
        text = f"{_counted(log.short, 'reading')} in stretches too short for an analysis, left out"
        found.append(Flag(name="short-stretches", text=text))
    if noises and min(noises.values()) == 2:
        text = (
            "white phase noise at every averaging time: the deviations fall as 1/τ and show how well the clock can be "
            "read, not how stable its oscillator is"
        )
        found.append(Flag(name="reading-noise", text=text))
    return found


_SAID = {
    "gap": "readings are missing after",
    "step": "the phase stepped at",
    "suspend": "the machine was suspended before",
    "reboot": "the machine booted before",
    "clock source": "the kernel changed its clock source before",
    "reference went back": "the reference went back at",
    "frequency step": "the frequency stepped at",
}
_CROSSED = {
    "gap": "the log goes on with missing points",
    "frequency step": "the figures are of both sides together",
}
"""What is not cut."""


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _change(share: float) -> str:
    return f" ({share * 1e9:+.4g} ppb)"


def _size(size_s: float) -> str:
    return f" ({size_s * 1e9:+.4g} ns)" if 0 < abs(size_s) < 1e-3 else f" ({size_s:+.4g} s)" if size_s else ""


def log_remarks(log: PhaseLog, noises: Mapping[int, int]) -> list[str]:
    """How figures were made of the log, and what they leave out."""
    said = [
        "Overlapping estimates; intervals of 95 % from χ² with the equivalent degrees of freedom of the noise named in "
        "the row (Greenhall and Riley 2003), which was identified by lag-1 autocorrelation (Riley and Greenhall 2004) "
        "and is taken to grow no whiter with the averaging time.",
        f"A deviation is shown where the log holds at least {WINDOWS_MIN} windows of its full length without a common "
        "reading: ADEV to a sixth of the log, MDEV and HDEV to a ninth, MTIE and the standard deviation of the "
        "frequency to a third. MTIE and that standard deviation have no interval.",
        "Uncertainties of rate and drift hold for the noise seen up to a twelfth of the stretch; what wanders more "
        "slowly is not in them.",
    ]
    if log.missing:
        said.append(
            f"{_counted(log.missing, 'missing point')}, not interpolated: terms that need one are left out; MTIE "
            "passes over it and is a lower bound."
        )
    if not noises:
        said.append("The log is too short to identify noise: no intervals.")
    return said

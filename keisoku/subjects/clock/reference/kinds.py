"""References that a counter can be compared with: their names, the default, and which of them are circular.

A reference reads; estimators are elsewhere (`frequency.py`). None of them ever sets a clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from keisoku.errors import PlanError
from keisoku.ground.run.result import Flag
from keisoku.language import phrase
from keisoku.subjects.clock.host_clocks import HostClocks
from keisoku.subjects.clock.reading import Reading
from keisoku.subjects.clock.reference.ptp import target as ptp_target

FORMS = "phc:N, pps:N, ptp:HOST, ntp:HOST, http:URL, realtime, monotonic or raw"
KERNEL = ("realtime", "monotonic", "raw")


@dataclass(frozen=True)
class Chosen:
    """A reference by its kind and what it names: ('ntp', '10.0.0.1')."""

    kind: str
    target: str = ""

    @property
    def name(self) -> str:
        """As the user would write it."""
        return f"{self.kind}:{self.target}" if self.target else self.kind


@dataclass(frozen=True)
class Reference:
    """An opened reference."""

    name: str
    described: str
    """Text that says whose time it is and how it is read."""
    read: Callable[[], list[Reading]]
    """One or more readings that belong together. Raises EngineError if the reference does not answer."""
    pause_s: float
    """Between two calls of `read`."""
    is_real: bool
    """False: it tells nothing about the counter's rate against the SI second."""
    at_least_s: float = 0.0
    """Shortest run in s that gives a rate."""
    facts: dict[str, object] = field(default_factory=dict)
    flags: tuple[Flag, ...] = ()
    """What must be said of figures against it."""
    close: Callable[[], None] = lambda: None


def parse(text: str) -> Chosen:
    """A reference as the user writes it. Raises PlanError for anything else."""
    kind, _, target = text.strip().partition(":")
    kind = kind.lower()
    if kind == "https":
        kind, target = "http", f"https:{target}"
    elif kind == "http" and target.startswith("//"):
        target = f"http:{target}"
    if kind == "auto" or kind in KERNEL:
        if target:
            raise PlanError("reference", f"{kind} takes nothing after a colon, got {text!r}", f"use {FORMS}")
        return Chosen(kind)
    if kind in ("phc", "pps"):
        target = target or "0"
        if not target.isdigit():
            raise PlanError("reference", f"{text!r} names no device", f"give its number: {kind}:0 is /dev/{kind}0")
        return Chosen(kind, target)
    if kind == "ptp":
        ptp_target.target(target)
        return Chosen(kind, target)
    if kind in ("ntp", "http"):
        if not target:
            raise PlanError("reference", f"{kind} needs a server", f"give one: {kind}:HOST")
        return Chosen(kind, target)
    raise PlanError("reference", f"there is no reference {text!r}", f"use auto, {FORMS}")


def check_master(field: str, name: str) -> None:
    """Raises PlanError naming `field` if it is no PTP master: only by one are two hosts related well enough."""
    if not name.startswith("ptp:"):
        raise PlanError(field, f"{name!r} is no PTP master", "write ptp:HOST")


def automatic(host: HostClocks, kept_time: bool, devices: Path = Path("/dev")) -> Chosen:
    """The best real reference that needs no server: a hardware clock, a pulse, a clock that is not the counter.

    `kept_time`: the kernel keeps time by the counter itself. Raises PlanError if there is none.
    """
    for kind, prefix in (("phc", "ptp"), ("pps", "pps")):
        numbers = sorted(int(path.name[3:]) for path in devices.glob(f"{prefix}[0-9]*") if path.name[3:].isdigit())
        if numbers:
            return Chosen(kind, str(numbers[0]))
    if host.steering.synchronised:
        return Chosen("realtime")
    if not kept_time:
        return Chosen("raw")
    raise PlanError(
        "reference",
        "this machine has no hardware clock (/dev/ptp*) and no pulse (/dev/pps*), and its kernel keeps time by the"
        f" counter itself (clock source {host.clock_source}, not disciplined)",
        "give ptp:HOST, ntp:HOST or http:URL; 'raw' compares the counter with itself and shows read noise only",
    )


def flags(chosen: Chosen, host: HostClocks, kept_time: bool) -> Iterator[Flag]:
    """Flags for figures against this reference."""
    if chosen.kind not in KERNEL:
        return
    steered = chosen.kind != "raw"
    if kept_time and (not steered or not host.steering.synchronised):
        yield Flag(
            name="circular",
            text=phrase(
                "CLOCK_{clock} is made from the counter itself (clock source {clock_source}): the "
                "scatter shows the reads only, and the frequency is the kernel's own figure for it",
                clock=_clock(chosen),
                clock_source=host.clock_source,
            ),
        )
    if steered:
        yield Flag(
            name="disciplined-clock",
            text=phrase(
                "relative to the disciplined clock, not to the second: the kernel steers it by "
                "{frequency_ppb:+.1f} ppb, status {status:#06x} ({synchronised})",
                frequency_ppb=host.steering.frequency_ppb,
                status=host.steering.status,
                synchronised=phrase("synchronised") if host.steering.synchronised else phrase("not synchronised"),
            ),
        )


def untrusted(name: str, lack: str) -> Flag:
    """Of a server whose time is nobody's; `lack` is what it says of itself. Its rate is nothing to be kept."""
    text = phrase(
        "{name} is no source of time: {lack}; its rate may be off like any oscillator's, so no calibration is kept",
        name=name,
        lack=lack,
    )
    return Flag(name="untrusted-reference", text=text)


def is_real(chosen: Chosen, kept_time: bool) -> bool:
    """True if its second comes neither from the counter nor from a clock that is being steered."""
    return chosen.kind not in KERNEL or (chosen.kind == "raw" and not kept_time)


def _clock(chosen: Chosen) -> str:
    return {"raw": "MONOTONIC_RAW"}.get(chosen.kind, chosen.kind.upper())

"""Checks before a run that the hardware of receiving ports stamps frames, where the user left the choice of timestamps.

Some drivers accept the setting and never stamp a frame, or refuse it although they offer it. Such a port gets the
kernel's timestamps instead, and the run says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from keisoku.language import phrase
from keisoku.subjects.device.engine.engine import Engine
from keisoku.subjects.device.engine.stamps import StampChoice
from keisoku.subjects.device.engine.wired_port import WiredPort
from keisoku.subjects.device.engine.wired_trial import UnstampedError
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import NS_PER_S, Phases, Trial
from keisoku.subjects.device.record.validity import unstamped

CHECK_S = 0.1
FRAMES_PER_SECOND = 10_000.0
"""Of each port: a rate that hardware bears, and frames enough for the share of missing timestamps of a valid trial."""
_STREAM = 0


@dataclass(frozen=True)
class StampFallback:
    """A port whose hardware was to stamp, and why the kernel stamps instead."""

    interface: str
    reason: str

    @property
    def sentence(self) -> str:
        """For the user."""
        return phrase(
            "{interface}: the kernel's timestamps instead of the hardware's, because {reason}",
            interface=self.interface,
            reason=self.reason,
        )


def lenient(port: WiredPort) -> WiredPort:
    """The port, on which the kernel's timestamps are accepted where its hardware takes none, unless hardware was asked
    for."""
    if port.stamps is None or not _is_left_to_us(port):
        return port
    return replace(port, stamps=replace(port.stamps, kernel_instead=True))


def settled(
    ports: Sequence[WiredPort],
    frame_bytes: int,
    line_fps: float | None,
    opened: Callable[[Sequence[WiredPort]], Engine],
) -> tuple[list[WiredPort], list[StampFallback]]:
    """The ports with timestamps that they take, and those that had to change.

    Sends up to 1000 of the run's own frames at each sending port, where there is a port to be checked. One that
    receives none of them stays as it is: the run's first trial finds out. Raises EngineError if the ports cannot be
    opened, or if hardware that was asked for takes no timestamps.
    """
    trial = Trial(
        purpose="check of timestamps",
        frame_bytes=frame_bytes,
        frames_per_second=min(FRAMES_PER_SECOND, line_fps or FRAMES_PER_SECOND),
        duration_ns=round(CHECK_S * NS_PER_S),
        phases=Phases(learning_wait_ns=0, drain_ns=NS_PER_S // 10, rest_ns=0),
    )
    found, reasons = list(ports), dict[int, str]()
    while any(_is_left_to_us(port) for port in found):
        try:
            with closing(opened(found)) as engine:
                engine.start(trial, _STREAM, 0)
                facts, _ = engine.finish()
        except UnstampedError as error:
            if not _is_left_to_us(found[error.port]):
                raise
            _replace(found, error.port, error.reason)
            reasons[error.port] = error.reason
            continue
        for place, reason in some_unstamped(found, facts).items():
            _replace(found, place, reason)
            reasons[place] = reason
        break
    return found, [StampFallback(found[place].interface, reason) for place, reason in reasons.items()]


def some_unstamped(ports: Sequence[WiredPort], facts: Facts) -> dict[int, str]:
    """By port, why its hardware is not used: it left out more frames of the check than a valid trial may have."""
    return {
        receiver.port: phrase(
            "the hardware stamped {by_hardware} of {received} received frames",
            by_hardware=receiver.stamped.by_hardware,
            received=receiver.stamped.by_hardware + receiver.stamped.by_kernel,
        )
        for receiver in facts.receivers
        if receiver.stamped and unstamped("", receiver) and _is_left_to_us(ports[receiver.port])
    }


def _is_left_to_us(port: WiredPort) -> bool:
    return port.phc is not None and port.stamps is not None and not port.stamps.asked


def _replace(ports: list[WiredPort], place: int, reason: str) -> None:
    ports[place] = replace(ports[place], phc=None, stamps=StampChoice("user space", "kernel", reason))

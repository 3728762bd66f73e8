"""The settings of convergence: a steady load, during which something happens to the device.

RFC 6413 §5 leaves the lengths open; it wants a load that the device forwards without loss, and a time afterwards in
which no frame may be lost any more (§4.1.6: 5 s are recommended).
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from shutil import which

from pydantic import Field

from keisoku.errors import PlanError
from keisoku.ground.run.settings import Settings
from keisoku.subjects.device.plan.rate import Load
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.event import EVENTS, Event

NS_PER_S = 1_000_000_000
_NAMES = re.compile(r"\s*[\w-]+(\s*,\s*[\w-]+)+\s*")
"""Names with commas between them; any other text is one event, because a command may have commas."""


class ConvergenceSettings(Settings):
    """A steady load, during which events happen to the device."""

    event: str = ""
    """What happens: the name of an event that the device offers, or a command of the shell. Several names with commas
    happen one after the other (default: nothing is done, and interruptions have no time of their cause)."""
    undo: str = ""
    """Command that undoes it, or all of them (default: an event that the device offers is undone by the device, of
    several the last one first)."""
    rate_fps: Load | None = None
    """Load of a transmitting port, which all flows share; a flow shows its interruption to the time between two of its
    frames (default: 10 000 frames/s, or the maximum of the link if that is less)."""
    stable_s: float = Field(1.0, gt=0)
    """Time under load before the first event."""
    watch_s: float = Field(5.0, gt=0)
    """Time under load after each event, and after each undoing: longer than the device needs to converge."""
    hops: bool = False
    """Compare the hop count of every frame: a micro-loop and a longer way show by it."""
    rounds: int = Field(1, ge=1, le=1000)
    """How often the event and its undoing happen in each trial."""

    @property
    def named(self) -> tuple[str, ...]:
        """The events one by one."""
        if _NAMES.fullmatch(self.event):
            return tuple(name.strip() for name in self.event.split(","))
        return (self.event,) if self.event else ()

    def happening(self, capabilities: Capabilities) -> tuple[Event, ...]:
        """The events of a trial."""
        steps = [(name, False, name not in capabilities.events) for name in self.named]
        if self.undo and self.event:
            steps.append((self.undo, True, True))
        elif not self.undo:
            steps += [(name, True, False) for name in reversed(self.named) if name in capabilities.events]
        return tuple(
            Event(
                name=name,
                undo=undoing,
                command=command,
                after_ns=round((self.stable_s + place * self.watch_s) * NS_PER_S),
            )
            for place, (name, undoing, command) in enumerate(steps * self.rounds)
        )

    def length_s(self, capabilities: Capabilities) -> float:
        """Length of the load of a trial."""
        return self.stable_s + max(1, len(self.happening(capabilities))) * self.watch_s

    def check(self, capabilities: Capabilities) -> None:
        """Raises PlanError for an event that neither the device offers nor a command can be."""
        offered, commands = ", ".join(capabilities.events), "commands" in capabilities.abilities
        if self.undo and not self.event:
            raise PlanError("convergence.undo", "there is no event to undo", "give an event as well")
        for field, text in (*(("event", name) for name in self.named), ("undo", self.undo)):
            if not text or (field == "event" and text in capabilities.events):
                continue
            named = f"convergence.{field}"
            if text in EVENTS:
                ways = [offered] * bool(offered) + ["a command"] * commands
                remedy = f"use {', or '.join(ways)}" if ways else "leave it out, or use another device"
                raise PlanError(named, f"the device offers no event '{text}'", remedy)
            if not commands:
                remedy = f"use {offered}" if offered else "leave it out"
                problem = f"'{text}' is not offered, and no command can be an event here"
                raise PlanError(named, problem, remedy)
            if " " not in text.strip() and which(text.strip()) is None:
                near = get_close_matches(text, [*capabilities.events, *EVENTS], 1)
                remedy = f"did you mean '{near[0]}'?" if near else f"use {offered or 'a command'}"
                raise PlanError(named, f"there is no event and no program '{text}'", remedy)

"""Settings of procedures during whose load something happens to the device: an event that it offers, or a command."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from shutil import which
from typing import Any

from pydantic import Field

from keisoku.errors import PlanError
from keisoku.ground.run.settings import Settings
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.event import EVENTS, Event

NS_PER_S = 1_000_000_000
_NAMES = re.compile(r"\s*[\w-]+(\s*,\s*[\w-]+)+\s*")
"""Names with commas between them; any other text is one event, because a command may have commas."""


class EventSettings(Settings):
    """A load during which events happen to the device, and the times before and between them."""

    event: str = ""
    """What happens: the name of an event that the device offers, or a command of the shell. Several names with commas
    happen one after the other (default: nothing is done)."""
    undo: str = ""
    """Command that undoes it, or all of them (default: an event that the device offers is undone by the device, of
    several the last one first)."""
    stable_s: float = Field(1.0, gt=0)
    """Time under load before the first event."""
    watch_s: float = Field(2.0, gt=0)
    """Time under load after each event, and after each undoing."""

    @property
    def named(self) -> tuple[str, ...]:
        """The events one by one."""
        if _NAMES.fullmatch(self.event):
            return tuple(name.strip() for name in self.event.split(","))
        return (self.event,) if self.event else ()

    def happening(self, capabilities: Capabilities, rounds: int = 1) -> tuple[Event, ...]:
        """The events of a trial, so often."""
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
            for place, (name, undoing, command) in enumerate(steps * rounds)
        )

    def length_s(self, events: Sequence[Event]) -> float:
        """Length of the load of a trial with these events."""
        return self.stable_s + max(1, len(events)) * self.watch_s

    def check(self, procedure: str, capabilities: Capabilities) -> None:
        """Raises PlanError for an event of this procedure that neither the device offers nor a command can be."""
        offered, commands = ", ".join(capabilities.events), "commands" in capabilities.abilities
        if self.undo and not self.event:
            raise PlanError(f"{procedure}.undo", "there is no event to undo", "give an event as well")
        for field, text in (*(("event", name) for name in self.named), ("undo", self.undo)):
            if not text or (field == "event" and text in capabilities.events):
                continue
            named = f"{procedure}.{field}"
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


def names_only(procedure: str) -> Callable[[Mapping[str, Any]], None]:
    """What checks the settings that a client of the server sends. It raises PlanError for an event that would be a
    command of the server."""

    def check(settings: Mapping[str, Any]) -> None:
        events = settings.get("event", "")
        are_names = isinstance(events, str) and all(name.strip() in ("", *EVENTS) for name in events.split(","))
        if settings.get("undo") or not are_names:
            problem = "a command of the server may only be given on its own command line"
            raise PlanError(f"{procedure}.event", problem, f"use one of {', '.join(EVENTS)}")

    return check

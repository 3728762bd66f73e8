"""The governor on a system: carries out what it commands and keeps every interval. It decides nothing itself."""

from __future__ import annotations

from collections.abc import Callable

from keisoku.system.govern.governor import Command, govern
from keisoku.system.interval_log import IntervalLog, KeptInterval
from keisoku.system.search.run import limit_text
from keisoku.system.settings import GovernSettings
from keisoku.system.system import System

KIND = "app-govern"
Say = Callable[[str], None]


def carry_out(system: System, settings: GovernSettings, log: IntervalLog, say: Say) -> None:
    """Governs for as long as the settings say, or until it is interrupted. The caller leaves the system."""
    governor = govern(settings.objective, settings.candidates, settings.governor, settings.ports)
    command = next(governor)
    set_before: Command | None = None
    passed_s = 0.0
    while settings.for_s is None or passed_s < settings.for_s:
        if set_before is None or command.limit != set_before.limit:
            system.limit(dict.fromkeys(settings.ports, command.limit))
        if set_before is None or (command.phase, command.why) != (set_before.phase, set_before.why):
            say(f"{passed_s:,.0f} s: {command.phase}: {limit_text(command.limit)}: {command.why}")
        set_before = command
        observation = system.observe(settings.interval_s)
        passed_s += observation.seconds
        kept = KeptInterval(command.phase.value, command.why, command.limit, True, observation, system.truth())
        log.add(kept)
        command = governor.send(observation)

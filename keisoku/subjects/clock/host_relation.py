"""How this host's CLOCK_MONOTONIC is related to a PTP master that another host hears, too: so the two are related.

The kernel's clocks are read, never set; the bounds are those of the exchanges, which assume nothing about how a path's
two directions differ.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict

from keisoku.subjects.clock.host_clocks import host_clocks
from keisoku.subjects.clock.reading import Reading as Ticks
from keisoku.subjects.clock.reference.kinds import Reference, parse
from keisoku.subjects.clock.reference.local import bracket
from keisoku.subjects.clock.reference.opening import open_reference
from keisoku.subjects.clock.relation import Reading, Relation, relate

EXCHANGES = 16
_PAUSE_S = 1 / 32


def related(name: str) -> Relation:
    """By the master of this name, as `by_reference` has it. Raises EngineError if it does not answer."""
    with closing(open_reference(parse(name), host_clocks(), _PAUSE_S)) as master:
        return by_reference(master)


def by_reference(master: Reference, rest: Callable[[float], None] = time.sleep) -> Relation:
    """The reference is the master's time, the other clock CLOCK_MONOTONIC here: by how much that is ahead of it.

    `rest` waits for so many seconds.
    """
    first = bracket(time.CLOCK_MONOTONIC)
    readings: list[Ticks] = []
    while len(readings) < EXCHANGES:
        readings += master.read()
        rest(master.pause_s)
    last = bracket(time.CLOCK_MONOTONIC)
    ticks = (last.before + last.after - first.before - first.after) / 2
    ns_per_tick = (last.reference_ns - first.reference_ns) / ticks
    middle = (first.before + first.after) // 2
    found = []
    for reading in readings:
        half_ns = round((reading.width / 2 + max(first.width, last.width) / 2) * ns_per_tick) + 1
        shown = first.reference_ns + round(((reading.before + reading.after) // 2 - middle) * ns_per_tick)
        found.append(Reading(reading.reference_ns - half_ns, shown, reading.reference_ns + half_ns))
    return relate(found)


def plain(relation: Relation) -> dict[str, object]:
    """For JSON; `Relation(**plain(…))` is an equal one."""
    return asdict(relation)

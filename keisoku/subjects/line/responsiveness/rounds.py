"""All conditions of a measurement one after the other, and what each leaves in the run's directory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any, Protocol

from keisoku.errors import EngineError
from keisoku.ground.entry import Work
from keisoku.ground.run.directory import RunDirectory
from keisoku.language import phrase, plural
from keisoku.subjects.line.responsiveness.condition import DIRECTIONS, WAYS, Condition, Way, load_streams, takes_s
from keisoku.subjects.line.responsiveness.hop_probing import Hops
from keisoku.subjects.line.responsiveness.probing import (
    DELAYS,
    FLOWS,
    HOPS,
    PHASES,
    TRANSACTIONS,
    Phase,
    begin,
    carry_out,
)
from keisoku.subjects.line.responsiveness.settings import ResponsivenessSettings
from keisoku.subjects.path.one_packet.probing.sockets import HopSockets
from keisoku.subjects.stream.session import StreamSession

REPLIERS, MTU = "hops", "path_mtu_bytes"
"""Of the facts: the address of each hop that answers, by TTL; and the longest packet that passes, 0 if not known."""


class SideMeasurement(Protocol):
    """What else is measured, while conditions are; a context manager's, which keeps the last rows at its end."""

    def settle(self) -> None:
        """Returns when it disturbs no condition any more."""
        ...

    def keep(self, directory: RunDirectory) -> None:
        """Appends its rows since the last call."""
        ...


def carry_out_all(
    work: Work[Any],
    settings: ResponsivenessSettings,
    plan: Sequence[Condition],
    besides: Sequence[Callable[[StreamSession], AbstractContextManager[SideMeasurement]]] = (),
) -> None:
    """The conditions of `plan` in order, but none that would not end in time: streams and probes are not stopped, so
    that what is interrupted takes longer. Raises EngineError if load or probes cannot be sent."""
    with StreamSession(settings.place, settings.port) as session, ExitStack() as stack:
        far = begin(session)
        others = [stack.enter_context(make(session)) for make in besides]
        hops = _hops(settings, stack, work)
        for one in others:
            one.settle()
        rates: dict[Way, float] = {}
        directory: RunDirectory | None = None
        longer_s = 0.0
        for number, condition in enumerate(plan):
            if directory is not None and work.left_s() < takes_s(settings, condition) + longer_s:
                left_out = plural(
                    "there is no time for {count} more condition",
                    "there is no time for {count} more conditions",
                    count=len(plan) - number,
                )
                work.observer.warn(left_out)
                break
            if condition != "idle" and load_streams(settings, condition, rates) is None:
                continue  # Nothing came through that it could be a multiple of.
            begun_s = work.elapsed_s()
            phase = carry_out(session, far, hops, settings, condition, number, rates)
            if directory is None:
                directory = work.begin({})
                directory.know(far=session.server, **_facts(hops))
            _keep(directory, phase)
            for one in others:
                one.keep(directory)
            longer_s = max(longer_s, work.elapsed_s() - begun_s - takes_s(settings, condition))
            done = phrase("{number} of {count} conditions", number=number + 1, count=len(plan))
            work.observer.came_to(number + 1, len(plan), done)
            rates |= {way: _payload_bps(phase, way) for way in WAYS if condition == way}
        session.control.ask({"do": "probes-end"})


def _hops(settings: ResponsivenessSettings, stack: ExitStack, work: Work[Any]) -> Hops | None:
    """None where no hop answers, or where this process may not listen for it."""
    if not settings.max_hops:
        return None
    work.observer.tell(phrase("looking for the hops"))
    try:
        wire = stack.enter_context(HopSockets(settings.place, settings.hop_port))
        return Hops.find(wire, settings.max_hops)
    except EngineError as error:
        work.observer.warn(phrase("the hops of the path are not probed: {error}", error=str(error)))
        return None


def _facts(hops: Hops | None) -> dict[str, object]:
    if hops is None:
        return {REPLIERS: {}, MTU: 0}
    return {REPLIERS: {str(ttl): one for ttl, one in hops.repliers.items()}, MTU: hops.mtu_bytes}


def _payload_bps(phase: Phase, way: Way) -> float:
    rows = [row for row in phase.flows.to_pylist() if row["direction"] == DIRECTIONS[way] and row["settled_ns"]]
    return sum(8e9 * float(row["settled_bytes"]) / float(row["settled_ns"]) for row in rows)


def _keep(directory: RunDirectory, phase: Phase) -> None:
    """The row of the phase comes last: it makes the others count."""
    for table, rows in ((DELAYS, phase.delays), (FLOWS, phase.flows), (TRANSACTIONS, phase.transactions)):
        directory.append(table, rows)
    directory.append(HOPS, phase.hops)
    directory.append(PHASES, phase.row)

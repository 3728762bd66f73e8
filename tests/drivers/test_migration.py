"""A machine that moves between two QEMU processes while it answers: how long it was gone, as three see it."""

from __future__ import annotations

import itertools
import json
import time

import pytest

from drivers.guest import NoGuestError
from drivers.migrating_machine import THERE, MigratingMachine, Said
from keisoku.subjects.device.analysis.outage import Between
from keisoku.subjects.stream.outage.analysis import Outcome, outcome_of
from keisoku.subjects.stream.outage.measure import last_record
from keisoku.subjects.stream.outage.session import OutageSession
from keisoku.subjects.stream.outage.settings import OutageSettings

pytestmark = [pytest.mark.long_form, pytest.mark.timeout(900)]
PATIENCE_S = 120.0
CLOCK_NS = 10_000_000
"""/proc/uptime has two digits behind the point."""
SLACK_NS = 10_000_000
"""By which a packet is usually later than the least delay, on a busy host."""


def test_a_machine_that_moves_is_gone_for_as_long_as_its_clock_and_a_capture_say() -> None:
    """What comes from the machine pauses while its clock stands still, and where its host is busy also while the clock
    goes on: how much of that was the path's, nobody knows from afar, so that it lies inside of the interval."""
    try:
        machine = MigratingMachine()
    except NoGuestError as error:
        pytest.skip(str(error))
    with machine:
        settings = OutageSettings(host=f"{THERE}@{machine.namespace.name}", interval_s=0.01, silence_s=0.02)
        session = OutageSession(settings)
        until(machine, session, 300)
        machine.move()
        until(machine, session, 300)
        found = outcome(session)
    last, first = machine.seen["a"][-1], machine.seen["b"][0]
    stood = stood_still(machine.said, last)
    before, behind = last - found.begun_ns, first - found.begun_ns
    captured = first - last
    said = f"capture {captured / 1e6:.1f} ms, the machine's clock {stood[0] / 1e6:.1f} to {stood[1] / 1e6:.1f} ms"
    for direction, (flow,) in found.directions.items():
        # Another stop of a busy host may have been longer. It was the far host's, if that knows of it.
        own = [one.length for one in flow.interruptions if one.begin.lowest <= behind and one.end.highest >= before]
        length = max(own, key=lambda one: one.highest, default=Between(0.0, 0.0, found.interval_ns))
        said += f", {direction} {length.lowest / 1e6:.1f} to {length.highest / 1e6:.1f} ms"
        assert length.highest >= stood[0], said
        if direction == "reverse":
            assert stood[0] - SLACK_NS <= length.lowest <= captured + SLACK_NS, said
            assert abs(length.highest - captured) <= SLACK_NS, said
    print(f"\n{said}")


def until(machine: MigratingMachine, session: OutageSession, more: int) -> None:
    """Until so many more packets have come, and the machine has told its time often enough."""
    wanted, words = received(session) + more, len(machine.said) + 40
    until_s = time.monotonic() + PATIENCE_S
    while received(session) < wanted or len(machine.said) < words:
        assert time.monotonic() < until_s, "nothing comes"
        time.sleep(0.02)


def received(session: OutageSession) -> int:
    return int(json.loads(session.near.glance())["received"])


def outcome(session: OutageSession) -> Outcome:
    try:
        return outcome_of(json.loads(last_record(session, [])))
    finally:
        session.close()


def stood_still(said: list[Said], moved_ns: int) -> tuple[float, float]:
    """For how long the machine's clock stood still when it moved: by how much more it is behind. What is said is heard
    late, never early, so that the least of many says most."""
    behind = [(one.heard_ns - one.at_ns) for one in said]
    before = min(itertools.compress(behind, (one.heard_ns <= moved_ns for one in said)))
    after = min(itertools.compress(behind, (one.heard_ns > moved_ns for one in said)))
    return after - before - CLOCK_NS, after - before + CLOCK_NS

"""Two hosts that hear one master know how their clocks are related: both are this machine, or made to differ."""

from __future__ import annotations

import time

import pytest

from keisoku import _core
from keisoku.errors import PlanError
from keisoku.subjects.clock.host_clocks import host_clocks
from keisoku.subjects.clock.host_relation import by_reference
from keisoku.subjects.clock.reading import Reading
from keisoku.subjects.clock.reference.kinds import Reference, check_master
from keisoku.subjects.clock.reference.local import bracket
from keisoku.subjects.clock.relation import between

pytestmark = pytest.mark.skipif(
    _core.clock_counter(host_clocks().clock_source) is None,
    reason="this processor has no counter that promises one rate",
)


def master(ahead_ns: int, wide_ns: int = 50_000) -> Reference:
    """The time of day and so much, read as if an exchange took some time."""
    ticks = wide_ns * 3

    def read() -> list[Reading]:
        found = bracket(time.CLOCK_REALTIME)
        return [Reading(found.before - ticks, found.reference_ns + ahead_ns, found.after + ticks)]

    return Reference("made", "made", read, pause_s=0.0, is_real=False)


@pytest.mark.parametrize("ahead_ns", [0, 7_000_000_000_000_000_123])
def test_the_offset_of_two_clocks_is_found_within_its_uncertainty(ahead_ns: int) -> None:
    here, there = by_reference(master(ahead_ns)), by_reference(master(ahead_ns))
    found = between(here, there)
    assert 0 < found.uncertainty_ns() < 1e6 and abs(found.offset_ns) <= 2 * found.uncertainty_ns()
    shown = bracket(time.CLOCK_REALTIME)
    expected = time.monotonic_ns() - (shown.reference_ns + ahead_ns)
    assert abs(here.offset_at(shown.reference_ns + ahead_ns) - expected) < 1e6 + 2 * here.uncertainty_ns()
    other = between(here, by_reference(master(ahead_ns - 5_000_000)))
    assert abs(other.offset_ns - 5_000_000) <= 2 * other.uncertainty_ns()


def test_only_a_ptp_master_relates_hosts() -> None:
    check_master("clock", "ptp:192.0.2.9")
    with pytest.raises(PlanError, match="is no PTP master"):
        check_master("clock", "ntp:192.0.2.9")

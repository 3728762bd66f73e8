"""Each self-guard says why, and none speaks in an ordinary trial."""

from __future__ import annotations

from typing import Any

import pytest
from support.port_counters import change

from keisoku.subjects.device.record.counts import Buckets
from keisoku.subjects.device.record.interference import Core, Interference, Lateness, PortCounters, Thread, Throttling
from keisoku.subjects.device.record.validity import disturbed, port_drops, unsettled

S = 1_000_000_000
TICK_NS = 10_000_000


def core(**values: Any) -> Core:
    return Core(**{"cpu": 1, "steal_ns": 0, "heat_events": None, "frequency_khz": None, "lateness": None, **values})


def lateness(max_ns: int) -> Lateness:
    return Lateness(points=50, max_ns=max_ns, over_1_ms=1, histogram=Buckets())


def sender(waited_ns: int | None, role: str = "sender t1") -> Thread:
    return Thread(role=role, ran_ns=S, run_delay_ns=waited_ns, involuntary_switches=9)


def interference(**values: Any) -> Interference:
    return Interference(
        **{
            "span_ns": S,
            "steal_resolution_ns": TICK_NS,
            "cores": [],
            "threads": [],
            "throttling": None,
            "clock_sources": ("tsc", "tsc"),
            **values,
        }
    )


@pytest.mark.parametrize(
    "ordinary",
    [
        {},
        {"cores": [core(steal_ns=None)]},
        # A step of the counter may be the end of a steal that was before the trial.
        {"cores": [core(steal_ns=TICK_NS)]},
        {"span_ns": 60 * S, "cores": [core(steal_ns=300_000_000, heat_events=0)]},
        {"cores": [core(lateness=lateness(31_000_000))]},
        {"threads": [sender(12_000_000), sender(None), sender(S, role="accounting")]},
        {"throttling": Throttling(periods=0, stopped_ns=0)},
    ],
)
def test_an_ordinary_host_disturbs_no_trial(ordinary: dict[str, Any]) -> None:
    assert disturbed(interference(**ordinary)) == []


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (
            {"cores": [core(steal_ns=2 * TICK_NS, of_device=True, lateness=lateness(0))]},
            "the hypervisor took CPU 1 for at least 1.0 % of the time",
        ),
        (
            {"cores": [core(steal_ns=22 * TICK_NS, lateness=lateness(0))]},
            "the hypervisor took CPU 1 for at least 21.0 % of the time",
        ),
        ({"cores": [core(heat_events=3)]}, "CPU 1 was throttled because of heat 3 times"),
        ({"cores": [core(lateness=lateness(120_000_000))]}, "CPU 1 stood still for 120 ms"),
        (
            {"throttling": Throttling(periods=2, stopped_ns=180_000_000)},
            "a CPU quota stopped the tester 2 times, for 180 ms in all",
        ),
        ({"clock_sources": ("tsc", "hpet")}, "the kernel changed its clock source from tsc to hpet"),
    ],
)
def test_a_host_that_disturbed_the_tester_is_named(bad: dict[str, Any], reason: str) -> None:
    assert disturbed(interference(**bad)) == [reason]


@pytest.mark.parametrize(
    ("last_received_ns", "drain_ns"), [(None, 2 * S), (10 * S, 2 * S), (11 * S + 799_999_999, 2 * S), (13 * S, 0)]
)
def test_a_device_that_is_done_before_the_drain_ends_has_settled(last_received_ns: int | None, drain_ns: int) -> None:
    assert unsettled("t2", 10 * S, last_received_ns, drain_ns) == []


def test_frames_at_the_end_of_the_drain_mean_that_more_may_come() -> None:
    reason = "frames still arrived at t2 1.95 s after the last was sent, at the end of the wait of 2 s: wait longer"
    assert unsettled("t2", 10 * S, 11 * S + 950_000_000, 2 * S) == [reason]


@pytest.mark.parametrize(
    ("counted", "foreign_frames"),
    [
        (change(rx_packets=9, tx_packets=9, rx_errors=3), 0),
        (change(rx_dropped=12), 10),
        (change(tx_dropped=86_262, engine="packet"), 0),
        (change(tx_dropped=5, driver="veth"), 0),
        (change(peer_tx_dropped=0), 0),
    ],
)
def test_counters_that_tell_of_no_fault_of_the_tester(counted: PortCounters, foreign_frames: int) -> None:
    assert port_drops(counted, foreign_frames) == []


@pytest.mark.parametrize(
    ("counted", "reason"),
    [
        (change(rx_missed_errors=7), "the receive queue of t2 was full: rx_missed_errors 7"),
        (
            change(rx_fifo_errors=7, rx_over_errors=1),
            "the receive queue of t2 was full: rx_fifo_errors 7, rx_over_errors 1",
        ),
        (change(rx_dropped=13), "t2 itself dropped 3 received frames (rx_dropped)"),
        (change(peer_tx_dropped=4), "the receive queue of t2 had no room for 4 frames of the device"),
        (change(tx_dropped=5), "t2 itself dropped 5 frames to be sent (tx_dropped)"),
        (change(tx_errors=1), "t2 failed to send 1 frame (tx_errors)"),
    ],
)
def test_a_port_that_lost_frames_is_named(counted: PortCounters, reason: str) -> None:
    assert port_drops(counted, 10) == [reason]


@pytest.mark.parametrize(
    ("dropped", "taken", "foreign"),
    [(93, 93, 0), (95, 93, 0), (105, 93, 12), (91, 93, 0), (0, 93, 0), (2, 93, 0), (12, 93, 12)],
)
def test_frames_that_the_testers_program_took_are_no_drops_whether_the_driver_counts_them_or_not(
    dropped: int, taken: int, foreign: int
) -> None:
    assert port_drops(change(rx_dropped=dropped, taken_frames=taken), foreign) == []


@pytest.mark.parametrize(
    ("dropped", "taken", "reason"),
    [
        # Fewer than the program took: this driver does not count those, so all are its own.
        (50, 93, "t2 itself dropped 50 received frames (rx_dropped)"),
        (1000, 0, "t2 itself dropped 1000 received frames (rx_dropped)"),
        # More: they may be among them or not.
        (
            1000,
            93,
            "t2 itself dropped at least 907 received frames (rx_dropped, of which keisoku's own program may have taken "
            "93)",
        ),
    ],
)
def test_drops_beside_those_of_the_testers_program_are_found(dropped: int, taken: int, reason: str) -> None:
    assert port_drops(change(rx_dropped=dropped, taken_frames=taken), 0) == [reason]


def test_a_change_is_the_difference_of_counts_only() -> None:
    before = change(rx_packets=5, peer_tx_dropped=1)
    after = change(rx_packets=9, peer_tx_dropped=3, tx_packets=2)
    assert after.since(before) == change(rx_packets=4, peer_tx_dropped=2, tx_packets=2)
    assert change(rx_packets=9).since(before) == change(rx_packets=4)

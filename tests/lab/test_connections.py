"""Procedures of stateful devices (RFC 9693) on the kernel's own connection tracking, which is counted independently."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.conntrack_events import DESTROY, NEW, announced
from support.lab_passages import needs
from support.lab_trials import measured
from support.trials import of_no_use

from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.lab.device.nat64 import TAYGA
from keisoku.ground.lab.device.nftables import NFT
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

pytestmark = [pytest.mark.lab, needs(NFT)]

_PATIENT = {"learning_wait_s": 0.02, "drain_s": 0.2, "rest_s": 0}
"""For tayga, which passes on what it holds for a while."""


def entries(lab: Lab) -> int:
    """What the device itself says of its table."""
    read = Path("/proc/sys/net/netfilter/nf_conntrack_count").read_text
    return lab._places[0].run(lambda: int(read()))


def tcp_states(lab: Lab) -> Counter[str]:
    """How many connections of TCP are in which state in the device's table."""
    lines = lab._places[0].run(Path("/proc/thread-self/net/nf_conntrack").read_text).splitlines()
    return Counter(line.split()[5] for line in lines if line.split()[2] == "tcp")


def assert_capacity(
    lab: Lab, table: int, size: int, transport: str, most: int = 4096, **settings: Any
) -> list[TrialRecord]:
    """The capacity that is measured is the size of the table, and the device itself has all but the refused ones."""
    own: dict[str, Any] = {"connections": 2048, "open_fps": 10_000, "most_connections": most, "transport": transport}
    result, records = measured(lab, "connection_capacity", size, **own, **settings)
    bounds = result.rows[0].figures["connections"].bounds
    assert bounds is not None
    assert bounds[0] <= table <= bounds[1] and table - bounds[0] <= max(1, table / 1000)
    assert entries(lab) == arrived(records[-1])
    return records


def arrived(record: TrialRecord) -> int:
    """Connections that were not refused."""
    opening, opened = record.trial.opening, record.facts.opened
    assert opening is not None and opened is not None
    return opening.connections - opened.refused.count


@pytest.mark.parametrize(("family", "seed"), [("nat", 71), pytest.param("firewall", 72, marks=pytest.mark.long)])
def test_the_capacity_is_that_of_the_kernels_table(family: str, seed: int) -> None:
    table = random.Random(seed).randint(800, 4000)
    with Lab(f"{family}?table={table}") as lab:
        assert_capacity(lab, table, 64, "udp", most=8192)


@pytest.mark.parametrize("engine", ["xdp", "packet"])
def test_the_capacity_for_connections_of_tcp_is_that_of_the_kernels_table(engine: str) -> None:
    table = random.Random(73).randint(800, 2000)
    with Lab(f"nat?table={table}") as lab:
        records = assert_capacity(lab, table, 76, "tcp", engine=engine)
        # The device itself saw a SYN and its answer of each.
        assert tcp_states(lab) == {"SYN_RECV": arrived(records[-1])}


def test_every_connection_that_is_opened_is_announced_by_the_kernel() -> None:
    with Lab("nat?table=20000") as lab, announced(lab, NEW) as new:
        of_use: list[bool] = []

        def compared(trial: Trial, facts: Facts) -> bool:
            """The kernel also announces connections of which the tester itself lost the frame behind the device."""
            assert facts.opening is not None and facts.opened is not None
            count, offered = len(new.take()), facts.opening.sent.offered_frames
            spoiled = of_no_use(trial, facts)
            assert offered - facts.opened.refused.count <= count <= offered
            assert spoiled or count == offered - facts.opened.refused.count
            of_use.append(not spoiled)
            return spoiled

        own: dict[str, Any] = {"connections": 3000, "maximum_fps": 5000, "resolution_percent": 50}
        result, _ = measured(lab, "connection_rate", again=compared, **own)
        assert any(of_use)
        assert result.rows[0].figures["rate"].bound == "at least"


@pytest.mark.parametrize("engine", ["xdp", pytest.param("packet", marks=pytest.mark.long)])
def test_a_nat_with_a_pool_of_ports_has_no_more_connections_to_one_place(engine: str) -> None:
    with Lab("nat?table=20000&ports=200") as lab:
        result, records = measured(
            lab,
            "connection_capacity",
            engine=engine,
            connections=256,
            most_connections=512,
            open_fps=2000,
            destination_ports="7",
        )
        assert result.rows[0].figures["connections"].value == 200
        opened = next(record.facts.opened for record in records if record.facts.opened is not None)
        assert opened.pool is not None
        assert opened.pool.source_ports == 200 and (opened.pool.least_port, opened.pool.most_port) == (1024, 1223)
        assert any("dropped" in str(row.remark) for row in result.rows)


@pytest.mark.parametrize(("transport", "size"), [("udp", 84), ("tcp", 96)])
@needs(TAYGA)
def test_the_capacity_of_a_nat64_is_that_of_the_kernels_table(transport: str, size: int) -> None:
    table = random.Random(size).randint(800, 2000)
    with Lab(f"nat64?table={table}") as lab:
        records = assert_capacity(lab, table, size, transport, waits=_PATIENT)
    # The first trial, too: what tayga still held of the warm-up was a connection more after the device had forgotten.
    for opening, opened in ((record.trial.opening, record.facts.opened) for record in records if record.valid):
        assert opening is not None and opened is not None
        assert opened.refused.count == max(0, opening.connections - table)


@pytest.mark.parametrize(
    ("method", "settings", "name"),
    [
        ("connection_rate", {"connections": 1000, "maximum_fps": 2000, "resolution_percent": 50}, "rate"),
        # No more connections than tayga's queue holds, as it shares its CPU.
        (
            "connection_throughput",
            {"connections": 1000, "trial_s": 0.2, "maximum_fps": 2000, "resolution_percent": 50},
            "throughput",
        ),
        ("connection_teardown", {"connections": 1000, "open_fps": 5000, "repetitions": 2}, "time"),
    ],
)
@needs(TAYGA)
def test_other_procedures_run_through_a_nat64(method: str, settings: dict[str, Any], name: str) -> None:
    with Lab("nat64?table=20000") as lab:
        result, records = measured(lab, method, 84, waits=_PATIENT, **settings)
        assert name in result.rows[0].figures
        for opened in (record.facts.opened for record in records if record.valid):
            assert opened is not None and opened.pool is not None
            assert (opened.pool.addresses, opened.refused.count) == (1, 0)


@pytest.mark.parametrize(
    ("family", "size"), [("nat", 76), pytest.param("nat64", 96, marks=[needs(TAYGA), pytest.mark.long])]
)
def test_a_load_of_tcp_uses_connections_that_the_kernel_saw_established(family: str, size: int) -> None:
    with Lab(f"{family}?table=20000") as lab:
        own = dict[str, Any](connections=1000, trial_s=0.3, maximum_fps=4000, open_fps=5000, resolution_percent=50)
        result, records = measured(lab, "connection_throughput", size, transport="tcp", **own)
        assert result.rows[0].figures["throughput"].bound == "at least"
        assert tcp_states(lab) == {"ESTABLISHED": 1000}
        assert all(len(record.facts.handshake) == 2 for record in records)


@pytest.mark.parametrize("engine", ["xdp", pytest.param("packet", marks=pytest.mark.long)])
@pytest.mark.parametrize(("family", "transport", "size"), [("nat", "udp", 64), ("firewall", "tcp", 76)])
def test_connections_that_the_device_resets_are_told_apart_from_dropped_ones(
    family: str, transport: str, size: int, engine: str
) -> None:
    own: dict[str, Any] = {"connections": 1200, "open_fps": 5000, "most_connections": 1200, "transport": transport}
    for beyond, reset in (("drop", 0), ("reset", 200)):
        with Lab(f"{family}?table=1000&beyond={beyond}") as lab:
            result, records = measured(lab, "connection_capacity", size, engine=engine, **own)
        opened = next(record.facts.opened for record in records if record.valid)
        assert opened is not None
        assert (opened.refused.count, opened.reset.count) == (200, reset)
        named = [str(row.remark) for row in result.rows if str(row.case).startswith("failed")]
        assert named and all(said.endswith("reset by the device" if reset else "dropped") for said in named)


@pytest.mark.parametrize("family", ["nat", pytest.param("firewall", marks=pytest.mark.long)])
def test_every_connection_that_is_torn_down_is_announced_by_the_kernel(family: str) -> None:
    with Lab(f"{family}?table=20000") as lab, announced(lab, DESTROY) as gone:
        made: list[tuple[int, int]] = [(0, 0)]

        def compared(trial: Trial, facts: Facts) -> bool:
            """What a trial opened is gone as the next one begins, whether it was of use or not."""
            least, most = made[-1]
            assert least <= len(gone.take()) <= most
            assert facts.opening is not None and facts.opened is not None
            offered, spoiled = facts.opening.sent.offered_frames, of_no_use(trial, facts)
            arrived = offered - facts.opened.refused.count
            made.append((arrived, offered if spoiled else arrived))
            return spoiled

        own: dict[str, Any] = {"connections": 1500, "open_fps": 10_000, "repetitions": 2}
        result, _ = measured(lab, "connection_teardown", again=compared, **own)
        assert "time" in result.rows[0].figures

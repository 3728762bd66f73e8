"""Procedures of stateful devices (RFC 9693) on the kernel's own connection tracking, which is counted independently."""

from __future__ import annotations

import random
import socket
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.lab_passages import needs
from support.lab_trials import on_lab
from support.trials import Spoiled, drive, of_no_use

from keisoku.device.calibration.bias import Bias
from keisoku.device.method.method import begin
from keisoku.device.plan.plan import parse
from keisoku.device.record.trial import Facts, Trial, TrialRecord
from keisoku.lab.device.lab import Lab
from keisoku.lab.device.nftables import NFT
from keisoku.run.result import Result

pytestmark = [pytest.mark.lab, needs(NFT)]

WAITS = {"learning_wait_s": 0.02, "drain_s": 0.1, "rest_s": 0}
_NETLINK_NETFILTER, _SOL_NETLINK, _ADD_MEMBERSHIP, _NEW, _SO_RCVBUFFORCE = 12, 270, 1, 1, 33
_HEADER = struct.Struct("=IHHII")
_TO_PORT_1 = bytes.fromhex("060003000001")
"""CTA_PROTO_DST_PORT: the first destination port of connections; learning frames go to another one."""


def measured(
    lab: Lab, method: str, engine: str | None = None, again: Spoiled = of_no_use, size: int = 64, **settings: Any
) -> tuple[Result, list[TrialRecord]]:
    """Trials in which the tester was disturbed are done again, and are no part of the records."""
    source: dict[str, Any] = {"methods": [method], "dut": f"lab:{lab.device.name}", "frame_bytes": [size]}
    plan = parse(source | {"phases": WAITS, method: settings} | ({"engine": engine} if engine else {}))
    tester = on_lab(plan, lab)
    try:
        own = begin(method, plan, tester.capabilities, Bias(), {})
        result, records = drive(method, own, tester, again, seed=lambda index: index, streams=4096)
    finally:
        tester.close()
    assert result is not None
    return result, records


def entries(lab: Lab) -> int:
    """What the device itself says of its table."""
    read = Path("/proc/sys/net/netfilter/nf_conntrack_count").read_text
    return lab._places[0].run(lambda: int(read()))


def tcp_states(lab: Lab) -> Counter[str]:
    """How many connections of TCP are in which state in the device's table."""
    lines = lab._places[0].run(Path("/proc/thread-self/net/nf_conntrack").read_text).splitlines()
    return Counter(line.split()[5] for line in lines if line.split()[2] == "tcp")


class Announced:
    """Counts the new connections that the kernel of the device announces."""

    def __init__(self, lab: Lab) -> None:
        self._socket = lab._places[0].run(self._open)

    @staticmethod
    def _open() -> socket.socket:
        own = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_NETFILTER)
        own.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 1 << 27)
        own.bind((0, 0))
        own.setsockopt(_SOL_NETLINK, _ADD_MEMBERSHIP, _NEW)
        own.setblocking(False)
        return own

    def count(self) -> int:
        """Since the last call; an overflow of the socket is an error."""
        found = 0
        while True:
            try:
                part = self._socket.recv(1 << 20)
            except BlockingIOError:
                return found
            place = 0
            while place < len(part):
                length = _HEADER.unpack_from(part, place)[0]
                found += _TO_PORT_1 in part[place : place + length]
                place += (length + 3) & ~3

    def close(self) -> None:
        self._socket.close()


@pytest.mark.parametrize(("family", "seed"), [("nat", 71), pytest.param("firewall", 72, marks=pytest.mark.long)])
def test_the_capacity_is_that_of_the_kernels_table(family: str, seed: int) -> None:
    table = random.Random(seed).randint(800, 4000)
    with Lab(f"{family}?table={table}") as lab:
        result, records = measured(lab, "connection_capacity", connections=2048, open_fps=10_000, most_connections=8192)
        bounds = result.rows[0].figures["connections"].bounds
        assert bounds is not None
        assert bounds[0] <= table <= bounds[1] and table - bounds[0] <= max(1, table / 1000)
        last = records[-1].facts.opened
        assert last is not None and records[-1].trial.opening is not None
        assert entries(lab) == records[-1].trial.opening.connections - last.refused.count


@pytest.mark.parametrize("engine", ["xdp", pytest.param("packet", marks=pytest.mark.long)])
def test_the_capacity_for_connections_of_tcp_is_that_of_the_kernels_table(engine: str) -> None:
    table = random.Random(73).randint(800, 2000)
    with Lab(f"nat?table={table}") as lab:
        own = {"connections": 2048, "open_fps": 10_000, "most_connections": 4096, "transport": "tcp"}
        result, records = measured(lab, "connection_capacity", engine, size=76, **own)
        bounds = result.rows[0].figures["connections"].bounds
        assert bounds is not None
        assert bounds[0] <= table <= bounds[1] and table - bounds[0] <= max(1, table / 1000)
        last = records[-1].facts.opened
        assert last is not None and records[-1].trial.opening is not None
        # The device itself saw a SYN and its answer of each.
        assert tcp_states(lab) == {"SYN_RECV": records[-1].trial.opening.connections - last.refused.count}


def test_every_connection_that_is_opened_is_announced_by_the_kernel() -> None:
    with Lab("nat?table=20000") as lab:
        announced = Announced(lab)
        of_use: list[bool] = []

        def compared(trial: Trial, facts: Facts) -> bool:
            """The kernel also announces connections of which the tester itself lost the frame behind the device."""
            assert facts.opening is not None and facts.opened is not None
            count, offered = announced.count(), facts.opening.sent.offered_frames
            spoiled = of_no_use(trial, facts)
            assert offered - facts.opened.refused.count <= count <= offered
            assert spoiled or count == offered - facts.opened.refused.count
            of_use.append(not spoiled)
            return spoiled

        try:
            result, _ = measured(
                lab, "connection_rate", again=compared, connections=3000, maximum_fps=5000, resolution_percent=50
            )
        finally:
            announced.close()
        assert any(of_use)
        assert result.rows[0].figures["rate"].bound == "at least"


@pytest.mark.parametrize("engine", ["xdp", pytest.param("packet", marks=pytest.mark.long)])
def test_a_nat_with_a_pool_of_ports_has_no_more_connections_to_one_place(engine: str) -> None:
    with Lab("nat?table=20000&ports=200") as lab:
        result, records = measured(
            lab,
            "connection_capacity",
            engine,
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

"""Limits are read back from the kernel: what an interval shows is what was set, not what was asked for."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path

import pytest
from support.command_line import journal_of

from keisoku.ground.host import discipline
from keisoku.ground.host.interface import index_of
from keisoku.ground.host.namespace import Namespace
from keisoku.ground.host.program import Program
from keisoku.ground.lab.system.lab import SystemLab
from keisoku.ground.lab.system.shape import SystemShape
from keisoku.subjects.system.network.lab_system import _governed
from keisoku.subjects.system.network.network_system import NetworkSystem

pytestmark = [pytest.mark.lab, pytest.mark.alone]


def test_what_is_set_is_read_back_and_set_again_with_another_guard() -> None:
    with SystemLab(SystemShape((None, 20_000_000), uplink_bps=100_000_000)) as lab:
        switch = Namespace(lab.ports[0].limit_namespace.name)
        with NetworkSystem([_governed(port, 1e8) for port in lab.ports]) as system:

            def seen() -> list[tuple[float | None, bool]]:
                return [(one.limit_bps, one.limit_steady) for one in system.observe(0.15).clients]

            assert seen() == [(None, True)] * 2
            system.limit({"client1": 5e6, "client2": 7_000_001.0})
            # The kernel keeps whole bytes per second.
            assert seen() == [(5e6, True), (7e6, True)]
            # Without its filter, a class limits nothing.
            switch.run(partial(_tc, "filter", "del", "dev", "up", "parent", "6b73:", "prio", "1"))
            assert [limit for limit, _ in seen()] == [None, 7e6]
            # As the guard does.
            _end_guard()
            switch.run(partial(_lift, "up"))
            assert seen() == [(None, True)] * 2
            system.limit({"client1": 5e6})
            assert seen() == [(5e6, True), (None, True)]
            assert len(journal_of(os.getpid(), "limit")) == 1, "another guard watches over it"
    assert not journal_of(os.getpid(), "limit")


def test_limits_above_34_gigabit_are_read_back_whole() -> None:
    with SystemLab(SystemShape((None,))) as lab, NetworkSystem([_governed(lab.ports[0], 1e11)]) as system:
        system.limit({"client1": 40e9})
        assert system.observe(0.1).clients[0].limited_to(40e9)


def _end_guard() -> None:
    """That of this process, as its own patience would."""
    for child in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split():
        if b"keisoku.subjects.system.shaping.guard" in Path(f"/proc/{child}/cmdline").read_bytes():
            os.kill(int(child), signal.SIGKILL)
            os.waitid(os.P_PID, int(child), os.WEXITED | os.WNOWAIT)


def _lift(interface: str) -> None:
    discipline.lift(index_of(interface))


def _tc(*arguments: str) -> None:
    Program("tc", "iproute2").run(*arguments)

"""The look at NATs of the kernel whose rules and timeouts are known, all at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from support.kernel_nat import KINDS, NEVER, OTHER, OUTER, Kind, prepare

from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.ground.lab.path.name import find_path
from keisoku.subjects.path.nat.behaviour import Behaviour, behaviour
from keisoku.subjects.path.nat.observation import Observation
from keisoku.subjects.path.nat.sockets import NatProbing
from keisoku.subjects.stream.session import StreamSession

pytestmark = pytest.mark.lab

LONGEST_S = 7.0


def looked_at(kind: Kind) -> Behaviour:
    rows: list[Observation] = []
    with find_path("path?hops=100M,100M") as lab:
        prepare(kind, lab)
        with (
            FarEnd("stream", Place(lab.target_address, lab.target_namespace), "--other-address", OTHER) as server,
            StreamSession(Place(lab.target_address, lab.tester_namespace), server.port) as session,
        ):
            told, _ = session.control.ask({"do": "nat"})
            with ExitStack() as stack:
                probing = NatProbing(session.place, session.local, session.remote, told, LONGEST_S)
                stack.callback(probing.stop)
                probing.settle()
                probing.wait()
                rows = probing.drain()
            session.control.ask({"do": "nat-end"})
    return behaviour(rows)


def test_each_kind_of_the_kernels_nat_is_told_and_its_timeouts_are_between_the_ends() -> None:
    with ThreadPoolExecutor(len(KINDS)) as threads:
        found = dict(zip(KINDS, threads.map(looked_at, KINDS.values()), strict=True))
    for name, kind in KINDS.items():
        said = found[name]
        assert {key: getattr(said, key) for key in kind.expected} == kind.expected, (name, said)
        if kind.expected["translation"] == "address":
            assert said.addresses == (OUTER,)
        for timeout, truth_s in ((said.unanswered, kind.unanswered_s), (said.answered, kind.answered_s)):
            assert timeout is not None, (name, said)
            lower, upper = timeout.quantity.bounds or (0.0, 0.0)
            assert lower <= (1e9 * truth_s if name not in NEVER else float("inf")) <= upper, (name, said)

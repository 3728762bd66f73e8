"""Each case on each driver with each engine, in the guest: counts, kinds of stamps and sentences, never rates."""

from __future__ import annotations

import pytest

from drivers.cases import CASES
from drivers.conftest import OUTCOMES
from drivers.driver import DRIVERS
from drivers.guest import Guest
from drivers.page import Outcome

RUNS = [
    pytest.param(case.name, driver.name, engine, id="-".join(filter(None, (case.name, driver.name, engine))))
    for driver in DRIVERS
    for case in CASES
    if driver.name in case.drivers
    for engine in case.engines
]


@pytest.mark.timeout(1500)
@pytest.mark.parametrize(("case", "driver", "engine"), RUNS)
def test_driver(case: str, driver: str, engine: str | None, guest: Guest, request: pytest.FixtureRequest) -> None:
    told = guest.carry_out(case, driver, engine)
    passed = told["outcome"] == "passed"
    request.config.stash[OUTCOMES].append(Outcome(case, driver, engine, passed, told["shown"], told["seconds"]))
    print(f"{case} {driver} {engine} {told['seconds']:.1f} s: {told['shown'] or told['reason']}", flush=True)
    assert passed, told["reason"]

"""Each case on each driver with each engine, in the guest: counts, kinds of stamps and sentences, never rates."""

from __future__ import annotations

from typing import Any

import pytest

from drivers.cases import CASES
from drivers.conftest import OUTCOMES
from drivers.driver import DRIVERS
from drivers.guest import Guest
from drivers.page import Outcome

SHORT = {
    "transmit-virtio_net-xdp", "transmit-e1000e-xdp", "transmit-vmxnet3-afxdp",
    "receive-igb-afxdp", "receive-virtio_net-xdp",
    "first_trial-igb-xdp", "several_queues-igb-xdp", "vlan_tags-igb-xdp",
    "no_carrier_before-vmxnet3-packet", "carrier_lost_in_a_trial-igb-xdp", "carrier_lost_in_a_trial-e1000e-packet",
    "unplugged_in_a_trial-virtio_net-xdp",
    "hardware_stamps-igb-packet", "hardware_stamps-e1000e-packet",
    "facts_of_ports-vmxnet3", "line_rate-virtio_net",
}  # fmt: skip
"""Each driver, each engine, and each fault that a real driver has shown."""


def run_of(case: str, driver: str, engine: str | None) -> Any:
    name = "-".join(filter(None, (case, driver, engine)))
    return pytest.param(case, driver, engine, id=name, marks=() if name in SHORT else pytest.mark.long_form)


RUNS = [
    run_of(case.name, driver.name, engine)
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

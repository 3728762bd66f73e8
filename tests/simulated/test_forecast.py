"""What a plan is said to take against what it takes, in virtual time, for every procedure."""

from __future__ import annotations

from typing import Any

import pytest
from support.simulated_trials import carry_out

from keisoku.ground.simulated_device.device import SimulatedDevice, parse_device
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.engine.simulated import SimulatedEngine, routes_between
from keisoku.subjects.device.engine.traffic import Traffic
from keisoku.subjects.device.forecast.expected import Expected, Expecting
from keisoku.subjects.device.forecast.forecast import Forecast, forecast
from keisoku.subjects.device.plan.pace import paced
from keisoku.subjects.device.plan.plan import Plan, parse
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.runner import Unobserved
from keisoku.subjects.device.table import PROCEDURES

LINK = "ports = 8\nlink_bits_per_second = 100_000_000\n"
RESET = "[reset]\nduration_ns = 10_000_000\n"
TABLE = "[address_table]\nentries = 300\n"
DEVICES = {
    "carries the whole link": LINK + RESET,
    "carries 60 %": f"{LINK}[output]\nservice_bits_per_second = 6e7\nbuffer_bytes = 30_000\n{RESET}",
    "carries 93 %": f"{LINK}[output]\nservice_bits_per_second = 9.3e7\nbuffer_bytes = 30_000\n{RESET}",
}
SEARCHES = {
    "multicast": "where the search ends depends on the device",
    "group_capacity": "how many groups it tries depends on the device",
    "connection_capacity": "how many connections it tries depends on the device",
    "connection_rate": "it searches for the rate of connections",
    "connection_throughput": "it searches for a throughput",
    "throughput": "where the search ends depends on the device",
    "latency": "it searches for the throughput first",
    "delay": "it searches for the throughput first",
    "delay_variation": "it searches for the throughput first",
    "clock_mismatch": "it searches for the throughput first, and measures at a second rate if latency drifts",
    "recovery": "it searches for the throughput first",
    "reset": "it searches for the throughput first",
    "back_to_back": "it searches for the throughput first, and then for bursts",
    "loss": "it ends with two trials without loss",
    "forwarding": "it searches for the throughput",
    "broadcast": "it searches for the throughput of broadcasts",
    "buffering": "it searches for the inflection",
    "microburst": "it searches for the largest burst",
    "address_caching": "it searches for the number of addresses",
    "address_learning": "it searches for the rate of addresses",
    "port_map": "it searches for the largest frame",
    "sweep": "it searches for the largest frame if some are dropped",
    "mlr": "it searches for two loads",
}
"""Procedures whose number of trials depends on the device, and why."""
NOT_SIMULATED = {"forward_pressure": "only the FPGA instrument sends gaps of 88 bits"}
OWN: dict[str, dict[str, Any]] = {
    "address_caching": {"ageing_s": 5, "most_addresses": 1024, "addresses": 256},
    "address_learning": {"ageing_s": 5, "addresses": 256},
    "incast": {"burst_frames": 8},
    "group_capacity": {"groups": 16, "most_groups": 64, "leave_s": 0.2, "settle_s": 0},
    "connection_capacity": {"connections": 16, "most_connections": 64, "open_fps": 2000},
    "connection_rate": {"connections": 100},
    "connection_teardown": {"connections": 100, "repetitions": 2, "open_fps": 2000},
    "connection_throughput": {"connections": 100, "open_fps": 2000},
}
TESTER = Capabilities(
    engine="xdp",
    link_bits_per_second=1e9,
    min_frame_bytes=64,
    max_frame_bytes=9000,
    simulated=False,
    transmit_stamp="",
    receive_stamp="",
    resets="on command",
    abilities=frozenset({"compare", "marks"}),
    events=("conntrack-flushed",),
)


def plan_of(name: str, longest_trial_s: float = 0.1, **more: Any) -> Plan:
    """A plan of a procedure for a simulated device, with short trials."""
    ports = {"ports": ["1", "2", "3", "4"]} if PROCEDURES[name].own_flows or PROCEDURES[name].pattern else {}
    source = {"methods": [name], "dut": "sim:test", "frame_bytes": [64, 1518], name: OWN.get(name, {}), **ports}
    return parse(paced(source | more, longest_trial_s))


def capabilities_of(plan: Plan, device: SimulatedDevice) -> Capabilities:
    ports = [int(text) for _, text in plan.port_fields()]
    return SimulatedEngine(device, ports, Traffic(routes_between(plan.pairs()), plan.contents())).capabilities


def expected(plan: Plan, device: SimulatedDevice, records: list[TrialRecord] | None = None) -> Forecast:
    found = forecast(plan, capabilities_of(plan, device), Bias(exact=True), records or [])
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "carries"),
    [
        pytest.param(name, carries, marks=() if carries == "carries 60 %" else pytest.mark.long)
        for name in PROCEDURES
        for carries in (DEVICES if name in SEARCHES else ["carries 60 %"])
        if name not in NOT_SIMULATED
    ],
)
def test_a_forecast_is_what_it_then_takes(name: str, carries: str) -> None:
    table = TABLE if name.startswith("address") else ""
    device = parse_device(DEVICES[carries] + table, "test")
    plan = plan_of(name)
    said = expected(plan, device)
    _, records = carry_out(plan, device)
    took_s = sum(record.engine_seconds for record in records)
    factor = 2.0 if name in SEARCHES else 1.1
    assert said.least_s / factor <= took_s <= said.most_s * factor
    if name not in SEARCHES:
        assert said.most_s <= 1.1 * said.least_s


@pytest.mark.parametrize("name", ["throughput", "latency", "back_to_back", "mlr"])
def test_what_is_left_shrinks_to_nothing_while_trials_are_recorded(name: str) -> None:
    device = parse_device(DEVICES["carries 60 %"], "test")
    plan = plan_of(name)
    _, records = carry_out(plan, device)
    left = [expected(plan, device, records[:count]) for count in range(len(records) + 1)]
    assert left[-1] == Forecast(0.0, 0.0)
    half = len(records) // 2
    took_s = sum(record.engine_seconds for record in records[half:])
    assert left[half].least_s / 2 <= took_s <= 2 * left[half].most_s


class Watcher(Unobserved):
    """Notes what is left."""

    def __init__(self) -> None:
        self.left: list[Forecast | None] = []
        self.finished = 0

    def expects(self, remaining: Forecast | None) -> None:
        self.left.append(remaining)

    def trial_finished(self, record: TrialRecord) -> None:
        self.finished += 1


def test_an_observer_is_told_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("keisoku.subjects.device.forecast.expected._RARELY", 0)
    device = parse_device(DEVICES["carries 60 %"], "test")
    plan = plan_of("throughput")
    _, records = carry_out(plan, device)
    watcher = Watcher()
    assert isinstance(watcher, Expecting)
    watched = Expected(watcher, plan, capabilities_of(plan, device), Bias(exact=True))
    for record in records:
        watched.trial_finished(record)
    assert watcher.finished == len(records) and len(watcher.left) == len(records) + 1
    most = [one.most_s for one in watcher.left if one is not None]
    assert most[0] > most[len(most) // 2] > most[-1] == 0


@pytest.mark.parametrize("name", PROCEDURES)
def test_every_procedure_as_its_standard_has_it_can_be_thought_through(name: str) -> None:
    """For a tester of this host, before its first frame: also where no simulated device has what it needs."""
    given: dict[str, Any] = {"tx": "xdp:eth0", "rx": "xdp:eth1"}
    if PROCEDURES[name].own_flows or PROCEDURES[name].pattern:
        given = {"ports": [f"xdp:eth{port}" for port in range(4)]}
    given |= {"force": PROCEDURES[name].floods}
    plan = parse({"methods": [name], "frame_bytes": PROCEDURES[name].sizes or "rfc2544", **given})
    found = forecast(plan, TESTER, Bias())
    assert found is not None and 0 < found.least_s <= found.most_s


def test_seven_sizes_of_latency_are_hours() -> None:
    """20 trials of 120 s at each of seven sizes, with 9 s of waits: 5 h, and the search before them."""
    plan = parse({"methods": ["latency"], "tx": "xdp:eth0", "rx": "xdp:eth1"})
    found = forecast(plan, TESTER, Bias())
    assert found is not None
    assert 5.0 * 3600 < found.least_s < 5.4 * 3600
    assert found.most_s < 6.5 * 3600

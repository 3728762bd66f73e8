"""Every figure of every procedure on twenty simulated devices, as a table: what `tests/simulated/figures.tsv` holds.

Run as a program, it writes that file again. Trials are short, so the figures are those of the program and not of a
good measurement: they say that a change of the code changed none, and which ones a change of a method changed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keisoku as ks
from keisoku.ground.run.result import Result
from keisoku.ground.simulated_device.device import SimulatedDevice, list_devices, parse_device
from keisoku.ground.statistics.quantity import Quantity

TABLE = Path(__file__).parents[1] / "simulated" / "figures.tsv"
AGAIN = "PYTHONPATH=tests:. .venv/bin/python tests/support/simulated_figures.py"
HEAD = ("device", "procedure", "size", "group", "case", "figure", "value", "unit", "lower", "upper")

MADE_UP = {
    # Written down once, with numbers that are no round ones; none is a model of a real device.
    "lossy": """
        ports = 5
        forwarding = { ns_per_byte = 6.73, constant_ns = 3127 }
        jitter = { distribution = "normal", spread_ns = 412 }
        loss = { ratio = 0.0031, above_frame_bytes = 1024, above_ratio = 0.17 }
        faults = { duplicate_ratio = 0.0012, reorder_ratio = 0.0047, corrupt_ratio = 0.0009 }
        """,
    "shallow": """
        ports = 4
        link_bits_per_second = 100_000_000
        resolution_ns = 8
        forwarding = { mode = "cut-through", ns_per_byte = 11.4, constant_ns = 904, decision_ns = 2210 }
        output = { buffer_bytes = 6119, service_bits_per_second = 71.3e6 }
        jitter = { distribution = "uniform", spread_ns = 3310 }
        stall = { within_ns = 900_000_000, duration_ns = 1_700_000 }
        [spread]
        ports = [2, 3, 4]
        fields = ["IP.src", "UDP.dport"]
        weights = [1.7, 1.0, 1.2]
        seed = 31
        lost = 3
        outage_ns = 23_100_000
        [telemetry]
        one_in = 4
        truly_one_in = 4.7
        delay_ns = 31_000_000
        seed = 5
        """,
    "learning": """
        ports = 6
        forwarding = { ns_per_byte = 8.21, constant_ns = 1517 }
        output = { buffer_bytes = 47_331 }
        input = { buffer_bytes = 21_007, back_pressure = true }
        address_table = { entries = 713, learning_per_second = 8437, ageing_s = 311 }
        snooping = { groups = 53, join_ns = 2_310_000, leave_ns = 41_700_000, copies_per_second = 2.2e6 }
        clock_offset_ppm = { 2 = 31.7, 3 = -12.9 }
        """,
    "stateful": """
        ports = 2
        forwarding = { ns_per_byte = 7.4, constant_ns = 9132 }
        output = { service_bits_per_second = 6.37e8, buffer_bytes = 30_411 }
        reset = { duration_ns = 317_400_000 }
        [connections]
        entries = 1913
        new_per_second = 7219
        forgotten_per_second = 27_113
        timeout_s = 97
        """,
    "failing": """
        ports = 3
        reset = { duration_ns = 71_900_000, at_ns = 93_000_000 }
        scatter = { spread_ns = 219, every_ns = 10_000_000 }
        [[interruption]]
        event = "down"
        begin_ns = 1_370_000
        duration_ns = 23_900_000
        step_ns = 61_000
        [[interruption]]
        event = "down"
        by_undo = true
        duration_ns = 4_100_000
        first_flow = 2
        [[rewrite]]
        changes = ["IP.dscp=10"]
        ratio = 0.13
        [[rewrite]]
        changes = ["IP.ttl=63"]
        every = 3
        """,
    "classes": """
        ports = 4
        output = { buffer_bytes = 211_000, service_bits_per_second = 4.19e8 }
        scheduler = { quantum_bytes = 1713 }
        host = { stop_ms = 0.4, every_ms = 31 }
        [[queue]]
        codes = [46]
        priority = 1
        policer = { bits_per_second = 7.7e7, burst_bytes = 9311 }
        [[queue]]
        codes = [10, 26]
        weight = 3.1
        buffer_bytes = 60_013
        marking = { least_bytes = 7100, most_bytes = 39_000, most_ratio = 0.37 }
        [[queue]]
        weight = 1.3
        shaper = { bits_per_second = 1.13e8, burst_bytes = 12_007 }
        """,
}

_RATE = {"rate_fps": 10_000}
_SEARCH = {"trial_s": 0.02}
_GROUPS = {"settle_s": 0.1}
_TABLE = {"connections": 500, "forget": "forget"}
Settings = dict[str, Any]
PROCEDURES: tuple[tuple[Settings, dict[str, Settings]], ...] = (
    (
        {"frame_bytes": (64, 1024)},
        {
            "throughput": {"trial_s": 0.05},
            "latency": _RATE | {"trial_s": 0.05, "repetitions": 3},
            "back_to_back": {"limit_s": 0.02, "repetitions": 3},
            "recovery": {"overload_s": 0.02, "watch_s": 0.02, "repetitions": 2},
            "reset": {"rate_fps": 1000, "stable_s": 0.2, "watch_s": 1.0, "repetitions": 2},
            "errored_frames": {"trial_s": 0.02},
            "buffer_over_time": _RATE | {"trial_s": 2},
            "changes": _RATE | {"trial_s": 0.05},
            "telemetry": _RATE | {"trial_s": 0.5, "flows": 23, "after_s": 1},
            "mlr": {"goals": "csit", "trial_s": 0.02, "sum_s": 0.1, "initial_s": 0.02},
        },
    ),
    (
        {"frame_bytes": 512, "pattern": "bidirectional"},
        {
            "trial": _RATE | {"trial_s": 0.05},
            "loss": {"trial_s": 0.005},
            "delay": _RATE | {"trial_s": 0.05, "repetitions": 4},
            "delay_variation": _RATE | {"trial_s": 0.05, "repetitions": 3},
            "reordering": {"trial_s": 0.01, "loads_percent": (50, 100)},
            "clock_mismatch": _RATE | {"trial_s": 0.2, "repetitions": 2},
            "convergence": {"rate_fps": 10_000, "event": "down", "stable_s": 0.1, "watch_s": 0.2},
            "critical_load": {"trial_s": 0.005, "trials": 5, "limit_s": 0.3},
        },
    ),
    (
        {"frame_bytes": 64},
        {
            "connection_capacity": {"connections": 512, "most_connections": 2048},
            "connection_rate": _TABLE,
            "connection_teardown": _TABLE | {"open_fps": 5000, "repetitions": 3},
            "connection_throughput": {"connections": 500, "open_fps": 5000, "trial_s": 0.02},
        },
    ),
    ({"frame_bytes": "64-1518:360"}, {"sweep": {"trial_s": 0.05}}),
    (
        {"ports": (1, 2, 3, 4), "frame_bytes": 512, "pattern": "mesh"},
        {"forwarding": {"trial_s": 0.002, "loads_percent": (100, 50)}},
    ),
    (
        {"ports": (1, 2, 3, 4), "frame_bytes": 512},
        {
            "line_rate": {"trial_s": 0.01},
            "buffering": {"oversubscription_percent": 10, "limit_s": 0.06, "repetitions": 2, "outputs": "last"},
            "microburst": {"limit_s": 0.05, "repetitions": 2, "outputs": "last"},
            "head_of_line": {"trial_s": 0.01},
            "incast": {"trial_s": 0.02},
            "congestion": {"trial_s": 0.02},
            "broadcast": {"trial_s": 0.005},
            "balance": {"flows": 97, "fields": True, "event": "member-lost", "stable_s": 0.1, "watch_s": 0.2},
        },
    ),
    (
        {"ports": (1, 2, 3), "frame_bytes": 512},
        {
            "qos": {"maximum_fps": 4e4, "classes": (0, 10, 46), "trial_s": 0.02, "window_s": 0.005, "pause_s": 0.01},
            "marking": {"maximum_fps": 8e4, "code": 10, "trial_s": 0.03, "saturation_s": 0.05},
            "address_caching": _GROUPS | {"most_addresses": 1000},
            "address_learning": _GROUPS | {"addresses": 300},
            "multicast": _GROUPS | {"trial_s": 0.01, "groups": (3,)},
            "group_delay": {"groups": 2, "repetitions": 2, "group_fps": 2000, "stay_s": 0.2, "leave_s": 0.3},
            "group_capacity": _GROUPS | {"groups": 8, "most_groups": 64, "leave_s": 0.1},
            "port_map": {"trial_s": 0.005, "limit_trial_s": 0.005},
        },
    ),
)
"""Settings of the plan, and the procedures with their own. Missing are `forward_pressure`, which only an FPGA can do,
and `calibrate`, which only measures the cable."""
OTHERS: dict[str, Settings] = {
    "calibrate": {"dut": "sim:cable", "trial_s": 0.05, "frame_bytes": (64, 1024)},
    "system limit": {"system": "sim:e4", "objective": "sum_requests", "sweep": 12, "repetitions": 2},
}
"""What is measured once, in virtual time, too."""
NEEDS = {
    "reset": "reset",
    "convergence": "interruptions",
    "balance": "spread",
    "telemetry": "telemetry",
    # Devices of the others' kind hold every connection, which is the same figure twenty times.
    "connection_capacity": "connections",
    "connection_rate": "connections",
    "connection_teardown": "connections",
    "connection_throughput": "connections",
}
"""What a device must have for these."""


def figures() -> str:
    """The whole table: a line of names, then a line for each figure, each ended by a line feed."""
    lines = ["\t".join(HEAD)]
    with tempfile.TemporaryDirectory() as folder:
        for title, asked, device in _devices(Path(folder)):
            for shared, procedures in PROCEDURES:
                if device.ports < len(shared.get("ports", (1, 2))):
                    continue
                able = {name: own for name, own in procedures.items() if getattr(device, NEEDS.get(name, "name"))}
                # Alone where figures are random: a further trial of one procedure draws nothing else in another.
                for part in [{name: able[name]} for name in able] if title in MADE_UP else [able]:
                    if part:
                        settings = {"throughput": _SEARCH} | shared | part
                        lines += _measured(title, tuple(part), {"dut": asked} | settings)
        for name, settings in OTHERS.items():
            lines += _measured("", (name,), settings)
    return "".join(f"{line}\n" for line in lines)


def _devices(folder: Path) -> Iterator[tuple[str, str, SimulatedDevice]]:
    """Title, what `dut` is for it, and the device."""
    for device in list_devices():
        yield device.name, f"sim:{device.name}", device
    for name, toml in MADE_UP.items():
        file = folder / f"{name}.toml"
        file.write_text(toml)
        yield name, f"sim:{file}", parse_device(toml, name)


def _measured(device: str, names: tuple[str, ...], settings: Settings) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        measured = ks.measure(*names, out=Path(folder) / "run", **settings)
        for name in names:
            yield from _lines(device, name, measured.result(name) if len(names) > 1 else measured.result())


def _lines(device: str, name: str, result: Result) -> Iterator[str]:
    for row in result.rows:
        place = (device, name, str(row.frame_bytes), row.group, row.case)
        if not row.figures:
            yield "\t".join((*place, "", f"nothing: {row.invalid or row.remark}", "", "", ""))
        for figure, quantity in row.figures.items():
            yield "\t".join((*place, figure, *_cells(quantity)))
    for flag in result.flags:
        yield "\t".join((device, name, "", "flag", flag.name, "", "raised", "", "", ""))
        for figure, quantity in flag.figures.items():
            yield "\t".join((device, name, "", "flag", flag.name, figure, *_cells(quantity)))


def _cells(quantity: Quantity) -> tuple[str, ...]:
    # Nine digits: all that is measured, and no last digit of a sum that another processor adds in another order.
    low, high = quantity.bounds or (None, None)
    ends = ("" if end is None else f"{end:.9g}" for end in (low, high))
    return (f"{quantity.value:.9g}", quantity.unit, *ends)


if __name__ == "__main__":
    TABLE.write_text(figures(), encoding="utf-8")

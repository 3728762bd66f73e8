"""Ports that share a chip are found from latencies alone; noise, slow ports and single chips make no groups."""

from __future__ import annotations

import numpy as np
import pytest

from keisoku.subjects.device.analysis.port_groups import port_groups

Chips = list[list[int]]


def latencies(
    chips: Chips,
    step_ns: float,
    noise_ns: float = 0.0,
    seed: int = 1,
    sending_ns: dict[int, float] | None = None,
    receiving_ns: dict[int, float] | None = None,
    ring: bool = False,
) -> dict[tuple[int, int], float]:
    random = np.random.default_rng(seed)
    chip = {port: number for number, ports in enumerate(chips) for port in ports}

    def latency(one: int, other: int) -> float:
        steps = abs(chip[one] - chip[other]) if ring else float(chip[one] != chip[other])
        ports = (sending_ns or {}).get(one, 0.0) + (receiving_ns or {}).get(other, 0.0)
        return 2000 + step_ns * steps + ports + noise_ns * float(random.standard_normal())

    return {(one, other): latency(one, other) for one in chip for other in chip if one != other}


FOURS = [[1, 2, 3, 4], [5, 6, 7, 8]]


@pytest.mark.parametrize(
    ("chips", "noise_ns"),
    [
        ([[1, 2], [3, 4]], 0.0),
        ([[1, 2], [3, 4]], 5.0),
        (FOURS, 0.0),
        (FOURS, 60.0),
        ([[1, 3, 5, 7], [2, 4, 6, 8]], 60.0),
        ([[1, 2], [3, 4, 5, 6, 7, 8]], 20.0),
        ([*FOURS, [9, 10, 11, 12]], 0.0),
        ([*FOURS, [9, 10, 11, 12]], 60.0),
        ([[1, 2], [3, 4], [5, 6], [7, 8]], 0.0),
        ([[1, 2], [3, 4], [5, 6], [7, 8]], 20.0),
    ],
)
def test_chips_are_found_whatever_their_number(chips: Chips, noise_ns: float) -> None:
    assert port_groups(latencies(chips, 271, noise_ns), max(noise_ns, 1.0)) == chips


def test_three_chips_in_a_row_are_three() -> None:
    chips = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert port_groups(latencies(chips, 300, 15, ring=True), 15) == chips


@pytest.mark.parametrize("ports", [4, 5, 8, 12])
def test_noise_makes_no_groups(ports: int) -> None:
    whole = [list(range(1, ports + 1))]
    for seed in range(100):
        assert port_groups(latencies(whole, 0, 50, seed), 1.0) == whole


def test_heavy_tails_make_no_groups() -> None:
    whole = [list(range(1, 9))]
    for seed in range(100):
        random = np.random.default_rng(seed)
        noisy = {way: 2000 + 100 * float(random.standard_t(5)) for way in latencies(whole, 0)}
        assert port_groups(noisy, 1.0) == whole


def test_slow_ports_are_no_chips() -> None:
    whole = [list(range(1, 9))]
    slow = latencies(whole, 0, 5, sending_ns={3: 400, 5: 90}, receiving_ns={3: 500, 8: -60})
    assert port_groups(slow, 5) == whole


def test_chips_with_slow_ports_and_ways_slower_in_one_direction_are_found() -> None:
    measured = latencies(FOURS, 271, 10, sending_ns={1: 500, 2: 300}, receiving_ns={6: 800})
    assert port_groups(measured, 10) == FOURS
    one_way = {way: ns - 200 * (way[0] > 4 and way[1] < 5) for way, ns in latencies(FOURS, 271, 10).items()}
    assert port_groups(one_way, 10) == FOURS


def test_one_way_that_is_different_makes_no_group() -> None:
    for ports in (4, 8):
        measured = latencies([list(range(1, ports + 1))], 0, 2)
        measured[1, 2] += 500
        assert len(port_groups(measured, 2)) == 1


def test_steps_below_the_error_are_not_believed() -> None:
    assert port_groups(latencies(FOURS, 2), 1.0) == FOURS
    assert port_groups(latencies(FOURS, 2), 20.0) == [[1, 2, 3, 4, 5, 6, 7, 8]]


def test_few_ports_cannot_be_told_apart() -> None:
    assert port_groups(latencies([[1, 2], [3]], 300), 1.0) == [[1, 2, 3]]
    assert port_groups(latencies([[1, 2, 3], [4]], 300), 1.0) == [[1, 2, 3, 4]]
    assert port_groups({}, 1.0) == []
    with pytest.raises(ValueError, match="above zero"):
        port_groups({(1, 2): 5.0}, 0.0)


def test_a_way_that_was_not_measured_is_done_without() -> None:
    measured = latencies(FOURS, 271, 10)
    del measured[2, 7], measured[7, 2], measured[1, 3]
    assert port_groups(measured, 10) == FOURS

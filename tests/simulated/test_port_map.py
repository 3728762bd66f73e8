"""The port map of devices whose chips are known: groups, offsets, lines and limits, found unasked."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.simulated_trials import carry_out, device, plan
from support.synthetic_runs import page_of

from keisoku.ground.run.result import Result, Row
from keisoku.ground.simulated_device.device import find_device
from keisoku.ground.statistics.quantity import Quantity
from keisoku.subjects.device.plot.device import devices
from keisoku.subjects.device.procedure.own.port_map_plot import port_map_plot
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.run import DeviceRun
from keisoku.subjects.device.record.trial import Trial

TABLE_4_3 = [  # way, slope, constant, largest frame, % dropped above it; E1
    ("1 to 2", 7.98324, 1796.28, 13_514, 98),
    ("1 to 4", 7.98308, 1739.55, 13_514, 98),
    ("1 to 8", 7.98417, 2067.42, 7_000, 80),
]
LINE = "forwarding = { ns_per_byte = 8.0, constant_ns = 1800.0 }\n"


def port_map(
    model: str, ports: int, sizes: str = "64,512,1518", seed: int = 1, **settings: object
) -> tuple[Result, int]:
    result, records = carry_out(
        plan(
            "port_map",
            seed=seed,
            ports=[str(port) for port in range(1, ports + 1)],
            frame_bytes=sizes,
            port_map={"trial_s": 0.002, "limit_trial_s": 0.02, **settings},
        ),
        find_device(model) if "=" not in model else device(model),
    )
    return result, len(records)


def chips(*groups: list[int], extra_ns: float, keys: str = "") -> str:
    pairs = [
        f"[[pair]]\nfrom_ports = {one}\nto_ports = {other}\nextra_latency_ns = {extra_ns}\n"
        for one in groups
        for other in groups
        if one != other
    ]
    return f"ports = {sum(map(len, groups))}\n" + LINE + keys + "".join(pairs)


def row(result: Result, case: str) -> Row:
    return next(row for row in result.rows if row.case == case)


def covers(figure: Quantity, truth: float) -> bool:
    assert figure.uncertainty is not None
    return abs(figure.value - truth) <= figure.uncertainty


def test_lsw4_has_two_chips_and_every_cell_of_table_4_3() -> None:
    result, trials = port_map("lsw4-gt-8ep", 8, sizes="64,1518,4096,6500")
    assert result.remarks[0] == "2 groups of ports, each likely a chip of its own: {1–4}, {5–8}"
    for case, limit in (
        ("inside {1–4}", 13_514),
        ("{1–4} to {5–8}", 7_000),
        ("{5–8} to {1–4}", 7_000),
        ("inside {5–8}", 13_514),
    ):
        assert row(result, case).figures["largest_frame"] == Quantity(value=limit, unit="byte", uncertainty=0)
    offset = row(result, "{1–4} to {5–8}").figures["offset"]
    # "Crossing costs about 300 ns": port 8 against port 2 is 271 ns, against port 4 is 328 ns.
    assert 271 < offset.value < 328 and covers(offset, 2067.42 - 1796.28)
    for case, slope, constant, limit, dropped in TABLE_4_3:
        figures = row(result, case).figures
        assert figures["slope"].value == pytest.approx(slope, abs=1e-5)
        assert figures["constant"].value == pytest.approx(constant, abs=0.01)
        assert figures["largest_frame"].value == limit
        assert figures["drop"].value == pytest.approx(dropped, abs=4)
    # A bisection for each class of ways, two trials and the largest frame for every other.
    assert trials < 56 * 4 + 4 * 16 + 52 * 3 + 1


def test_noise_hides_neither_chips_nor_their_offset() -> None:
    jitter = "jitter = { distribution = 'normal', spread_ns = 200 }\n"
    model = chips([1, 3, 5], [2, 4, 6], extra_ns=300, keys=jitter)
    covered = 0
    for seed in range(1, 21):
        result, _ = port_map(model, 6, seed=seed, trial_s=0.005, rate_fps=20_000, limits=False)
        assert result.remarks[0] == "2 groups of ports, each likely a chip of its own: {1, 3, 5}, {2, 4, 6}"
        covered += covers(row(result, "{1, 3, 5} to {2, 4, 6}").figures["offset"], 300)
        assert "largest_frame" not in row(result, "1 to 2").figures
    assert covered >= 16, "of 20 intervals of 95 %"


def test_three_chips_are_three() -> None:
    result, _ = port_map(chips([1, 2], [3, 4], [5, 6], extra_ns=150), 6, limits=False)
    assert result.remarks[0].startswith("3 groups of ports")
    assert (result.rows[0].case, result.rows[0].figures["chips"].value) == ("{1, 2}, {3, 4}, {5, 6}", 3)
    assert len([one for one in result.rows if "offset" in one.figures and one.trial is None]) == 6


@pytest.mark.parametrize("jitter", ["", "jitter = { distribution = 'uniform', spread_ns = 3000 }\n"])
def test_one_chip_is_one_group(jitter: str) -> None:
    result, _ = port_map("ports = 5\nmax_frame_bytes = 2000\n" + LINE + jitter, 5, rate_fps=20_000)
    assert result.remarks[0].startswith("ports {1–5} form one group")
    chips_row, *ways = result.rows
    assert (chips_row.case, chips_row.figures["chips"].value) == ("{1–5}", 1)
    assert {one.figures["largest_frame"].value for one in ways} == {2000}
    assert len(ways) == 20


def test_a_slow_port_is_no_chip_and_a_direction_may_differ() -> None:
    slow = "[[pair]]\nfrom_ports = [1, 2, 3, 4]\nto_ports = [5]\nextra_latency_ns = 400\nmax_frame_bytes = 1600\n"
    result, _ = port_map("ports = 5\nmax_frame_bytes = 3000\n" + LINE + slow, 5)
    assert result.remarks[0].startswith("ports {1–5} form one group")
    limits = {one.case: one.figures["largest_frame"].value for one in result.rows if "chips" not in one.figures}
    assert limits["2 to 5"] == 1600 and limits["5 to 2"] == 3000


def test_ways_with_limits_of_their_own_in_one_class_are_found() -> None:
    own = "[[pair]]\nfrom_ports = [2]\nto_ports = [1]\nmax_frame_bytes = 2222\n"
    result, _ = port_map("ports = 4\nmax_frame_bytes = 9000\n" + LINE + own, 4)
    limits = {one.case: one.figures["largest_frame"].value for one in result.rows if "chips" not in one.figures}
    assert limits.pop("2 to 1") == 2222
    assert set(limits.values()) == {9000}


def test_without_a_limit_it_says_how_far_it_looked() -> None:
    result, trials = port_map("ports = 2\noutput = { buffer_bytes = 1_000_000 }\n" + LINE, 2)
    assert "the largest frame tried, 16384 byte, was forwarded without loss" in result.remarks[-1]
    assert result.remarks[0] == "with fewer than 4 ports a chip cannot be distinguished from a slow port"
    assert trials == 2 * 3 + 2


def test_a_trial_that_the_tester_spoils_is_repeated_and_its_own_ceiling_remembered() -> None:
    def half_the_tester(index: int, trial: Trial, facts: Facts) -> Facts:
        if trial.frames_per_second <= 600_000:
            return facts
        sender = facts.transmitters[0]
        cut = sender.sent.model_copy(update={"offered_frames": sender.sent.offered_frames // 2})
        return facts.model_copy(update={"transmitters": [sender.model_copy(update={"sent": cut})]})

    wanted = plan("port_map", ports=["1", "2"], frame_bytes=[64, 1518], port_map={"trial_s": 0.01, "limits": False})
    result, records = carry_out(wanted, device(LINE), half_the_tester)
    assert len(records) < 8
    assert all("slope" in one.figures for one in result.rows)


def test_a_way_that_forwards_nothing_is_said_and_compared_with_nothing() -> None:
    cut = "[[pair]]\nfrom_ports = [1]\nto_ports = [2]\nloss = { ratio = 1.0 }\n"
    result, _ = port_map("ports = 4\n" + LINE + cut, 4)
    assert result.remarks[0].startswith("no size passed on every way")
    assert row(result, "1 to 2").figures == {}
    assert "slope" in row(result, "2 to 1").figures


def test_the_report_shows_the_map_as_a_matrix(tmp_path: Path) -> None:
    wanted = plan("port_map", ports=["1", "2", "3", "4"], frame_bytes=[64, 512], port_map={"trial_s": 0.002})
    model = chips([1, 2], [3, 4], extra_ns=300, keys="max_frame_bytes = 4000\n")
    result, records = carry_out(wanted, device(model))
    source = wanted.model_dump(mode="json", exclude_none=True)
    run = DeviceRun(tmp_path, source, {"device": "test"}, records, [result])
    plot = port_map_plot(devices([run]))
    assert plot is not None and plot.choices == ["offset", "largest frame", "latency"]
    offset, limit, _ = plot.traces
    assert offset["x"] == offset["y"] == ["1", "2", "3", "4"]
    assert offset["z"][0] == [None, pytest.approx(0), pytest.approx(300), pytest.approx(300)]
    assert limit["z"][2] == [4000, 4000, None, 4000]
    page = page_of([run])
    assert 'id="port_map"' in page and page.count("<rect") > 12 and "each likely a chip of its own" in page
    assert ">inside {1, 2}</td>" in page
    assert "From {1, 2} to {3, 4} a frame takes 300 ns longer, and has 4\u202f000 byte at most." in page

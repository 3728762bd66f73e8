"""Devices that break an assumption of a procedure: its rows say so, and refuse the figure that rests on it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from support.odd_device import Begin, Lost, OddEngine, Part, Policer, Poll, Queue, Wait
from support.simulated_trials import device, measured, plan

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "detection"))

from assumption_detectors import SAID

from keisoku.ground.run.result import Result

WAY = Wait(5000)
LINE_FPS = 1e7 / (84 * 8)
SETTINGS: dict[str, dict[str, Any]] = {
    "throughput": {"trial_s": 1, "resolution_percent": 0.5},
    "latency": {"trial_s": 1, "rate_fps": 5000, "repetitions": 3},
    "loss": {"trial_s": 1},
    "back_to_back": {"limit_s": 8, "repetitions": 2},
    "mlr": {"trial_s": 0.5, "sum_s": 1, "initial_s": 0.5},
    "trial": {"trial_s": 1, "rate_fps": 6000},
}


def odd(methods: str, *parts: Part, **settings: dict[str, Any]) -> list[Result]:
    """Results of a run on a device of these parts behind a link of 10 Mb/s."""
    source = plan("", methods=methods.split(), frame_bytes=[64], **(SETTINGS | settings))
    return measured(source, device(""), OddEngine([WAY, *parts], 1e7))


def simulated(method: str, toml: str, **settings: Any) -> list[Result]:
    return measured(plan("", **{"methods": [method], "frame_bytes": [64]} | SETTINGS | settings), device(toml))


HOLE = Lost(ratio=0.0098, from_fps=0.3 * LINE_FPS, to_fps=0.6 * LINE_FPS)


def test_a_load_that_loses_frames_below_line_rate_is_in_the_interval_of_the_throughput() -> None:
    found, _ = odd("throughput trial", HOLE)
    assert found.rows[0].figures["throughput"].bounds == pytest.approx((6000, LINE_FPS))
    assert "64 byte: contradiction: a trial of trial lost frames at 6,000 frames/s" in found.remarks


def test_so_it_is_where_the_throughput_is_a_bound() -> None:
    found, _ = odd("throughput trial", HOLE, throughput=SETTINGS["throughput"] | {"maximum_fps": 0.9 * LINE_FPS})
    figure = found.rows[0].figures["throughput"]
    assert figure.bound == ""
    assert figure.bounds == pytest.approx((6000, 0.9 * LINE_FPS))
    alone = odd("throughput", HOLE, throughput=SETTINGS["throughput"] | {"maximum_fps": 0.9 * LINE_FPS})
    assert alone[0].rows[0].figures["throughput"].bound == "at least"


def test_searches_of_other_procedures_say_it_too() -> None:
    found, _ = odd("mlr trial", HOLE)
    assert "% of the frames of trial were lost at 6,000 frames/s, which is less" in found.rows[0].remark
    assert found.rows[0].figures["throughput"].bounds == pytest.approx((6000, 0.9998 * LINE_FPS))
    (found,) = odd("forwarding", HOLE, forwarding={"trial_s": 1})
    assert "% of the frames of forwarding were lost at" in found.rows[0].remark
    bounds = found.rows[0].figures["throughput"].bounds or (0, 0)
    assert bounds[0] == pytest.approx(0.3 * LINE_FPS)
    assert not any(row.remark for row in found.rows[1:])


def test_a_search_that_ends_in_such_loads_does_not_blame_the_output() -> None:
    row = odd("throughput", HOLE, Queue(0.9 * LINE_FPS, 50))[0].rows[0]
    assert row.figures["throughput"].value == pytest.approx(0.3 * LINE_FPS, rel=0.01)
    assert "it is not the rate of its output that limits the device" in row.remark
    assert "13,393 frames/s" in row.remark


CAUSES: dict[str, tuple[list[Part], str]] = {
    "over all trials": ([Lost(every=2**10)], "one in 1,024 frames was lost, counted over all trials of the run"),
    "in each trial": ([Lost(every=2**10, in_each=True)], "the first frame that was lost is number 1,024 of a trial"),
    "the last": ([Lost(last=1)], "only the last 1 frame of a trial did not arrive"),
    "the last, and an output": ([Lost(last=3), Queue(9000, 20)], "only the last 3 frames of a trial did not arrive"),
    "the first": ([Lost(first=4), Queue(9000, 20)], "lost its first frame, and the first 4 alone at the lowest load"),
    "at a time": ([Lost(at_s=0.4, for_s=0.01)], "the first loss came 0.4 s after the begin of a trial"),
    "after a time": ([Queue(15_000, 50, slow_after_s=0.6, slow_share=0.5)], "no frame waited for 0.6 s, then a queue"),
    "once full": ([Queue(9000, 1500, slow_once_full=True, slow_share=0.7)], "on the order of the loads"),
}


@pytest.mark.parametrize("cause", CAUSES)
def test_a_throughput_names_what_loses_the_frames(cause: str) -> None:
    parts, said = CAUSES[cause]
    assert said in odd("throughput", *parts)[0].rows[0].remark


def test_a_latency_that_no_load_passes_for_names_it_too() -> None:
    settings = {name: own for name, own in SETTINGS["latency"].items() if name != "rate_fps"}
    row = odd("latency", Lost(last=1), latency=settings)[0].rows[0]
    assert not row.figures
    assert "the device keeps it until another one comes" in row.remark


def test_an_overload_after_a_throughput_from_below_says_that_the_order_counts() -> None:
    settings = SETTINGS["throughput"] | {"maximum_fps": 8000}
    found, loss = odd("throughput loss", Queue(9000, 100, slow_once_full=True, slow_share=0.7), throughput=settings)
    assert found.rows[0].figures["throughput"].value == 8000
    assert "frames left at 8,000 frames/s at a load of 8,000, but overloaded" in found.rows[0].remark
    assert [bool(row.remark) for row in loss.rows] == [True] + [False] * (len(loss.rows) - 1), "once for all loads"


NO_BUFFERS: dict[str, Part] = {
    "a count": Lost(every=20_000, in_each=True),
    "slower after a time": Queue(15_000, 50, slow_after_s=3, slow_share=0.5),
    "a policer": Policer(9000, 3000),
}


@pytest.mark.parametrize("cause", NO_BUFFERS)
def test_a_burst_that_no_queue_has_let_pass_shows_no_buffer(cause: str) -> None:
    settings = SETTINGS["throughput"] | {"trial_s": 4}
    row = odd("back_to_back", NO_BUFFERS[cause], throughput=settings)[0].rows[0]
    assert {"burst", "burst_min", "burst_max"} <= row.figures.keys()
    assert not {"implied_buffer", "corrected_buffer"} & row.figures.keys()
    assert "no buffer: one that holds this burst empties in" in row.remark


@pytest.mark.parametrize("frames", [1, 2, 3, 10, 300, 3000])
def test_a_burst_that_a_queue_lets_pass_shows_one(frames: int) -> None:
    row = odd("back_to_back", Queue(9000, frames), throughput=SETTINGS["throughput"] | {"trial_s": 4})[0].rows[0]
    assert row.figures["corrected_buffer"].value > 0
    assert "no buffer" not in row.remark


def test_a_poller_that_is_met_at_one_phase_says_it_where_other_loads_show_it() -> None:
    poller = Poll(2e5, 1.4e5)
    _, found = odd("throughput latency", poller, Queue(6500, 500))
    row = found.rows[0]
    assert row.figures["mean"].value == pytest.approx(140_000), "of 5000 frames/s, whose period is the tick"
    assert "the latencies of this load lie within 0 µs, but at" in row.remark
    assert "one phase of its clock only" in row.remark


def test_a_poller_with_a_phase_of_its_own_in_each_trial_is_within_the_interval() -> None:
    inside = 0
    for seed in range(20):
        source = plan("latency", frame_bytes=[64], seed=seed, latency=SETTINGS["latency"] | {"repetitions": 5})
        row = measured(source, device(""), OddEngine([WAY, Poll(2e5)], 1e7))[0].rows[0]
        lower, upper = row.figures["mean"].bounds or (0, 0)
        inside += lower <= 5000 + 1e5 <= upper
    assert inside >= 17


def test_first_frames_that_wait_are_not_hidden_in_a_mean() -> None:
    row = odd("latency", Begin(1, 2e6))[0].rows[0]
    assert row.figures["mean"].value < 10_000
    assert "took up to 2005 µs, and all later ones at most 5 µs" in row.remark


def test_a_latency_that_changes_for_good_is_of_both() -> None:
    row = odd("latency", Begin(2000, 5e4))[0].rows[0]
    assert "the latency changed from 55 to 5 µs for good" in row.remark


def test_frames_that_one_stream_alone_loses_are_its_own() -> None:
    toml = "[[pair]]\nfrom_ports = [2]\nto_ports = [1]\nloss = { ratio = 0.01 }\n"
    row = simulated("loss", toml, pattern="bidirectional", loss={"trial_s": 0.01}).pop().rows[0]
    assert "lost frames were of 1 of 2 streams: 2 (port 2 to port 1)" in row.remark


def test_a_device_that_floods_is_seen_from_a_third_port() -> None:
    toml = "ports = 4\n[address_table]\nentries = 100\nageing_s = 0.5\n"
    settings = {"pattern": "one-to-many", "phases": {"learning_wait_s": 0.1}}
    row = simulated("trial", toml, ports=["1", "2", "3"], **settings).pop().rows[0]
    assert "2,999 frames arrived at ports that they were not meant for" in row.remark
    clean = simulated("trial", "ports = 4\n[address_table]\nentries = 100\n", ports=["1", "2", "3"], **settings)
    assert clean.pop().rows[0].remark == ""


def test_a_sentence_was_reworded_and_the_benchmark_found_it_no_more() -> None:
    """It looked for 'one phase of a clock': 0 of 60 pollers were found where 42 had been."""
    catalogue = (Path(__file__).parents[2] / "keisoku/locale/ja/LC_MESSAGES/keisoku.po").read_text().replace('"\n"', "")
    texts = [text for texts in SAID.values() for text in ([texts] if isinstance(texts, str) else texts)]
    assert [text for text in texts if text not in catalogue] == []

"""RFC 8219 delay and its variation, RFC 4737/5236 reordering, on simulated devices whose truth is known."""

from __future__ import annotations

import pytest
from support.simulated_trials import carry_out, device, plan

from keisoku.errors import PlanError
from keisoku.subjects.device.plan.plan import parse
from keisoku.units import frame_sizes

CONSTANT = "[forwarding]\nns_per_byte = 0\nconstant_ns = 10_000\n"
UNIFORM = CONSTANT + '[jitter]\ndistribution = "uniform"\nspread_ns = 1000\n'
STALLS = CONSTANT + "[stall]\nperiod_ns = 200_000_000\nduration_ns = 1_000_000\n"
REORDERING = CONSTANT + "[faults]\nreorder_ratio = 0.01\nreorder_above_fps = 100_000\n"


def test_delay_is_the_median_and_the_last_thousandth_of_the_second_half() -> None:
    result, records = carry_out(
        plan("delay", frame_bytes=[64], delay={"trial_s": 0.4, "repetitions": 5, "rate_fps": 50_000}), device(UNIFORM)
    )
    figures = result.rows[0].figures
    for name, truth in (("typical", 10_500), ("worst_case", 10_999)):
        assert figures[name].value == pytest.approx(truth, abs=80)
        assert figures[f"{name}_p1"].value <= figures[name].value <= figures[f"{name}_p99"].value
    for record in records:
        since = record.facts.tracked.latency_since_tag
        assert since is not None
        # Of 20 000 frames, those from number 10 000 on.
        assert sum(since.counts) == 10_000
    assert "RFC 8219 §7.2: 5 repetitions instead of at least 20" in result.deviations


@pytest.mark.parametrize("method", ["latency", "delay", "delay_variation"])
def test_a_load_beyond_the_line_was_tried_forty_times(method: str) -> None:
    settings: dict[str, object] = {"trial_s": 0.1, "repetitions": 20, "rate_fps": 5_000_000}
    result, records = carry_out(plan(method, frame_bytes=[64], **{method: settings}), device(CONSTANT))
    assert len(records) == 1
    assert result.rows[0].figures == {} and "the tester offered" in str(result.rows[0].remark)


def test_what_happens_before_the_tag_is_not_in_the_delay() -> None:
    # One stall of 100 ms at 200 ms: all that is late arrived before the tag at 350 ms.
    stalled = CONSTANT + "[stall]\nperiod_ns = 200_000_000\nduration_ns = 100_000_000\n"
    settings = {"trial_s": 0.39, "tag_after_s": 0.35, "repetitions": 2, "rate_fps": 20_000}
    result, records = carry_out(plan("delay", frame_bytes=[64], delay=settings), device(stalled))
    assert result.rows[0].figures["worst_case"].value == pytest.approx(10_000, abs=80)
    latency = records[0].facts.tracked.latency
    assert latency is not None and latency.max_ns > 50e6


def test_a_tagged_frame_that_is_lost_does_not_lose_the_others() -> None:
    result, records = carry_out(
        plan("delay", frame_bytes=[64], delay={"trial_s": 0.1, "repetitions": 12, "rate_fps": 50_000}),
        device(CONSTANT + "[loss]\nratio = 0.3"),
    )
    tagged = [record.facts.tracked.tagged_latency_ns for record in records]
    assert None in tagged
    since_tag = [record.facts.tracked.latency_since_tag for record in records]
    assert all(latency is not None and sum(latency.counts) > 1500 for latency in since_tag)
    assert result.rows[0].figures["typical"].value == pytest.approx(10_000, abs=80)


def test_too_few_tagged_frames_are_told() -> None:
    result, _ = carry_out(
        plan("delay", frame_bytes=[64], delay={"trial_s": 0.1, "repetitions": 1, "rate_fps": 1000}), device(CONSTANT)
    )
    assert "RFC 8219 §7.2: only 50 frames of 64 byte were tagged in a trial, not 500" in result.deviations


def test_a_device_without_jitter_has_no_variation() -> None:
    result, _ = carry_out(
        plan("delay_variation", frame_bytes=[64], delay_variation={"trial_s": 0.1, "repetitions": 2, "rate_fps": 1e4}),
        device(CONSTANT),
    )
    figures = result.rows[0].figures
    for name in ("pdv", "ipdv_min", "ipdv_median", "ipdv_max"):
        assert figures[name].value == pytest.approx(0, abs=1e-6)


def test_variation_of_uniform_jitter_is_signed_and_symmetrical() -> None:
    settings = {"trial_s": 1.0, "repetitions": 3, "rate_fps": 50_000}
    result, records = carry_out(plan("delay_variation", frame_bytes=[64], delay_variation=settings), device(UNIFORM))
    figures = result.rows[0].figures
    assert figures["pdv"].value == pytest.approx(999, abs=85)
    # A difference of two uniform deviates: triangular between the spread and its negative.
    assert figures["ipdv_min"].value == pytest.approx(-1000, abs=20)
    assert figures["ipdv_max"].value == pytest.approx(1000, abs=20)
    assert figures["ipdv_median"].value == pytest.approx(0, abs=15)
    ipdv = records[0].facts.tracked.variation
    assert ipdv is not None
    assert ipdv.count == records[0].facts.tracked.forwarded_frames - 1
    assert sum(ipdv.histogram.counts) == ipdv.count
    assert ipdv.mean_ns == pytest.approx(0, abs=1)


def test_a_stall_is_one_rise_and_many_small_falls() -> None:
    # A stall of 1 ms: the first frame after it is 1 ms late, those behind it catch up at the rate of the link.
    settings = {"trial_s": 0.5, "repetitions": 1, "rate_fps": 10_000}
    result, _ = carry_out(plan("delay_variation", frame_bytes=[64], delay_variation=settings), device(STALLS))
    figures = result.rows[0].figures
    assert figures["ipdv_max"].value > 900_000
    assert -100_000 <= figures["ipdv_min"].value <= -99_000
    # Two stalls with ten late frames each: five of 5000 frames are later than the third latest of a stall.
    assert figures["pdv"].value == pytest.approx(800_000, rel=0.02)


def test_pairs_with_a_lost_frame_are_no_pairs() -> None:
    settings = {"trial_s": 0.5, "repetitions": 1, "rate_fps": 50_000}
    _, records = carry_out(
        plan("delay_variation", frame_bytes=[64], delay_variation=settings), device(UNIFORM + "[loss]\nratio = 0.1")
    )
    tracked = records[0].facts.tracked
    assert tracked.variation is not None
    # Each gap between two arrivals breaks one pair.
    inner = [gap for gap in tracked.lost if gap.after_ns is not None and gap.before_ns is not None]
    assert tracked.variation.count == tracked.forwarded_frames - 1 - len(inner)


def reordered(toml: str, **settings: object) -> list[dict[str, float]]:
    result, _ = carry_out(
        plan("reordering", frame_bytes=[64], reordering={"trial_s": 0.5, "maximum_fps": 200_000, **settings}),
        device(toml),
    )
    return [{name: figure.value for name, figure in row.figures.items()} for row in result.rows]


def test_reordering_above_a_rate_is_missed_by_a_single_load_and_found_by_several() -> None:
    (naive,) = reordered(REORDERING, loads_percent=[40])
    assert naive["reordered"] == 0
    by_load = {row["load"]: row for row in reordered(REORDERING, loads_percent=[10, 40, 60, 100])}
    assert by_load[10]["reordered"] == by_load[40]["reordered"] == 0
    for load in (60, 100):
        row = by_load[load]
        assert row["reordered"] == pytest.approx(1.0, rel=0.15)
        # Each is held back until one frame has passed it.
        assert row["extent"] == row["extent_mean"] == row["degree"] == 1
        assert row["n_reordered"] == 0
        assert row["byte_offset"] == 64
        assert row["free_run"] == pytest.approx(100 / row["reordered"] - 1)
        assert row["in_place"] == pytest.approx(100 - 2 * row["reordered"])
        assert (row["earliest"], row["latest"], row["occupancy"]) == (1, 1, 1)
        assert row["gap"] == pytest.approx(100 / row["reordered"], rel=0.02)
        # It leaves as soon as the output is free of the frame that passed it.
        assert row["late_time"] == pytest.approx(672, abs=1)
        assert row["late_mean"] == pytest.approx(672, abs=1)


def test_loss_and_duplicates_are_not_reordering() -> None:
    (row,) = reordered(CONSTANT + "[loss]\nratio = 0.05\n[faults]\nduplicate_ratio = 0.05", loads_percent=[100])
    assert row["reordered"] == 0 and "extent" not in row
    assert row["loss"] == pytest.approx(5, rel=0.1)


def test_streams_are_reordered_each_by_itself() -> None:
    both, records = carry_out(
        plan("reordering", frame_bytes=[64], reordering={"trial_s": 0.1, "loads_percent": [100], "maximum_fps": 1e5}),
        device(CONSTANT + "[faults]\nreorder_ratio = 0.02"),
    )
    tracked = records[0].facts.tracked
    assert tracked.reordering is not None
    assert sum(frames for _, frames in tracked.reordering.displacement) == tracked.forwarded_frames
    assert both.rows[0].case == "100 %"


def test_sizes_of_the_rfcs_have_names() -> None:
    assert frame_sizes("size", "rfc8219")[:6] == [64, 128, 256, 512, 768, 1024]
    assert frame_sizes("size", "RFC8219-translation")[0] == 84
    assert frame_sizes("size", "rfc5180")[-4:] == [2048, 4096, 8192, 9216]
    assert frame_sizes("size", "rfc8239") == [64, 128, 256, 512, 1024, 1518, 4096, 8000, 9216]


def test_ipv6_frames_are_compared_with_rfc_5180() -> None:
    settings = {"trial_s": 0.1, "repetitions": 1, "rate_fps": 1000}
    result, _ = carry_out(plan("delay", frame_bytes=[84], headers="ipv6", delay=settings), device(CONSTANT))
    assert "RFC 5180 §5.3: traffic with extension headers was not tested" in result.deviations


def test_a_tag_after_the_end_is_refused() -> None:
    with pytest.raises(PlanError, match=r"delay\.tag_after_s"):
        parse({"methods": ["delay"], "dut": "sim:gs908e", "delay": {"trial_s": 2, "tag_after_s": 2}})


def test_the_median_of_ipdv_is_as_uncertain_as_it_repeats() -> None:
    toml = 'resolution_ns = 1\n[jitter]\ndistribution = "normal"\nspread_ns = 4000'
    settings = {"rate_fps": 5000, "trial_s": 0.2, "repetitions": 1}
    hits, uncertainties = 0, []
    for seed in range(60):
        source = plan("delay_variation", frame_bytes=[64], seed=seed, delay_variation=settings)
        found = carry_out(source, device(toml))[0].rows[0].figures["ipdv_median"]
        assert found.uncertainty is not None
        hits += abs(found.value) <= found.uncertainty
        uncertainties.append(found.uncertainty)
    assert 53 <= hits <= 60  # of 95 %
    assert max(uncertainties) < 300

"""Each method on simulated devices whose truth is known."""

import pytest
from support.one_stream import facts_of
from support.simulated_trials import carry_out, device, plan

from keisoku.ground.simulated_device.device import find_device, list_devices
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import Trial

LINE_64 = 1e9 / (84 * 8)


def throughput_of(toml: str, **settings: object) -> tuple[float, float, list[str]]:
    result, _ = carry_out(plan("throughput", frame_bytes=[64], throughput=settings), device(toml))
    figure = result.rows[0].figures["throughput"]
    assert figure.bounds is not None and figure.bounds[0] == figure.value
    return figure.value, figure.bounds[1] - figure.value, result.remarks


def test_a_wire_rate_device_has_the_throughput_of_the_link() -> None:
    value, uncertainty, _ = throughput_of("", trial_s=2)
    assert value == pytest.approx(0.9998 * LINE_64, rel=1e-6) and value + uncertainty == LINE_64


@pytest.mark.parametrize("share", [0.9, 0.5, 0.123, 0.02])
def test_throughput_finds_the_service_rate(share: float) -> None:
    # A small buffer, so that a surplus of 0.1 % fills it within the trial.
    toml = f"[output]\nservice_bits_per_second = {share * 1e9}\nbuffer_bytes = 2000"
    value, uncertainty, _ = throughput_of(toml, trial_s=2)
    truth = share * LINE_64
    assert value <= truth * 1.0005
    assert truth <= (value + uncertainty) * 1.0005
    assert uncertainty <= 0.0011 * truth


def test_throughput_is_decided_by_a_trial_of_full_length() -> None:
    # The buffer hides a surplus of 1 % for 2.5 s: short trials alone would report too much.
    toml = "[output]\nservice_bits_per_second = 5e8\nbuffer_bytes = 1_600_000"
    value, _, _ = throughput_of(toml, search_s=0.3, trial_s=10)
    assert value <= 0.5 * LINE_64 * 1.005


def test_a_device_that_always_loses_has_no_throughput() -> None:
    result, records = carry_out(
        plan("throughput", frame_bytes=[64], throughput={"trial_s": 0.1}), device("[loss]\nratio = 1.0")
    )
    assert result.rows[0].figures["throughput"].value == 0
    assert result.rows[0].remark == "no load passed without loss"
    assert len(records) < 60


def test_a_duplicating_device_cannot_hide_its_loss() -> None:
    toml = "[loss]\nratio = 0.01\n[faults]\nduplicate_ratio = 0.02"
    result, _ = carry_out(plan("throughput", frame_bytes=[64], throughput={"trial_s": 0.5}), device(toml))
    assert result.rows[0].figures["throughput"].value < 0.01 * LINE_64


def half_the_tester(index: int, trial: Trial, facts: Facts) -> Facts:
    """A tester that cannot offer more than 400 000 frames/s."""
    able = int(400_000 * trial.duration_ns / 1e9)
    if trial.frames <= able:
        return facts
    sent = facts.sent.model_copy(update={"offered_frames": able})
    tracked = facts.tracked.model_copy(update={"forwarded_frames": able, "lost_frames": 0})
    return facts_of(sent, tracked)


def test_what_the_tester_cannot_offer_is_its_limit_and_not_the_devices() -> None:
    result, records = carry_out(
        plan("throughput", frame_bytes=[64], throughput={"trial_s": 1}), device(""), half_the_tester
    )
    assert result.rows[0].figures["throughput"].value == pytest.approx(400_000, rel=0.11)
    assert result.rows[0].remark == "limited by the tester"
    assert any("limited by the tester" in remark for remark in result.remarks)
    assert not records[0].valid


def test_a_trial_spoiled_by_the_tester_is_repeated() -> None:
    def dropped_once(index: int, trial: Trial, facts: Facts) -> Facts:
        return facts_of(facts.sent, facts.tracked, dropped=3 if index == 0 else 0)

    result, records = carry_out(
        plan("throughput", frame_bytes=[64], throughput={"trial_s": 1}), device(""), dropped_once
    )
    assert records[0].invalid_because == ["the tester itself dropped 3 received frames"]
    assert result.rows[0].figures["throughput"].value == pytest.approx(0.9998 * LINE_64, rel=1e-6)


def test_latency_of_every_frame_and_of_the_tagged_one() -> None:
    result, records = carry_out(
        plan("latency", frame_bytes=[64, 1518], latency={"repetitions": 3, "trial_s": 4, "tag_after_s": 2}),
        device("[forwarding]\nns_per_byte = 8\nconstant_ns = 811"),
    )
    assert sum(record.trial.tag is not None for record in records) == 6
    for row in result.rows:
        truth = 8 * row.frame_bytes + 811
        for name in ("min", "mean", "max", "tagged"):
            assert row.figures[name].value == pytest.approx(truth)
        for name in ("p50", "p99", "p99.9"):
            assert row.figures[name].value == pytest.approx(truth)
        assert row.figures["pdv"].value == pytest.approx(0, abs=1e-6)
    assert "RFC 2544 §26.2: 3 repetitions instead of at least 20" in result.deviations


def test_latency_percentiles_of_a_known_jitter() -> None:
    result, _ = carry_out(
        plan(
            "latency",
            frame_bytes=[1518],
            latency={"repetitions": 2, "trial_s": 2, "tag_after_s": 1, "rate_fps": 20_000},
        ),
        device(
            '[forwarding]\nns_per_byte = 0\nconstant_ns = 10_000\n[jitter]\ndistribution = "uniform"\nspread_ns = 1000'
        ),
    )
    figures = result.rows[0].figures
    assert figures["p50"].value == pytest.approx(10_500, abs=80)
    assert figures["p99"].value == pytest.approx(10_990, abs=80)
    assert figures["mean"].value == pytest.approx(10_500, abs=10)


def test_loss_follows_the_service_rate_and_ends_after_two_clean_trials() -> None:
    result, _ = carry_out(
        plan("loss", frame_bytes=[64], loss={"trial_s": 2}),
        device("[output]\nservice_bits_per_second = 7.5e8\nbuffer_bytes = 2000"),
    )
    found = {row.figures["load"].value: row.figures["loss"].value for row in result.rows}
    assert list(found) == [100, 90, 80, 70, 60]
    for load, loss in found.items():
        assert loss == pytest.approx(max(0.0, 100 * (1 - 75 / load)), abs=0.01)


def test_loss_is_measured_below_what_the_tester_can_offer() -> None:
    result, _ = carry_out(plan("loss", frame_bytes=[64], loss={"trial_s": 1}), device(""), half_the_tester)
    assert [row.figures["loss"].value for row in result.rows] == [0, 0]
    assert "100 % is not the maximum of the link but the most the tester could offer: " in result.deviations[-1]


HELD_UP = "ax3630s-l3"
"""Its published line is what backlogs at random moments make of a sweep, and no input of its model."""
SWEPT = [device for device in list_devices() if device.published and device.name not in ("catalyst3750g", HELD_UP)]
"""Short trials find no line that was measured behind a full buffer: see the file of catalyst3750g."""


def test_a_line_through_backlogs_at_random_moments_contains_that_of_the_device() -> None:
    inside = 0
    for seed in range(1, 13):
        sizes = [*range(64, 16384, 1020), 16384]
        settings = {"trial_s": 0.3, "sample_s": 0.1}
        own = plan("sweep", tx="1", rx="2", frame_bytes=sizes, sweep=settings, seed=seed)
        result, _ = carry_out(own, find_device(HELD_UP))
        assert result.line is not None and result.line.slope.uncertainty is not None
        inside += abs(result.line.slope.value - 7.99) <= result.line.slope.uncertainty
        assert result.remarks[0].startswith("largest frame forwarded without loss: 9216 byte")
    assert inside >= 10


@pytest.mark.parametrize("published", SWEPT, ids=lambda device: device.name)
def test_sweep_finds_the_published_lines_and_largest_frames(published) -> None:
    # E1 Table 4.1: slope and constant within their published standard errors, the largest frame exactly.
    sizes = [*range(64, 16384, 1020), 16384]
    truth = published.published
    assert truth is not None
    one, other = (str(port) for port in truth.ports)
    settings = {"trial_s": 0.3, "sample_s": 0.1}
    result, _ = carry_out(plan("sweep", tx=one, rx=other, frame_bytes=sizes, sweep=settings), published)
    assert result.line is not None
    assert abs(result.line.slope.value - truth.slope_ns_per_byte) <= truth.slope_error_ns_per_byte
    assert abs(result.line.constant.value - truth.constant_ns) <= truth.constant_error_ns
    # Table 4.3 has LSW4-GT-8EP drop most frames above this size, which Table 4.1 does not count.
    lossless = published.loss.above_frame_bytes or truth.max_frame_bytes
    assert result.remarks[0].startswith(f"largest frame forwarded without loss: {lossless} byte")
    if lossless < truth.max_frame_bytes:
        assert result.remarks[1] == f"largest frame size of which a part was forwarded: {truth.max_frame_bytes} byte"
    drops = {row.frame_bytes: row.figures["drop"].value for row in result.rows}
    assert drops[lossless] == 0 < drops[lossless + 1]
    assert drops[truth.max_frame_bytes] < 100 == drops[truth.max_frame_bytes + 1]


def test_sweep_says_so_when_no_size_is_dropped() -> None:
    result, _ = carry_out(
        plan("sweep", frame_bytes=[64, 512, 1518], sweep={"trial_s": 0.1, "sample_s": 0.1}), device("")
    )
    assert "the limit lies above" in result.remarks[0]

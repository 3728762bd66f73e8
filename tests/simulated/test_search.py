"""The search for zero loss on devices that a careless one takes for better than they are, or never finishes with."""

import pytest
from support.one_stream import facts_of
from support.simulated_trials import carry_out, device, plan
from support.trials import drive

from keisoku.ground.run.result import Result
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.engine.simulated import SimulatedEngine, routes_between
from keisoku.subjects.device.engine.traffic import Traffic
from keisoku.subjects.device.method.method import begin
from keisoku.subjects.device.record.counts import Buckets, Sent
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

NO_WAITS = {"learning": False, "drain_s": 2, "rest_s": 0}
SLOW = "link_bits_per_second = 1e6\n"
LINE = 1e6 / (84 * 8)


def searched(toml: str, **settings: object) -> tuple[float, Result, list[TrialRecord]]:
    result, records = carry_out(
        plan("throughput", frame_bytes=[64], throughput=settings, phases=NO_WAITS), device(toml)
    )
    return result.rows[0].figures["throughput"].value, result, records


def buffered(share: float, hides_s: float, at: float = 1.0) -> str:
    """Serves `share` of the line; its buffer hides what a load of `at` of the line has too much for so long."""
    frames = max(1, round((at - share) * LINE * hides_s))
    return SLOW + f"[output]\nservice_bits_per_second = {share * 1e6}\nbuffer_bytes = {64 * frames}"


@pytest.mark.parametrize("hides_s", [50, 59])
def test_loss_that_begins_late_in_a_trial_decides_it(hides_s: float) -> None:
    # At the line rate nothing is lost for 50 s, or but in the last second.
    value, _, records = searched(buffered(0.99, hides_s, 0.9998))
    assert value < LINE * (0.99 + 0.01 * hides_s / 60)
    after_ns = records[0].facts.tracked.lost[0].after_ns
    assert after_ns is not None
    assert after_ns > (hides_s - 1) * 1e9


def test_a_stall_every_30_s_is_met_by_full_trials_only() -> None:
    # 20 ms of a stall at the line rate are 30 frames: the buffer holds 16, enough below 53 % of the line.
    toml = SLOW + "[stall]\nperiod_ns = 30_000_000_000\nduration_ns = 20_000_000\n[output]\nbuffer_bytes = 1024"
    value, _, _ = searched(toml, resolution_percent=1)
    assert 0.4 * LINE < value < 0.6 * LINE
    naive, _, _ = searched(toml, resolution_percent=1, trial_s=10)
    assert naive > 0.99 * LINE


def test_duplicates_do_not_make_up_for_loss() -> None:
    value, _, records = searched(SLOW + "[loss]\nratio = 0.1\n[faults]\nduplicate_ratio = 0.2", trial_s=20)
    assert value < 0.01 * LINE
    assert records[0].facts.stopped_for_loss


def test_a_device_that_takes_in_faster_than_it_puts_out_has_the_rate_of_its_output() -> None:
    value, _, _ = searched(buffered(0.7, 0.01), resolution_percent=0.5)
    assert 0.69 * LINE < value < 0.705 * LINE


def test_the_first_lost_frame_ends_a_trial_and_decides_the_same() -> None:
    toml = buffered(0.7, 0.01)
    value, _, stopped = searched(toml)
    same, _, whole = searched(toml, stop_at_loss=False)
    assert value == same
    assert [record.trial.frames_per_second for record in stopped] == [
        record.trial.frames_per_second for record in whole
    ]
    assert sum(record.engine_seconds for record in stopped) < 0.7 * sum(record.engine_seconds for record in whole)
    assert all(record.valid for record in stopped)


def test_the_ceiling_leaves_room_for_clocks_that_differ_by_200_ppm() -> None:
    # The device's output is 150 ppm slower than the tester: at 100 % its buffer of 2 frames fills within the trial.
    toml = "link_bits_per_second = 1e8\n[output]\nbuffer_bytes = 128\n[clock_offset_ppm]\n2 = -150"
    value, result, _ = searched(toml, trial_s=2)
    assert value == pytest.approx(0.9998 * 100 * LINE, rel=1e-5)
    assert result.remarks[0].startswith("RFC 2544 §26.1 at 99.98 %: ")
    whole, result, _ = searched(toml, trial_s=2, ceiling_percent=100)
    assert whole < 0.9998 * 100 * LINE
    assert not any("§26.1 at" in remark for remark in result.remarks)


def test_a_search_on_a_machine_that_is_always_busy_comes_to_an_end() -> None:
    def busy(index: int, trial: Trial, facts: Facts) -> Facts:
        return facts_of(facts.sent, facts.tracked, dropped=1)

    result, records = carry_out(
        plan("throughput", frame_bytes=[64], throughput={"trial_s": 1}, phases=NO_WAITS), device(SLOW), busy
    )
    # It comes down before it gives up: four trials at the first load, then two at a quarter of it, and so on.
    assert [round(record.trial.frames_per_second) for record in records] == [1488] * 4 + [372] * 2 + [93] * 2 + [23] * 2
    said = "no trial at 23 frames/s was valid: the tester itself dropped 1 received frame"
    assert result.rows[0].remark == said
    # The tester's own failure is never a figure of the device, and never a zero.
    assert result.rows[0].figures == {}
    assert result.nothing_because == f"nothing was measured: {said}"
    assert result.remarks[-1] == f"64 byte: {said}"


@pytest.mark.parametrize("method", ["throughput", "mlr"])
def test_a_search_comes_down_to_loads_that_a_busy_host_carries(method: str) -> None:
    """Above 200 frames/s the host spoils every trial: nothing was measured, although each lower load passes."""

    def busy(index: int, trial: Trial, facts: Facts) -> Facts:
        return facts_of(facts.sent, facts.tracked, dropped=1) if trial.frames_per_second > 200 else facts

    own = {"trial_s": 1.0} if method == "throughput" else {"trial_s": 1.0, "sum_s": 1.0}
    result, _ = carry_out(plan(method, frame_bytes=[64], phases=NO_WAITS, **{method: own}), device(SLOW), busy)
    figure = result.rows[0].figures["throughput"]
    assert figure.bound == "at least" and 90 < figure.value <= 200


def test_what_a_sender_sent_between_long_stops_is_no_load() -> None:
    """Of 100 Mframes/s, 1.7 ms in half a second: the account said 99.9 Mframes/s, the search began there and found no
    load that it could measure."""
    own = plan("throughput", frame_bytes=[64], throughput={"trial_s": 1}, phases=NO_WAITS)
    traffic = Traffic(routes_between(own.pairs()), own.contents())
    engine = SimulatedEngine(device(SLOW), [1, 2], traffic)
    unrated = engine.capabilities.model_copy(update={"link_bits_per_second": None})

    def stopped(index: int, trial: Trial, facts: Facts) -> Facts:
        if trial.frames_per_second < 1e6:
            return facts
        briefly = facts.sent.model_copy(update={"interrupted_ns": facts.sent.last_sent_ns - 1_700_000})
        return facts_of(briefly, facts.tracked)

    result, records = drive(
        "throughput", begin("throughput", own, unrated, Bias(exact=True), {}), engine, change=stopped
    )
    assert [record.valid for record in records[:5]] == [False] * 4 + [True]
    assert records[0].offered_fps == pytest.approx(LINE, rel=0.01)
    assert result is not None and result.rows[0].figures["throughput"].value == pytest.approx(0.9 * LINE, rel=0.01)


@pytest.mark.parametrize("starved", [1, 3, 99])
def test_a_tester_that_was_kept_from_sending_finds_no_load_that_it_did_not_send(starved: int) -> None:
    """Nothing was offered within the trial, so nothing was lost: "at least 100 Mframes/s" of a device of 1488."""
    own = plan("throughput", frame_bytes=[64], throughput={"trial_s": 1}, phases=NO_WAITS)
    traffic = Traffic(routes_between(own.pairs()), own.contents())
    engine = SimulatedEngine(device(SLOW), [1, 2], traffic)
    unrated = engine.capabilities.model_copy(update={"link_bits_per_second": None})
    method = begin("throughput", own, unrated, Bias(exact=True), {})

    def kept(index: int, trial: Trial, facts: Facts) -> Facts:
        if not trial.flat_out or index >= starved:
            return facts
        tracked = facts.tracked.model_copy(update={"received_frames": 0, "forwarded_frames": 0, "lost_frames": 0})
        nothing = Sent(
            offered_frames=0, first_sent_ns=0, last_sent_ns=0, lag_max_ns=0, postponed_ns=0, gaps=Buckets()
        )  # fmt: skip
        return facts_of(nothing, tracked)

    result, records = drive("throughput", method, engine, streams=0, change=kept)
    assert result is not None
    assert all(not record.valid for record in records[: min(starved, 4)])
    (row,) = result.rows
    if starved > 4:
        assert (row.figures, row.remark) == ({}, "the host kept the tester from sending in every attempt")
    else:
        figure = row.figures["throughput"]
        assert figure.value == pytest.approx(0.9 * LINE, rel=1e-3) and figure.bound == "at least"


@pytest.mark.parametrize("first", [1.0, 500.0, 1000.0, 1300.0, 1480.0])
@pytest.mark.parametrize("service", [0.2, 0.7, 1.0])
def test_where_a_search_begins_changes_the_number_of_trials_and_not_the_throughput(
    service: float, first: float
) -> None:
    toml = buffered(service, 0.01)
    value, _, records = searched(toml, resolution_percent=1, first=((64, first),))
    assert value == pytest.approx(searched(toml, resolution_percent=1)[0], rel=0.015)
    assert records[0].trial.frames_per_second == pytest.approx(first, rel=0.001)


def test_a_search_that_begins_near_the_throughput_needs_fewer_trials() -> None:
    toml = buffered(0.21, 0.01)
    _, _, far = searched(toml, resolution_percent=1)
    _, _, near = searched(toml, resolution_percent=1, first=((64, 0.2 * LINE),))
    assert len(near) < len(far)

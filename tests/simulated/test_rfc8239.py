"""RFC 8239's procedures on simulated devices whose buffers, rates and latencies are known."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from support.simulated_trials import carry_out, device, plan
from support.trials import drive

from keisoku.errors import PlanError
from keisoku.ground.run.result import Result, Row
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.engine.simulated import SimulatedEngine, routes_between
from keisoku.subjects.device.engine.traffic import Traffic
from keisoku.subjects.device.method.method import begin
from keisoku.subjects.device.record.counts import Buckets, Latency, Sent
from keisoku.subjects.device.record.facts import Facts, Transmitter
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

LINE_512 = 1e9 / (532 * 8)
NOTHING_SENT: dict[str, Any] = {
    "offered_frames": 0,
    "first_sent_ns": 0,
    "last_sent_ns": 0,
    "lag_max_ns": 0,
    "postponed_ns": 0,
    "gaps": Buckets(),
}
BUFFERED = "[output]\nbuffer_bytes = 20_000"


def carried(
    method: str, toml: str, ports: int = 3, sizes: tuple[int, ...] = (512,), **settings: Any
) -> tuple[Result, list[TrialRecord]]:
    numbers = [str(port + 1) for port in range(ports)]
    own = plan(method, ports=numbers, frame_bytes=sizes, **{method: settings})
    return carry_out(own, device(f"ports = {max(ports, 2)}\n{toml}"))


def measured(method: str, toml: str, ports: int = 3, sizes: tuple[int, ...] = (512,), **settings: Any) -> Result:
    return carried(method, toml, ports, sizes, **settings)[0]


def only(result: Result) -> Row:
    assert len(result.rows) == 1, result.rows
    return result.rows[0]


def value(row: Row, figure: str) -> float:
    return row.figures[figure].value


@pytest.mark.parametrize("service", ["", "service_bits_per_second = 6e8", "service_bits_per_second = 3e8"])
@pytest.mark.parametrize(("size", "buffer"), [(64, 3000), (512, 20_000), (1518, 150_000), (9216, 100_000)])
def test_buffering_finds_the_buffer_within_one_frame(size: int, buffer: int, service: str) -> None:
    toml = f"[output]\nbuffer_bytes = {buffer}\n{service}"
    row = only(measured("buffering", toml, sizes=(size,), cases=["port"], outputs="last", repetitions=1))
    whole = buffer // size * size
    assert value(row, "buffer") == whole
    assert row.figures["buffer"].uncertainty == size > buffer - whole
    assert value(row, "counted") == pytest.approx(whole, abs=size)
    drain_ns = (size + 20) * 8e9 / (float(service.split("=")[1]) if service else 1e9)
    assert value(row, "buffer_time") == pytest.approx(buffer // size * drain_ns, rel=1e-4)


@pytest.mark.parametrize("percent", [0.5, 1.0, 2.0, 10.0])
def test_the_inflection_comes_when_the_surplus_has_filled_the_buffer(percent: float) -> None:
    settings: dict[str, Any] = {
        "cases": ["port"],
        "outputs": "last",
        "repetitions": 1,
        "oversubscription_percent": percent,
    }
    result = measured("buffering", BUFFERED, **settings)
    # Of each extra frame 0.02 % of the line rate passes by, which the first input leaves.
    extra = (20_000 // 512 - 1) * percent / (percent - 0.02)
    row = only(result)
    assert value(row, "extra") == pytest.approx(extra, abs=2)
    assert value(row, "buffer") == 20_000 // 512 * 512
    assert any("oversubscribed by" in deviation for deviation in result.deviations) == (percent != 1)


def test_every_output_and_every_case_has_its_row() -> None:
    result = measured("buffering", BUFFERED, ports=4, repetitions=2)
    cases = [row.case for row in result.rows]
    assert cases == [
        "4 and 2 to 1",
        "1 and 3 to 2",
        "2 and 4 to 3",
        "3 and 1 to 4",
        "all pairs: to 2",
        "all pairs: to 4",
        "all to 1",
        "all to 2",
        "all to 3",
        "all to 4",
    ]
    assert {value(row, "buffer") for row in result.rows} == {19_968}
    assert {value(row, "variation") for row in result.rows} == {0}


def test_random_loss_is_not_taken_for_a_full_buffer() -> None:
    toml = f"{BUFFERED}\n[loss]\nratio = 0.01"
    row = only(measured("buffering", toml, cases=["port"], outputs="last", repetitions=1, oversubscription_percent=5))
    assert value(row, "buffer") == pytest.approx(19_968, abs=512)


def test_a_slower_input_has_its_own_latency_and_the_same_buffer() -> None:
    toml = f"{BUFFERED}\n[[pair]]\nfrom_ports = [1]\nto_ports = [3]\nextra_latency_ns = 50_000"
    row = only(measured("buffering", toml, cases=["many-to-one"], outputs="last", repetitions=1))
    assert value(row, "buffer") == 19_968


def test_latency_that_scatters_by_itself_makes_the_buffer_less_sure() -> None:
    toml = f'{BUFFERED}\n[jitter]\ndistribution = "uniform"\nspread_ns = 9000'
    row = only(measured("buffering", toml, cases=["port"], outputs="last", repetitions=2))
    uncertainty = row.figures["buffer"].uncertainty
    assert uncertainty is not None and 512 < uncertainty < 5 * 512
    assert abs(value(row, "buffer") - 20_000) <= uncertainty


def test_an_output_that_holds_all_of_it_has_no_buffer_size() -> None:
    row = only(measured("buffering", BUFFERED, cases=["port"], outputs="last", limit_s=1e-3))
    assert not row.figures
    assert "did not become constant" in row.remark


@pytest.mark.parametrize("method", ["buffering", "microburst"])
def test_frames_that_were_in_the_buffer_before_are_noticed(method: str) -> None:
    def later(latency: Latency | None) -> Latency | None:
        if latency is None:
            return None
        return latency.model_copy(update={"min_ns": latency.min_ns + 9000, "max_ns": latency.max_ns + 9000})

    def full_before(index: int, trial: Trial, facts: Facts) -> Facts:
        if "alone" in trial.purpose:
            return facts
        streams = [
            one.model_copy(update={"tracked": one.tracked.model_copy(update={"latency": later(one.tracked.latency)})})
            for one in facts.streams
        ]
        return facts.model_copy(update={"streams": streams})

    own = plan(method, ports=["1", "2", "3"], frame_bytes=[512], **{method: {"outputs": "last"}})
    result, _ = carry_out(own, device(f"ports = 3\n{BUFFERED}"), full_before)
    assert all("was not empty" in row.remark for row in result.rows)


def test_without_a_link_rate_full_is_what_the_tester_offers_on_the_ports_that_send() -> None:
    own = plan("microburst", ports=["1", "2", "3"], frame_bytes=[512], microburst={"outputs": "last"})
    traffic = Traffic(routes_between(own.pairs()), own.contents())
    engine = SimulatedEngine(device(f"ports = 3\n{BUFFERED}"), [1, 2, 3], traffic)
    unrated = engine.capabilities.model_copy(update={"link_bits_per_second": None})
    method = begin("microburst", own, unrated, Bias(exact=True), {})

    def with_idle_port(_: int, trial: Trial, facts: Facts) -> Facts:
        """Real engines report every port, also one that has nothing to send."""
        idle = Transmitter(port=2, sent=Sent(**NOTHING_SENT), stamp="")
        return facts.model_copy(update={"transmitters": [*facts.transmitters, idle]})

    result, records = drive("microburst", method, engine, streams=0, change=with_idle_port)
    assert result is not None
    assert records[0].offered_fps == pytest.approx(LINE_512, rel=1e-4)
    assert records[-1].trial.frames_per_second == pytest.approx(0.97 * LINE_512, rel=1e-3)
    assert value(only(result), "buffer") == 19_968
    assert any("the link has no rate" in deviation for deviation in result.deviations)


def test_a_flow_that_never_arrives_is_named() -> None:
    row = only(measured("buffering", "max_frame_bytes = 256", cases=["port"], outputs="last"))
    assert not row.figures
    assert row.remark == "a flow that is sent alone does not arrive"


def test_the_size_that_fills_the_buffer_best_is_named() -> None:
    result = measured("buffering", BUFFERED, sizes=(64, 1518), cases=["port"], outputs="last", repetitions=1)
    assert [value(row, "buffer") for row in result.rows] == [19_968, 19_734]
    assert "frames of 64 byte" in result.remarks[0]


@pytest.mark.parametrize(("method", "least"), [("buffering", 3), ("microburst", 3), ("head_of_line", 4), ("incast", 3)])
def test_too_few_ports_are_refused(method: str, least: int) -> None:
    with pytest.raises(PlanError, match=f"needs {least} ports"):
        measured(method, "", ports=least - 1)


def test_frames_of_a_mix_or_of_other_pacing_are_refused() -> None:
    for given in ({"pacing": "poisson"}, {"frame_bytes": "64:1,512:1"}):
        with pytest.raises(PlanError, match=r"microburst (sets the times|is for)"):
            carry_out(plan("microburst", ports=["1", "2", "3"], **given), device("ports = 3"))


@pytest.mark.parametrize("service", [1e9, 4e8])
@pytest.mark.parametrize("senders", [2, 3, 5])
def test_microburst_finds_the_largest_burst_without_loss(senders: int, service: float) -> None:
    toml = f"[output]\nbuffer_bytes = 20_000\nservice_bits_per_second = {service:g}"
    result = measured("microburst", toml, ports=senders + 1, outputs="last", repetitions=2)
    row = only(result)
    frames = 20_000 // 512
    # While n frames come from each of the senders, so many leave, from the second slot on.
    largest = max(n for n in range(1, 99) if senders * n - math.floor((n - 1) * service / 1e9) <= frames)
    assert value(row, "burst") == largest
    assert value(row, "microburst") == senders * largest
    assert row.figures["microburst"].uncertainty == senders
    assert value(row, "buffer") == frames * 512
    assert row.remark == ""


def test_a_burst_of_less_intensity_may_be_longer() -> None:
    result = measured("microburst", BUFFERED, outputs="last", repetitions=1, intensity_percent=75)
    # Two senders of 75 % leave half of a line's rate in the buffer.
    assert value(only(result), "burst") == pytest.approx(0.75 * 2 * 38, abs=2)
    assert "intensity of 75 %" in result.deviations[1]


def test_a_buffer_that_no_burst_fills_is_said_to_be_larger() -> None:
    row = only(measured("microburst", "", outputs="last", limit_s=1e-4))
    assert "no loss up to bursts of 0.0001 s" in row.remark
    assert "buffer" not in row.figures


def test_what_the_tester_cannot_send_is_no_loss_of_the_device() -> None:
    def dropping(index: int, trial: Trial, facts: Facts) -> Facts:
        if "from each" not in trial.purpose or trial.frames_of(0) < 100:
            return facts
        receivers = [one.model_copy(update={"tester_dropped_frames": 5}) for one in facts.receivers]
        return facts.model_copy(update={"receivers": receivers})

    own = plan("microburst", ports=["1", "2", "3"], frame_bytes=[512], microburst={"outputs": "last"})
    result, _ = carry_out(own, device("ports = 3"), dropping)
    row = only(result)
    assert value(row, "burst") == 99
    assert row.remark.startswith("limited by the tester: the tester itself dropped 5")


def test_a_device_without_head_of_line_blocking_spares_the_free_output() -> None:
    result, records = carried("head_of_line", "", ports=8, trial_s=0.05, shifts=2)
    assert [row.case for row in result.rows] == [
        "1 to 3, while 1 and 2 send to 4",
        "5 to 7, while 5 and 6 send to 8",
        "2 to 4, while 2 and 3 send to 5",
        "6 to 8, while 6 and 7 send to 1",
    ]
    for row in result.rows:
        assert value(row, "loss") == value(row, "alone") == value(row, "delay") == 0
        assert 25 < value(row, "congested") < 100 / 3
        assert row.remark == ""
    assert len(records) == 4


def test_loss_that_needs_no_congestion_is_no_head_of_line_blocking() -> None:
    toml = "[output]\nservice_bits_per_second = 4e8\nbuffer_bytes = 5000"
    row = measured("head_of_line", toml, ports=4, trial_s=0.05, shifts=1).rows[0]
    assert value(row, "loss") == value(row, "alone") > 15
    assert row.remark == ""


def test_an_output_that_was_not_congested_proves_nothing() -> None:
    row = measured("head_of_line", "", ports=4, trial_s=0.01, shifts=1, load_percent=50).rows[0]
    assert "was not congested" in row.remark


def test_incast_tells_each_flows_goodput_and_latency() -> None:
    result = measured("incast", "", ports=4, trial_s=0.1, burst_frames=20, period_s=0.01)
    cases = [row.case for row in result.rows]
    assert cases == ["1 to 4, steady", "2 to 4, bursts of 20", "3 to 4, bursts of 20", "all to 4"]
    payload_bits = (512 - 46) * 8
    for row in result.rows[1:3]:
        assert value(row, "goodput") == 20 / 0.01 * payload_bits
        assert value(row, "loss") == 0
        # The last frame of a burst waits for the other's: both come at line rate, one leaves at a time.
        least_ns = 512 * 8
        assert value(row, "max") == pytest.approx(least_ns + 40 * 4256, rel=0.05)
    assert value(result.rows[0], "goodput") == pytest.approx((0.9998 * LINE_512 - 4000) * payload_bits, rel=1e-4)
    assert value(result.rows[3], "goodput") == pytest.approx(0.9998 * LINE_512 * payload_bits, rel=1e-4)
    assert "are sent in place of TCP" in result.deviations[0]


def test_incast_bursts_larger_than_the_buffer_lose_what_does_not_fit() -> None:
    toml = "[output]\nbuffer_bytes = 20_480"
    result = measured("incast", toml, ports=5, trial_s=0.05, steady_ports=0, burst_frames=20, period_s=0.01)
    # Four bursts of 20: 19 leave while they come, 40 fit, the other 21 are lost.
    assert value(result.rows[-1], "loss") == pytest.approx(100 * 21 / 80)
    assert len(result.rows) == 5


def test_bursts_that_leave_no_room_are_refused() -> None:
    with pytest.raises(PlanError, match="alone overload"):
        measured("incast", "", burst_frames=10_000, period_s=0.01)
    with pytest.raises(PlanError, match="none is left for bursts"):
        measured("incast", "", steady_ports=2)


def test_line_rate_has_all_definitions_of_latency_and_jitter_as_delay_variation() -> None:
    toml = "[forwarding]\nns_per_byte = 8.0\nconstant_ns = 800\n[[pair]]\nfrom_ports = [1]\nto_ports = [2]\n"
    toml += "extra_latency_ns = 300"
    result, records = carried("line_rate", toml, ports=4, sizes=(64, 512), trial_s=0.01)
    assert [row.case for row in result.rows] == ["port pairs", "full mesh"] * 2
    for row in result.rows[::2]:
        frame_ns = row.frame_bytes * 8
        assert value(row, "line_share") == pytest.approx(99.98, abs=0.05)
        assert value(row, "lost") == 0
        assert value(row, "min") == 800 + frame_ns
        assert value(row, "max") == 1100 + frame_ns
        assert value(row, "filo_max") == 1100 + 2 * frame_ns
        assert value(row, "filo") - value(row, "lifo") == 2 * frame_ns
        # Each flow has one latency: that flows differ is no jitter.
        assert value(row, "jitter") == value(row, "jitter_max") == 0
    assert all(record.trial.flows for record in records)
    assert any(deviation.startswith("RFC 8239 §2.3: frame sizes 128") for deviation in result.deviations)


def test_jitter_is_the_delay_variation_of_all_frames() -> None:
    toml = '[jitter]\ndistribution = "uniform"\nspread_ns = 1000'
    for row in measured("line_rate", toml, ports=2, sizes=(1518,), trial_s=0.2, loads_percent=[50]).rows:
        assert value(row, "jitter") == pytest.approx(500, rel=0.03)
        assert value(row, "jitter_p99") == pytest.approx(990, rel=0.01)
        assert value(row, "jitter_max") == pytest.approx(1000, rel=0.01)
        assert value(row, "load") == 50


def test_no_clock_within_its_tolerance_fills_a_buffer_at_line_rate() -> None:
    ports = "\n".join(f"{port} = {ppm}" for port, ppm in ((1, -100.0), (2, -199.0)))
    row = measured("line_rate", f"[clock_offset_ppm]\n{ports}", ports=2, trial_s=0.2).rows[0]
    assert value(row, "jitter_max") < 1  # frames are due in whole ns


def test_more_than_99_98_percent_is_refused() -> None:
    with pytest.raises(PlanError, match=r"loads_percent"):
        plan("line_rate", ports=["1", "2"], line_rate={"loads_percent": [100]})


def test_a_microbursts_buffer_holds_the_truth_where_latency_scatters() -> None:
    chance, hits = random.Random(3), 0
    for _ in range(60):
        size, spread_ns = 512, 10 ** chance.uniform(1, 3.7)
        buffer = round(size * chance.uniform(4, 60))
        toml = (
            f'ports = 3\n[output]\nbuffer_bytes = {buffer}\n[jitter]\ndistribution = "uniform"\nspread_ns = {spread_ns}'
        )
        source = plan(
            "microburst",
            frame_bytes=[size],
            ports=["1", "2", "3"],
            seed=chance.randrange(1000),
            microburst={"outputs": "last", "limit_s": 0.05},
        )
        lower, upper = carry_out(source, device(toml))[0].rows[0].figures["buffer"].bounds or (0, 0)
        hits += lower <= buffer <= upper
        assert upper - lower < size * (2.5 + 4 * spread_ns / 4256)
    assert hits >= 58  # of 95 %

"""The estimators of the one-packet method on synthetic round trips whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.virtual_path import Limiter, rfc792, rfc1812, whole

from keisoku.subjects.path.one_packet.fit.covariance import FORWARD, REVERSE
from keisoku.subjects.path.one_packet.fit.minimum import hop_samples
from keisoku.subjects.path.one_packet.fit.quantile import refine
from keisoku.subjects.path.one_packet.fit.segment import Span, fit_hop, lows, rate
from keisoku.subjects.path.one_packet.fit.slope import fit_slopes, identifiable, theil_sen
from keisoku.subjects.path.one_packet.judgement.flags import flags_of
from keisoku.subjects.path.one_packet.judgement.path import fit_path
from keisoku.subjects.path.one_packet.judgement.quoting import classify
from keisoku.subjects.path.one_packet.judgement.sources import repetitions, source_rows
from keisoku.subjects.path.one_packet.judgement.train import dispersions
from keisoku.subjects.path.one_packet.probe import HopProbe, by_source, from_row
from keisoku.subjects.path.one_packet.probing.icmp_limit import IcmpLimit
from keisoku.subjects.path.one_packet.probing.sizes import probe_sizes

Floats = NDArray[np.float64]
SIZES = np.array(probe_sizes(1500), dtype=np.float64)


def replies_of(quote: object) -> Floats:
    return np.array([quote(int(size)) for size in SIZES], dtype=np.float64)  # type: ignore[operator]


def rtt(forward_bps: float, reverse_bps: float, replies: Floats, fixed: float = 30_000.0) -> Floats:
    return fixed + 8e9 / forward_bps * SIZES + 8e9 / reverse_bps * replies


@pytest.mark.parametrize(("forward", "reverse"), [(100e6, 100e6), (100e6, 10e6), (10e6, 100e6), (1e9, 1e9)])
def test_fit_tells_the_ways_apart(forward: float, reverse: float) -> None:
    replies = replies_of(rfc1812)
    fit = fit_slopes(SIZES, replies, rtt(forward, reverse, replies))
    assert fit.kind == "both"
    assert 8e9 / fit.forward == pytest.approx(forward, rel=1e-6)
    assert fit.reverse is not None
    assert 8e9 / fit.reverse == pytest.approx(reverse, rel=1e-6)
    assert fit.fixed == pytest.approx(30_000.0, abs=1)


def test_naive_slope_falls_for_the_kink_that_the_fit_sees() -> None:
    replies = replies_of(rfc1812)
    times = rtt(100e6, 10e6, replies)
    naive = np.polyfit(SIZES, times, 1)[0]
    assert 8e9 / naive < 70e6
    assert 8e9 / fit_slopes(SIZES, replies, times).forward == pytest.approx(100e6, rel=1e-6)


def test_constant_replies_leave_reverse_unknown_and_growing_ones_give_the_sum() -> None:
    constant, growing = replies_of(rfc792), replies_of(whole)
    fit = fit_slopes(SIZES, constant, rtt(100e6, 10e6, constant))
    assert (fit.kind, fit.reverse) == ("forward", None)
    assert 8e9 / fit.forward == pytest.approx(100e6, rel=1e-6)
    both = fit_slopes(SIZES, growing, rtt(100e6, 50e6, growing))
    assert both.kind == identifiable(SIZES, growing) == "sum"
    assert both.forward == pytest.approx(80 + 160, rel=1e-6)


def test_delayed_minima_do_not_move_the_slope() -> None:
    generator = np.random.default_rng(3)
    replies = replies_of(rfc1812)
    clean = rtt(100e6, 100e6, replies) + generator.exponential(300.0, SIZES.size)
    spoilt = clean.copy()
    spoilt[generator.choice(SIZES.size, 12, replace=False)] += generator.uniform(20_000, 5e6, 12)
    fit = fit_slopes(SIZES, replies, spoilt)
    assert 8e9 / fit.forward == pytest.approx(100e6, rel=0.02)
    assert fit.kept.sum() <= SIZES.size - 10
    assert theil_sen(SIZES, replies, clean, "both")[0] == pytest.approx(80, rel=0.02)


@given(
    forward=st.floats(1e6, 1e10),
    reverse=st.floats(1e6, 1e10),
    spoilt=st.sets(st.integers(0, SIZES.size - 1), max_size=6),
    delay=st.floats(1e5, 1e9),
)
def test_any_few_delayed_sizes_are_trimmed(forward: float, reverse: float, spoilt: set[int], delay: float) -> None:
    replies = replies_of(rfc1812)
    times = rtt(forward, reverse, replies)
    times[sorted(spoilt)] += delay
    growing = replies < 576
    if sum(bool(growing[place]) for place in spoilt) > 3:
        return  # too few sizes below the kink are left to know the way back
    fit = fit_slopes(SIZES, replies, times)
    assert fit.forward == pytest.approx(8e9 / forward, rel=1e-3, abs=1e-3)


def late_cells(generator: np.random.Generator, repeats: int, tens_of_us: float) -> tuple[Floats, ...]:
    """Round trips by cell of a host that is hardly ever in time, 100 Mb/s both ways."""
    times = rtt(100e6, 100e6, replies_of(rfc1812))
    return tuple(np.sort(time + np.maximum(0.0, generator.normal(30e3, 10e3 * tens_of_us, repeats))) for time in times)


def test_quantile_of_all_round_trips_is_known_better_than_quantiles_of_few() -> None:
    generator = np.random.default_rng(12)
    replies, level = replies_of(rfc1812), 0.2
    errors = []
    for _ in range(100):
        cells = late_cells(generator, 20, 1.0)
        fit = fit_slopes(SIZES, replies, np.array([np.quantile(cell, level) for cell in cells]))
        refined = refine(fit, SIZES, replies, cells, level)
        errors.append((fit.forward - 80, refined.forward - 80))
    before, after = np.sqrt((np.array(errors) ** 2).mean(axis=0))
    assert after < 0.95 * before
    assert refined.reverse is not None
    assert refined.reverse == pytest.approx(80, rel=0.2)


def test_low_quantile_stands_for_the_minimum_only_where_it_is_known_better() -> None:
    generator = np.random.default_rng(12)
    times = rtt(100e6, 100e6, replies_of(rfc1812))
    # Most answers are hardly late, and the more of them there are, the nearer comes the earliest.
    quiet = tuple(time + 2e6 * generator.random(60) ** 3 for time in times)
    for cells, raised in ((late_cells(generator, 60, 1.0), True), (quiet, False)):
        rows = zip(SIZES, cells, strict=True)
        probes = [hop(1, int(size), round(one)) for size, cell in rows for one in cell]
        fitted = fit_hop(hop_samples(probes)[0])
        assert (fitted.level > 0) is raised
        assert fitted.fit.forward == pytest.approx(80, abs=4 * fitted.known.error((FORWARD,)))
        # Latency is that of an undelayed packet all the same: lower than what was fitted.
        assert fitted.fixed <= fitted.fit.fixed
        assert fitted.fitted == pytest.approx(lows(fitted.samples, fitted.level))


def test_too_few_sizes_are_refused() -> None:
    few = np.array([64.0, 64.0, 128.0])
    with pytest.raises(ValueError, match="three different"):
        fit_slopes(few, few * 0 + 56, few)


@pytest.mark.parametrize(
    ("quote", "style", "kink"),
    [
        (rfc792, "rfc792", None),
        (rfc1812, "rfc1812", 548),
        (whole, "whole", None),
        (lambda size: 36 + 128, "constant", None),
        (lambda size: min(size + 28, 1028), "other", 1000),
        (lambda size: 56 + size % 7, "other", None),
    ],
)
def test_quoting_styles(quote: object, style: str, kink: int | None) -> None:
    found = classify(SIZES.astype(int).tolist(), replies_of(quote).astype(int).tolist())
    assert (found.style, found.kink_bytes) == (style, kink)


@pytest.mark.parametrize(("mtu", "style", "kink"), [(1500, "rfc4443", 1232), (1400, "rfc4443", 1232)])
def test_routers_of_ipv6_quote_more(mtu: int, style: str, kink: int | None) -> None:
    sizes = probe_sizes(mtu, of_ipv6=True)
    assert max(sizes) == mtu
    found = classify(sizes, [min(size + 48, 1280) for size in sizes])
    assert (found.style, found.kink_bytes) == (style, kink)


def test_quoting_of_a_single_size_is_unknown() -> None:
    assert classify([64, 64], [92, 92]).style == "unknown"


@given(st.integers(68, 65535))
def test_sizes_fit_the_path_and_are_enough(mtu: int) -> None:
    sizes = probe_sizes(mtu)
    assert sizes == sorted(set(sizes))
    assert max(sizes) <= mtu
    if mtu >= 1500:
        assert max(sizes) == mtu
        assert sum(size <= 548 for size in sizes) >= 8
        assert sum(size >= 576 for size in sizes) >= 24


def hop(number: int, size: int, rtt_ns: int | None, replier: str = "10.0.0.1", ttl: int = 63) -> HopProbe:
    if rtt_ns is None:
        return HopProbe(number, size, 0)
    return HopProbe(number, size, 0, rtt_ns, min(size + 28, 576), replier, ttl, 11, 0)


def test_mixed_paths_are_left_out_and_counted() -> None:
    probes = [hop(1, size, 1000 + size) for size in (100, 200, 300)] * 3
    probes += [hop(1, 100, 5, "10.9.9.9"), hop(1, 200, 7, ttl=60), hop(1, 300, None)]
    (samples,) = hop_samples(probes)
    assert samples.mixed == 2
    assert samples.others == {"10.9.9.9": 1, f"{samples.replier} (reply TTL 60)": 1}
    assert (samples.sent, samples.answered, samples.repeats) == (12, 11, 3)
    assert samples.minima.tolist() == [1100, 1200, 1300]


def test_rows_survive_the_disk() -> None:
    probe = hop(2, 100, 17)
    assert from_row(probe.row()) == probe


@pytest.mark.parametrize("late", [False, True], ids=["on time", "late host"])
def test_half_widths_were_eight_times_the_errors(late: bool) -> None:
    """An interval holds the truth nineteen times in twenty, and is about three times as wide as the median error."""
    generator = np.random.default_rng(5)
    replies, held, errors, widths = replies_of(rfc1812), [], [], []
    for _ in range(60):
        times = rtt(100e6, 100e6, replies)
        wait = (lambda: max(0.0, generator.normal(30e3, 10e3))) if late else (lambda: 0.0)
        probes = [
            hop(1, int(size), round(time + generator.exponential(2000.0) + wait()))
            for _ in range(16)
            for size, time in zip(SIZES, times, strict=True)
        ]
        fitted = fit_hop(hop_samples(probes)[0])
        found = np.array([fitted.fit.forward, fitted.fit.reverse or np.nan])
        half = np.array([fitted.known.half_width((column,)) for column in (FORWARD, REVERSE)])
        errors.append(np.abs(found - 80))
        widths.append(half)
        held.append(np.abs(found - 80) <= half)
    assert (np.mean(held, axis=0) >= 0.9).all()
    assert (np.median(widths, axis=0) <= 4 * np.median(errors, axis=0)).all()


def test_lengths_that_cost_a_host_more_widen_the_interval() -> None:
    """A step of 2 µs at some lengths is no scatter of round trips: many of them do not make it known better."""
    generator = np.random.default_rng(6)
    times = rtt(100e6, 100e6, replies_of(rfc1812))
    uneven = times + 2000.0 * generator.integers(0, 2, SIZES.size)
    widths = []
    for each in (times, uneven):
        probes = [
            hop(1, int(size), round(time + max(0.0, generator.normal(3e3, 1e3))))
            for _ in range(200)
            for size, time in zip(SIZES, each, strict=True)
        ]
        fitted = fit_hop(hop_samples(probes)[0])
        widths.append(fitted.known.half_width((FORWARD,)))
        assert abs(fitted.fit.forward - 80) <= widths[-1]
    assert widths[1] > 3 * widths[0]


def test_rate_of_a_slope_that_may_be_none() -> None:
    assert rate(Span(80.0, 76.0, 84.0)) == Span(8e9 / 80, 8e9 / 84, 8e9 / 76)
    assert rate(Span(0.1, 0.05, 0.2)) is None
    assert rate(Span(10.0, -1.0, 21.0)) is None


def drive(limiter: Limiter, seconds: float) -> tuple[IcmpLimit, int, int]:
    """Probes as early as the model allows; (model, sent, answered)."""
    model, now, sent, answered = IcmpLimit(), 0, 0, 0
    while now < seconds * 1e9:
        now = max(now + 2_000_000, model.next_ns())
        sent += 1
        got = limiter.allows(now)
        answered += got
        model.observe(now, got)
        now += 1_000_000 if got else 100_000_000
    return model, sent, answered


@pytest.mark.parametrize(("interval_s", "burst"), [(1.0, 6), (0.5, 10), (3.0, 1)])
def test_limit_is_learnt_and_then_hardly_met(interval_s: float, burst: int) -> None:
    limiter = Limiter(round(interval_s * 1e9), burst, tokens_ns=burst * interval_s * 1e9)
    model, sent, answered = drive(limiter, 100.0 * interval_s)
    assert model.burst == burst
    assert model.interval_ns == pytest.approx(interval_s * 1e9, rel=0.05)
    assert answered >= 0.9 * 100
    assert answered >= 0.6 * sent


def test_two_losses_by_chance_are_forgotten() -> None:
    model, now = IcmpLimit(), 0
    for number in range(400):
        now = max(now + 2_000_000, model.next_ns())
        model.observe(now, number not in (50, 51))
    assert not model.limited


def test_train_shows_the_slowest_stage_and_not_the_sum() -> None:
    packets = []
    for place in range(12):
        size = 1500 - place
        answered = place in (0, 11)
        arrival = 1_000_000 + sum(8e9 * (1500 - before) / 100e6 for before in range(1, place + 1))
        sent = 2000 * place
        rtt_ns = round(arrival - sent) if answered else None
        packets.append(hop(2, size, rtt_ns)._replace(sent_ns=sent, train=0, place=place))
    found = dispersions(packets)[2]
    assert found.rate == pytest.approx(100e6, rel=1e-3)
    assert not found.limited_by_sender


def test_a_train_that_waited_at_this_hosts_own_port_was_not_sent_slowly() -> None:
    """The kernel stamps behind a shaper there, so that packets seemed to have left no faster than they arrived."""
    packets = []
    for place in range(12):
        left = 1_000_000 + 120_000 * place
        packets.append(hop(1, 1500 - place, 50_000)._replace(sent_ns=left, train=0, place=place))
    assert dispersions(packets)[1].limited_by_sender
    handed = [packet._replace(handed_ns=1_000_000 + 2000 * packet.place) for packet in packets]
    assert not dispersions(handed)[1].limited_by_sender
    assert dispersions(handed)[1].rate == dispersions(packets)[1].rate


def test_sources_of_time_differ_by_their_noise() -> None:
    generator = np.random.default_rng(9)
    times = rtt(100e6, 100e6, replies_of(rfc1812))
    probes = []
    for _ in range(40):
        for size, true in zip(SIZES, times, strict=True):
            kernel, user = round(true + generator.normal(0, 20.0)), round(true + generator.normal(0, 2000.0))
            probes.append(hop(1, int(size), kernel)._replace(rtt_tsc_ns=user))
    assert [len(one) for one in repetitions(probes)] == [4 * SIZES.size] * 10
    rows = {row.case: row for row in source_rows(probes, {"kernel": 20 / 2**0.5, "user-tsc": 2000 / 2**0.5})}
    kernel_row, user_row = rows["hop 1, kernel"].figures, rows["hop 1, user-tsc"].figures
    assert kernel_row["mean"].value == pytest.approx(100, rel=1e-3)
    assert user_row["variance"].value > 1000 * kernel_row["variance"].value
    for row in (kernel_row, user_row):
        assert 0.1 < row["clock_predicted"].value / row["variance"].value < 10
    assert "hop 1, user-gettimeofday" not in rows
    assert by_source(probes, "user-gettimeofday")[0].rtt_ns is None


def test_too_few_repeats_make_no_repetitions() -> None:
    assert source_rows([hop(1, size, 1000) for size in (64, 100, 200)] * 8, {}) == []


def test_trains_that_a_busy_host_sent_slowly_ruled_no_shaper_out() -> None:
    """'A shaper with a large burst' was all that a hop could be, also one above the rate of slow trains."""
    generator = np.random.default_rng(3)
    probes = [
        hop(1, int(size), round(50_000 + generator.exponential(300)))._replace(reply_bytes=56)
        for _ in range(10)
        for size in SIZES
    ]
    for number in range(5):
        for place in range(64):
            sent = hop(1, 1500 - place, 50_000)._replace(sent_ns=place * 500_000, train=number, place=place)
            probes.append(sent._replace(reply_bytes=56))
    (flag,) = [one for one in flags_of(fit_path(probes), True) if one.name == "not-serialising"]
    assert "a rate above 23.5 Mb/s" in flag.text  # 1468 bytes each half a millisecond, on average

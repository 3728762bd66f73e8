"""Estimators of packet pairs and trains, on synthetic paths whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.synthetic_path import Link, SyntheticPath
from support.synthetic_session import SyntheticSession

from keisoku.ground.run.result import Result
from keisoku.subjects.path.packet_pair import stages as pair_stages
from keisoku.subjects.path.packet_pair.analysis import analyse, way_of
from keisoku.subjects.path.packet_pair.bucket import find_bucket
from keisoku.subjects.path.packet_pair.coalescence import find_coalescence
from keisoku.subjects.path.packet_pair.kind import best_length, clock_share
from keisoku.subjects.path.packet_pair.minimum_sum import LinkCapacity, agree, link_capacity
from keisoku.subjects.path.packet_pair.modes import local_modes
from keisoku.subjects.path.packet_pair.plot import pair_plots
from keisoku.subjects.path.packet_pair.serialisation import ip_links, serialisation
from keisoku.subjects.path.packet_pair.settings import PacketPairSettings
from keisoku.subjects.path.packet_pair.stages import DIRECTIONS
from keisoku.subjects.path.train.dispersion import dispersions
from keisoku.subjects.path.train.probe import TrainPlan
from keisoku.subjects.path.train.skew import skew, without_skew

GIGABIT, FAST = 1e9, 1e8
SETTINGS = PacketPairSettings(host="far")


def _capacity(path: SyntheticPath) -> LinkCapacity:
    found = link_capacity(dispersions(path.trains))
    assert found
    return found


@pytest.mark.parametrize(("share", "pairs", "within"), [(0.0, 20, 0.001), (0.4, 200, 0.01), (0.8, 800, 0.05)])
def test_pairs_of_least_sum_tell_the_narrow_link_under_load(share: float, pairs: int, within: float) -> None:
    path = SyntheticPath([Link(GIGABIT), Link(FAST, share), Link(GIGABIT, share / 2)])
    path.send("pair", 1500, 2, pairs)
    found = _capacity(path)
    assert found.bps == pytest.approx(FAST, rel=within)
    assert (found.queued_share > 0.2) == (share > 0)


def test_clocks_of_different_rates_do_not_choose_the_pairs() -> None:
    path = SyntheticPath([Link(GIGABIT), Link(FAST, 0.4)], skew=40e-6)
    path.send("pair", 1500, 2, 400)
    assert _capacity(path).bps == pytest.approx(FAST, rel=0.01)


@settings(max_examples=30, deadline=None)
@given(st.floats(-1e-4, 1e-4), st.integers(0, 1000))
def test_skew_is_the_slope_of_the_delays_floor(rate: float, seed: int) -> None:
    random = np.random.default_rng(seed)
    times = np.sort(random.uniform(0, 5e9, 300))
    queues = random.exponential(50_000, 300) * (random.random(300) < 0.7)
    delays = 1000 + queues + rate * times
    assert skew(times, delays) == pytest.approx(rate, abs=3e-6)
    assert without_skew(times, delays).min() == pytest.approx(1000, abs=15_000)


def test_a_sender_slower_than_the_path_gives_a_lower_bound_and_says_so() -> None:
    path = SyntheticPath([Link(GIGABIT)], send_gap_ns=50_000)
    path.send("pair", 1500, 2, 60)
    found = _capacity(path)
    assert found.limited_by_sender and found.bps < GIGABIT
    assert "sender-limited" in {flag.name for flag in _observed(path).flags}


def test_values_agree_only_where_a_pair_met_no_queue() -> None:
    path = SyntheticPath([Link(FAST)])
    path.send("pair", 1500, 2, 20)
    found = _capacity(path)
    assert found.passes_check and agree(found, found) and not agree(None, found)


@pytest.mark.parametrize(("burst", "rate"), [(15_000, 1e7), (30_000, 5e7), (6_000, 2e6)])
def test_a_token_bucket_is_found_with_its_burst_and_rate(burst: float, rate: float) -> None:
    path = SyntheticPath([Link(GIGABIT)], bucket=(burst, rate), noise_ns=200)
    path.send("train", 1500, 50, 6, gap_ns=4e8)
    found = find_bucket(path.trains)
    assert found
    assert found.sustained_bps == pytest.approx(rate, rel=0.01)
    assert found.burst_bytes == pytest.approx(burst, abs=1500)
    assert found.peak_bps > 10 * rate


@pytest.mark.parametrize("share", [0.0, 0.4, 0.8])
@pytest.mark.parametrize("seed", range(5))
def test_other_traffic_is_no_token_bucket(share: float, seed: int) -> None:
    path = SyntheticPath([Link(GIGABIT), Link(FAST, share)], seed=seed)
    path.send("train", 1500, 50, 6, gap_ns=5e7)
    assert find_bucket(path.trains) is None


def test_gathered_interrupts_are_found_with_their_period_and_nothing_else_is_taken_for_them() -> None:
    path = SyntheticPath([Link(GIGABIT)], coalesce_ns=100_000)
    path.send("train", 1500, 50, 6)
    found = find_coalescence(path.trains)
    assert found and found.period_ns == pytest.approx(100_000) and found.equal_share > 0.5
    for other in (
        SyntheticPath([Link(FAST, 0.4)]),
        SyntheticPath([Link(FAST, 0.8)]),
        SyntheticPath([Link(GIGABIT)], bucket=(15_000, 1e7)),
    ):
        other.send("train", 1500, 50, 6, gap_ns=2e8)
        assert find_coalescence(other.trains) is None


@pytest.mark.parametrize(("narrow", "gather_us"), [(6e7, 394.0), (4.5e7, 400.0), (1e7, 1800.0)])
def test_a_capacity_that_long_trains_contradict_is_not_measured(narrow: float, gather_us: float) -> None:
    """Pairs that were let go of at two ticks of a timer had the least delay sum, and gave half of the capacity."""
    gathering = Link(narrow, gather_ns=1000 * gather_us)
    path = SyntheticPath([Link(2 * narrow), gathering], noise_ns=100.0)
    path.send("train", 1500, 50, 6, gap_ns=5e7)
    path.send("pair", 1500, 2, 200)
    for size in (200, 600, 1000, 1500):
        path.send("sweep", size, 2, 20)
    observed = _observed(path, noise_ns=100.0)
    figure = observed.rows[0].figures["capacity"]
    assert figure.bound == "at least" and 0.9 * narrow < figure.value <= narrow
    assert {flag.name for flag in observed.flags} == {"spread-pairs"}
    assert not [row for row in observed.rows if row.group == "Packet size"]


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_where_no_tick_parts_the_pairs_long_trains_agree_with_them(share: float) -> None:
    path = SyntheticPath([Link(GIGABIT), Link(FAST, share, gather_ns=30_000)], noise_ns=100.0)
    path.send("train", 1500, 50, 6, gap_ns=5e7)
    path.send("pair", 1500, 2, 400)
    observed = _observed(path, noise_ns=100.0)
    assert not observed.flagged("spread-pairs")
    assert observed.rows[0].figures["capacity"].value == pytest.approx(FAST, rel=0.02)


def test_modes_are_where_the_pairs_are() -> None:
    random = np.random.default_rng(1)
    rates = np.concatenate(
        (random.normal(1e8, 5e5, 600), random.normal(6e7, 1e6, 300), random.uniform(1e7, 1.5e8, 100))
    )
    strongest = sorted(local_modes(rates), key=lambda mode: -mode.pairs)[:2]
    assert [mode.centre_bps for mode in strongest] == pytest.approx([1e8, 6e7], rel=0.02)
    assert local_modes(rates[:5]) == []
    assert sum(mode.pairs for mode in local_modes(np.append(rates, np.inf))) <= 1000


@pytest.mark.parametrize(("links", "expected"), [([1], 1), ([2], 2), ([1, 1], 2)])
def test_packets_are_held_as_often_as_there_are_stages(links: list[int], expected: int) -> None:
    path = SyntheticPath([Link(FAST, 0.3, stages=stages) for stages in links])
    for _ in range(30):
        for size in (200, 400, 600, 1000, 1500):
            path.send("sweep", size, 2, 1)
    found = serialisation(path.trains)
    assert found and found.links(FAST) == pytest.approx(expected, rel=0.03)
    assert ip_links(path.trains) == len(links)


def test_a_hidden_stage_is_flagged_by_its_bytes_or_by_a_one_packet_rate() -> None:
    for stages, given_bps, flagged in ((2, None, True), (1, None, False), (1, FAST / 2, True), (1, FAST, False)):
        path = SyntheticPath([Link(FAST, stages=stages)])
        path.send("pair", 1500, 2, 50)
        for _ in range(20):
            for size in (200, 400, 600, 1000, 1500):
                path.send("sweep", size, 2, 1)
        observed = _observed(path, SETTINGS.model_copy(update={"one_packet_bps": given_bps}))
        assert observed.flagged("hidden-l2-stage") == flagged


@pytest.mark.parametrize(("stages", "stamp_ns", "flagged"), [(1, 4000.0, False), (2, 4000.0, True), (2, 300.0, True)])
def test_a_program_that_is_woken_late_hides_no_stages(stages: int, stamp_ns: float, flagged: bool) -> None:
    """With a program's stamps on a busy host a plain link of 1 Gb/s had a hidden stage once: trains seemed to come at
    1.6 to 2.5 Gb/s, so that lone packets cost too much."""
    path = SyntheticPath([Link(FAST if stages == 2 else GIGABIT, stages=stages)], send_gap_ns=100.0)
    path.send("pair", 1500, 17, 50)
    for _ in range(20):
        for size in (200, 400, 600, 1000, 1500):
            path.send("sweep", size, 2, 1)
    for train in path.trains:
        if train.stage == "pair" and stages == 1:
            # The program was late for the first packet, and caught up.
            train.received_ns[:] = train.received_ns[-1] - (train.received_ns[-1] - train.received_ns) // 2
    assert _observed(path, noise_ns=stamp_ns).flagged("hidden-l2-stage") == flagged


@pytest.mark.parametrize("packets", [2, 17])
def test_trains_that_a_program_finds_whole_hide_no_stages(packets: int) -> None:
    """A receiver was woken once for every train of 17 packets of the sizes, although not for those of the capacity: by
    its stamps a byte of a lone packet cost 128 ns on a plain link of 1 Gb/s, like 16 links in a row."""
    path = SyntheticPath([Link(GIGABIT)], send_gap_ns=100.0)
    path.send("pair", 1500, 17, 50)
    path.read_ns = 1500.0
    for _ in range(10):
        for size in (200, 400, 600, 800, 1000, 1250, 1500):
            path.send("sweep", size, packets, 1)
    observed = _observed(path, noise_ns=4000.0 if packets == 17 else 100.0)
    assert not observed.flagged("hidden-l2-stage")
    assert "like_links" not in observed.rows[0].figures


def test_stamps_that_limit_are_flagged_and_call_for_longer_trains() -> None:
    path = SyntheticPath([Link(GIGABIT)], noise_ns=1000)
    path.send("pair", 1500, 2, 400)
    observed = _observed(path, noise_ns=1000.0)
    assert observed.flagged("clock-limited")
    figure = observed.rows[0].figures["capacity"]
    assert figure.uncertainty and abs(figure.value - GIGABIT) < figure.uncertainty
    # σ_C/C ≈ √2·σ_t·C/(8L): 1 µs at 1 Gb/s and 1500 byte makes 12 %.
    assert clock_share(GIGABIT, 8 * 1500, 1000.0) == pytest.approx(0.118, abs=0.001)
    found = _capacity(path)
    assert best_length(found, 1500, 10.0) == 2 and best_length(found, 1500, 300.0) > 2


def test_coarse_stamps_are_not_taken_for_a_slow_sender_nor_their_capacity_for_a_lower_bound() -> None:
    path = SyntheticPath([Link(GIGABIT)], noise_ns=20_000, send_gap_ns=11_000)
    path.send("pair", 1500, 2, 400)
    observed = _observed(path, noise_ns=20_000.0)
    assert observed.flagged("clock-limited")
    assert not observed.flagged("sender-limited") and not observed.flagged("hidden-l2-stage")
    assert "too coarse" in observed.rows[0].remark and "lower bound" not in observed.rows[0].remark


def test_the_clocks_part_of_the_scatter_is_what_the_formula_says() -> None:
    path = SyntheticPath([Link(GIGABIT)], noise_ns=500, send_gap_ns=500)
    path.send("pair", 9000, 2, 4000)
    rates = dispersions(path.trains).rates_bps
    assert rates.std() / rates.mean() == pytest.approx(clock_share(GIGABIT, 8 * 9000, 500.0), rel=0.05)


def test_a_quiet_path_has_no_flag_and_every_size_its_interval() -> None:
    path = SyntheticPath([Link(GIGABIT), Link(FAST)])
    path.send("train", 1500, 50, 6, gap_ns=5e7)
    path.send("pair", 1500, 2, 50)
    for _ in range(20):
        for size in (1000, 1250, 1500):
            path.send("sweep", size, 2, 1)
    observed = _observed(path)
    assert observed.flags == []
    assert [row.at.value for row in observed.rows if row.at] == [1000, 1250, 1500]
    for row in observed.rows:
        if "capacity" in row.figures and row.figures["capacity"].interval:
            assert row.figures["capacity"].value == pytest.approx(FAST, rel=0.001)


def test_lost_packets_leave_trains_out_and_break_nothing() -> None:
    path = SyntheticPath([Link(FAST, 0.4)])
    path.send("train", 1500, 50, 6, gap_ns=5e7)
    path.send("pair", 1500, 2, 200)
    random = np.random.default_rng(3)
    for train in path.trains:
        train.received_ns[random.random(train.count) < 0.1] = 0
    found = _observed(path)
    assert found.rows[0].figures["capacity"].value == pytest.approx(FAST, rel=0.03)
    for train in path.trains:
        train.received_ns[:] = 0
    assert _observed(path).rows == []


def _observed(path: SyntheticPath, given: PacketPairSettings = SETTINGS, noise_ns: float = 10.0) -> Result:
    return analyse(path.trains, given, {"kernel": noise_ns}, {})


def test_a_run_that_was_stopped_says_what_it_can_and_what_is_missing() -> None:
    path = SyntheticPath([Link(FAST, 0.2)])
    for way in DIRECTIONS:
        path.send("train", 1500, 50, 6, way=way)
        path.send("pair", 1500, 2, 50, way=way)
        for size in (200, 600, 1500):
            path.send("sweep", size, 2, 10, way=way)
    for end in (*range(1, len(path.trains), 15), len(path.trains)):
        trains = path.trains[:end]
        found = analyse(trains, SETTINGS, {"kernel": 10.0}, {"ended": False})
        pair_plots([seen for one in DIRECTIONS if (seen := way_of(one, trains, 10.0))])
        flag = found.flags[0]
        assert flag.name == "unfinished" and flag.text.startswith("the measurement was stopped before its end: ")
        named = [row.case for row in found.rows if row.group == "Direction"]
        assert named == ["forward", "reverse"][: (end >= 2) + (end >= 88)]
    assert "nothing" not in flag.text and flag.text.endswith("packet sizes reverse may be incomplete")
    some = analyse(path.trains[:20], SETTINGS, {"kernel": 10.0}, {"ended": False}).flags[0].text
    assert "nothing was measured of packet sizes forward, long trains reverse, pairs reverse" in some
    assert some.endswith("packet sizes reverse, and the data of pairs forward may be incomplete")


def test_gathered_interrupts_and_others_traffic_are_flagged_each_for_itself() -> None:
    gathered = SyntheticPath([Link(GIGABIT)], coalesce_ns=100_000)
    busy = SyntheticPath([Link(GIGABIT), Link(FAST, 0.8)])
    for path, flagged in ((gathered, "interrupt-coalescence"), (busy, "busy-path")):
        path.send("train", 1500, 50, 6, gap_ns=5e7)
        path.send("pair", 1500, 2, 200)
        names = {flag.name for flag in _observed(path).flags}
        assert names & {"interrupt-coalescence", "busy-path"} == {flagged}


def test_a_loaded_path_whose_long_trains_let_nothing_in_is_called_busy() -> None:
    """The narrow link comes first: nothing comes between packets that leave at once, so long trains show no load."""
    path = SyntheticPath([Link(FAST, 0.3, cross_bytes=1500)], noise_ns=100.0, send_gap_ns=500.0, seed=5)
    path.send("train", 1500, 50, 6, gap_ns=5e7)
    path.send("pair", 1500, 2, 150)
    (flag,) = [flag for flag in _observed(path, noise_ns=100.0).flags if flag.name == "busy-path"]
    assert 15 < flag.figures["waited"].value < 45


@pytest.mark.parametrize(("share", "skew"), [(0.15, 0.0), (0.6, 1e-5)])
def test_a_load_of_short_packets_on_a_slow_link_is_seen(share: float, skew: float) -> None:
    """They passed sooner than what counted as a wait, or so many waited that arrivals seemed to be gathered."""
    missed = []
    for seed in range(12):
        path = SyntheticPath([Link(FAST), Link(FAST / 10, share, cross_bytes=200)], seed, skew=skew, noise_ns=100.0)
        path.send("train", 1500, 50, 6, gap_ns=5e7)
        path.send("pair", 1500, 2, 150)
        missed += [] if _observed(path, noise_ns=100.0).flagged("busy-path") else [seed]
    assert len(missed) <= 1, missed


@pytest.mark.parametrize("seed", range(4))
def test_a_dense_load_of_64_byte_packets_read_low_without_a_word(seed: int) -> None:
    path = SyntheticPath([Link(2 * FAST), Link(FAST, 0.6, cross_bytes=64)], noise_ns=100.0, seed=seed)
    path.send("train", 1500, 50, 6, gap_ns=5e7)
    path.send("pair", 1500, 2, 150)
    (flag,) = [flag for flag in _observed(path, noise_ns=100.0).flags if flag.name == "busy-path"]
    assert flag.text.endswith("the capacity may be 10 to 30 % too low")


@pytest.mark.parametrize(("noise_ns", "said"), [(4_000.0, True), (10.0, False)])
def test_a_dense_load_that_coarse_stamps_hide_was_9_percent_low_without_a_word(noise_ns: float, said: bool) -> None:
    """Their noise hides the waiting of first packets and asks for long trains, between whose packets others fit."""
    path = SyntheticPath([Link(GIGABIT, 0.6, cross_bytes=64)], noise_ns=noise_ns, send_gap_ns=2400.0, seed=3)
    session, given = SyntheticSession(path), PacketPairSettings(host="far")
    session.run([TrainPlan("train", "forward", 1500, 50)] * 6, 0.05)
    pair_stages.pairs(session, given, "forward", 1500, GIGABIT, noise_ns, False, lambda _: None)
    result = analyse(session.log.trains(), given, {"kernel": noise_ns}, {})
    assert result.flagged("hidden-load") == said
    assert said or result.flagged("busy-path")


@pytest.mark.parametrize("noise_ns", [100.0, 3_000.0])
def test_idle_path_is_not_called_busy_for_the_scatter_of_its_capacity(noise_ns: float) -> None:
    for seed in range(12):
        idle = SyntheticPath([Link(FAST), Link(GIGABIT)], seed=seed, noise_ns=noise_ns)
        idle.send("train", 1500, 50, 6, gap_ns=5e7)
        idle.send("pair", 1500, 2, 100)
        assert "busy-path" not in {flag.name for flag in _observed(idle, noise_ns=noise_ns).flags}


@pytest.mark.parametrize(
    ("narrow", "noise_ns"), [(1e10, 80.0), (1e7, 20_000.0)], ids=["10 Gb/s", "10 Mb/s by late stamps"]
)
def test_under_a_load_of_half_the_capacity_was_10_plus_or_minus_10(narrow: float, noise_ns: float) -> None:
    """Stamps call for long trains, none of which passes between other packets: shorter ones do."""
    path = SyntheticPath([Link(narrow, 0.5, cross_bytes=1500)], noise_ns=noise_ns, send_gap_ns=100.0, seed=3)
    session, given = SyntheticSession(path), PacketPairSettings(host="far")
    said: list[str] = []
    session.run([TrainPlan("train", "forward", 1500, 50)] * 6, 0.05)
    pair_stages.pairs(session, given, "forward", 1500, narrow, noise_ns, False, said.append)
    figure = analyse(session.log.trains(), given, {"kernel": noise_ns}, {}).rows[0].figures["capacity"]
    assert figure.uncertainty is not None
    assert abs(figure.value - narrow) <= figure.uncertainty <= 0.15 * narrow
    assert any(line.startswith("50 trains of 2 packets of 1500 byte, forward: ") and "Mb/s ±" in line for line in said)


def test_a_capacity_that_no_train_shows_is_only_a_bound() -> None:
    path = SyntheticPath([Link(FAST, 0.9, cross_bytes=1500), *[Link(2 * FAST, 0.9, cross_bytes=1500)] * 2], seed=2)
    path.send("train", 1500, 50, 6, gap_ns=5e7)
    path.send("pair", 1500, 2, 50)
    row = _observed(path).rows[0]
    assert row.figures["capacity"].bound == "at least"
    assert 0 < row.figures["capacity"].value <= FAST
    assert "hardly a train met no queue" in row.remark

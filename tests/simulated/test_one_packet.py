"""Whole one-packet campaigns over paths in virtual time whose truth is known."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from support.virtual_path import Limiter, VirtualHop, VirtualPath, rfc792, rfc4443, whole

from keisoku.errors import EngineError
from keisoku.ground.run.result import Result
from keisoku.ground.statistics.quantity import Quantity
from keisoku.subjects.path.one_packet.judgement import path as judgement
from keisoku.subjects.path.one_packet.judgement.analysis import HOP, analyse
from keisoku.subjects.path.one_packet.judgement.path import PathFit, fit_path
from keisoku.subjects.path.one_packet.probe import HopProbe
from keisoku.subjects.path.one_packet.probing.schedule import HopProbing
from keisoku.subjects.path.one_packet.settings import OnePacketSettings

M = 1e6


class Campaign:
    """One campaign and its answer."""

    def __init__(self, *hops: VirtualHop, budget_s: float = 600.0, sized: bool = True, **wire: object) -> None:
        """`sized`: enough sizes are answered for an answer."""
        self.wire = VirtualPath(hops, **wire)  # type: ignore[arg-type]
        self.kept: list[HopProbe] = []
        campaign = HopProbing(
            self.wire, OnePacketSettings(host="host", budget_s=budget_s), self.kept.extend, lambda text: None
        )
        self.found = campaign.run()
        assert self.kept == campaign.probes
        if not sized:
            return
        self.path: PathFit = fit_path(self.kept)
        loop = self.found.refusal if self.found.loop else ""
        self.answer: Result = analyse("host", self.path, self.kept, 20.0, self.found.reached, loop)

    def rates(self, name: str = "forward") -> list[float | None]:
        """In Mb/s, hop by hop."""
        return [
            row.figures[name].value / M if name in row.figures else None for row in self.answer.rows if row.group == HOP
        ]

    def flags(self) -> list[str]:
        return [flag.name for flag in self.answer.flags]


def test_symmetric_path_in_cross_traffic() -> None:
    run = Campaign(
        VirtualHop(100 * M), VirtualHop(50 * M, busy=0.5), VirtualHop(10 * M, busy=0.5), VirtualHop(100 * M), stall=0.02
    )
    truth = [100, 50, 10, 100]
    assert run.rates() == [pytest.approx(rate, rel=0.04) for rate in truth]
    assert run.rates("reverse") == [pytest.approx(rate, rel=0.1) for rate in truth]
    assert run.flags() == []
    assert all("stamps" in part.source or part.kind in "AB" for part in run.answer.rows[0].figures["forward"].budget)


def test_busy_hop_before_a_fast_one_on_a_host_that_is_always_late() -> None:
    run = Campaign(
        VirtualHop(100 * M), VirtualHop(10 * M, cross=(0.5, 1000)), VirtualHop(100 * M), wake_ns=40_000.0, budget_s=3.0
    )
    for row, truth in zip(run.answer.rows, (100, 10, 100), strict=False):
        figure = row.figures["forward"]
        assert figure.uncertainty is not None
        assert abs(figure.value - truth * M) <= 1.5 * figure.uncertainty
        assert figure.uncertainty < 0.5 * figure.value
    assert any("low quantile was fitted" in remark for remark in run.answer.remarks)


def test_asymmetric_hop_gives_both_directions() -> None:
    run = Campaign(VirtualHop(100 * M, 10 * M), VirtualHop(50 * M))
    assert run.rates() == [pytest.approx(100, rel=0.02), pytest.approx(50, rel=0.02)]
    assert run.rates("reverse") == [pytest.approx(10, rel=0.02), pytest.approx(50, rel=0.05)]


def test_jumbo_frames_are_used_where_the_path_allows() -> None:
    run = Campaign(VirtualHop(1000 * M), VirtualHop(1000 * M), mtu=9100)
    assert max(probe.size_bytes for probe in run.kept) == 9100
    assert run.rates() == [pytest.approx(1000, rel=0.01)] * 2


def test_path_mtu_is_found_and_kept_to() -> None:
    run = Campaign(VirtualHop(100 * M), VirtualHop(100 * M), mtu=9100, tight_mtu=1400)
    assert run.found.mtu_bytes == 1400
    assert max(probe.size_bytes for probe in run.kept) == 1400


def test_two_stages_in_a_hop_are_flagged() -> None:
    run = Campaign(VirtualHop(100 * M), VirtualHop(100 * M, stages=2), VirtualHop(100 * M))
    assert run.rates() == [pytest.approx(rate, rel=0.02) for rate in (100, 50, 100)]
    (flag,) = [flag for flag in run.answer.flags if flag.name == "hidden-stages"]
    assert "hop 2" in flag.text
    assert flag.figures["stage_rate"].value == pytest.approx(100 * M, rel=0.05)


@pytest.mark.parametrize("busy", [{"wake_ns": 300_000.0}, {"send_gap_ns": 220_000}])
def test_stages_that_a_busy_host_hides_were_taken_for_one_link(busy: dict[str, Any]) -> None:
    """It is late with replies, or sends its trains slowly, as measured: 64 packets in 15 ms. Nothing flagged them, and
    the row did not say either that they could not be seen."""
    run = Campaign(VirtualHop(100 * M), VirtualHop(100 * M, stages=2), VirtualHop(100 * M), budget_s=6.0, **busy)
    assert run.flags() == []
    assert "hidden stages not checked" in run.answer.rows[1].remark


def test_one_slow_link_is_not_taken_for_stages() -> None:
    assert "hidden-stages" not in Campaign(VirtualHop(100 * M), VirtualHop(50 * M), VirtualHop(100 * M)).flags()


def test_token_bucket_is_not_given_a_bandwidth() -> None:
    run = Campaign(VirtualHop(100 * M), VirtualHop(math.inf, bucket=(10 * M, 15_000.0)), VirtualHop(100 * M))
    assert run.rates() == [pytest.approx(100, rel=0.02), None, pytest.approx(100, rel=0.02)]
    (flag,) = [flag for flag in run.answer.flags if flag.name == "token-bucket"]
    assert "hop 2" in flag.text


def test_a_bucket_was_said_to_be_at_a_hop_although_trains_to_the_hop_before_were_not_answered() -> None:
    run = Campaign(VirtualHop(100 * M), VirtualHop(math.inf, bucket=(10 * M, 15_000.0)), VirtualHop(100 * M))
    heard = [probe for probe in run.kept if probe.train is None or probe.hop == 3]
    answer = analyse("host", fit_path(heard), heard, 20.0, True, "")
    (flag,) = [flag for flag in answer.flags if flag.name == "token-bucket"]
    assert "hop 3" in flag.text and "or an earlier hop" in flag.text
    assert not any("an earlier hop" in flag.text for flag in run.answer.flags)


def test_constant_replies_say_that_reverse_is_not_identifiable() -> None:
    run = Campaign(VirtualHop(100 * M, quote=rfc792), VirtualHop(50 * M))
    assert run.rates() == [pytest.approx(100, rel=0.02), pytest.approx(50, rel=0.02)]
    assert run.rates("reverse") == [None, None]
    assert "reverse not identifiable" in run.answer.rows[0].remark


def test_probes_whose_replies_do_not_grow_bent_the_line_of_a_small_mtu() -> None:
    """The last of three hops with an MTU of 576 came out at 102.2 ± 1.8 Mb/s, far from the median of the others."""
    run = Campaign(VirtualHop(100 * M), VirtualHop(40 * M), VirtualHop(100 * M), mtu=576, budget_s=10.0)
    assert run.rates("if_symmetric") == [pytest.approx(rate, rel=0.005) for rate in (100, 40, 100)]


def test_whole_quotes_give_the_sum_only() -> None:
    run = Campaign(VirtualHop(100 * M, quote=whole))
    assert run.rates() == [None]
    assert run.rates("if_symmetric") == [pytest.approx(100, rel=0.02)]


def test_limit_of_linux_is_learnt_and_the_campaign_ends() -> None:
    run = Campaign(*(VirtualHop(rate * M, limiter=Limiter()) for rate in (100, 50, 10, 100)))
    assert run.rates() == [pytest.approx(rate, rel=0.04) for rate in (100, 50, 10, 100)]
    assert run.wire.now < 330e9  # 8 repeats of 32 sizes are 256 replies of each router
    limited = [row for row in run.answer.rows if "reply_interval" in row.figures]
    assert len(limited) == 4


def test_silent_router_is_joined_with_the_next_hop() -> None:
    run = Campaign(VirtualHop(100 * M), VirtualHop(50 * M, silent=True), VirtualHop(25 * M))
    names = [row.case for row in run.answer.rows if row.group == HOP]
    assert names == ["1 10.0.1.1", "2–3 10.0.3.1"]
    assert run.rates()[1] == pytest.approx(1 / (1 / 50 + 1 / 25), rel=0.02)
    assert any("never answered: hop 2" in remark for remark in run.answer.remarks)


def test_silent_host_is_said_and_the_rest_measured() -> None:
    run = Campaign(VirtualHop(100 * M), VirtualHop(50 * M), VirtualHop(10 * M, silent=True))
    assert not run.found.reached
    assert run.rates() == [pytest.approx(100, rel=0.02), pytest.approx(50, rel=0.02)]
    assert "host-silent" in run.flags()


def test_nobody_answers() -> None:
    with pytest.raises(EngineError, match="no hop on the path answered"):
        Campaign(VirtualHop(silent=True), VirtualHop(silent=True))


def test_router_refuses() -> None:
    run = Campaign(VirtualHop(icmp_code=1), VirtualHop())
    assert run.found.refusal == "the router 10.0.1.1 says that the host is unreachable (ICMP 3/1)"
    assert run.rates() == [pytest.approx(100, rel=0.02)]


def test_mixed_paths_are_left_out() -> None:
    run = Campaign(VirtualHop(100 * M), VirtualHop(50 * M, others=("10.9.9.9",)), VirtualHop(10 * M))
    assert run.rates() == [pytest.approx(rate, rel=0.04) for rate in (100, 50, 10)]
    assert "mixed-paths" in run.flags()


def test_slope_that_changes_in_the_target_is_flagged() -> None:
    run = Campaign(VirtualHop(100 * M), VirtualHop(50 * M, extra_above=(1024, 100.0)), budget_s=1.5)
    (flag,) = [flag for flag in run.answer.flags if flag.name == "kink"]
    assert "hop 2" in flag.text


def test_routers_of_ipv6_give_both_directions_too() -> None:
    run = Campaign(
        VirtualHop(100 * M, 10 * M, quote=rfc4443, address="fd00::1"),
        VirtualHop(50 * M, quote=rfc4443, address="fd00::2"),
    )
    assert run.rates() == [pytest.approx(100, rel=0.02), pytest.approx(50, rel=0.02)]
    assert run.rates("reverse") == [pytest.approx(10, rel=0.02), pytest.approx(50, rel=0.05)]


def test_lossy_path_is_measured_all_the_same() -> None:
    run = Campaign(VirtualHop(100 * M), VirtualHop(50 * M), loss=0.05)
    assert run.rates() == [pytest.approx(100, rel=0.04), pytest.approx(50, rel=0.04)]


def test_budget_bounds_the_time() -> None:
    run = Campaign(VirtualHop(1000 * M, limiter=Limiter()), budget_s=20.0)
    assert run.wire.now < 90e9


@pytest.mark.parametrize("budget_s", [3.0, 20.0, 60.0])
def test_budget_was_exceeded_sixfold(budget_s: float) -> None:
    """Neither silent hops nor routers that limit their replies, nor trains to them, take longer than was allowed."""
    hops = [VirtualHop(1000 * M, limiter=Limiter()) for _ in range(6)]
    hops[2].silent = True
    run = Campaign(*hops, budget_s=budget_s, sized=False)
    assert run.wire.now <= budget_s * 1e9
    assert max(probe.sent_ns for probe in run.kept) <= budget_s * 1e9
    if budget_s == 60.0:
        assert any(probe.train is not None for probe in run.kept)


@pytest.mark.parametrize("budget_s", [0.2, 0.5, 1.0])
def test_small_budget_is_kept_and_measures_what_fits(budget_s: float) -> None:
    run = Campaign(VirtualHop(100 * M), VirtualHop(20 * M), budget_s=budget_s)
    assert run.wire.now <= budget_s * 1e9 + 64 * run.wire.send_gap_ns  # the last train's packets leave one by one
    assert len(run.kept) > 20


def test_the_start_of_the_program_was_not_in_the_budget() -> None:
    """On a busy host it took 10 s, and the answer as long again."""
    settings, kept = OnePacketSettings(host="host", budget_s=20.0), list[HopProbe]()
    wire = VirtualPath([VirtualHop(1000 * M, limiter=Limiter())])
    HopProbing(wire, settings, kept.extend, lambda text: None, started_s=6.0).run()
    assert 4e9 < wire.now <= 8e9
    wire = VirtualPath([VirtualHop(1000 * M)])
    with pytest.raises(EngineError, match=r"the start of the program took 11 s of the budget of 20 s"):
        HopProbing(wire, settings, kept.extend, lambda text: None, started_s=11.0).run()
    assert wire.now == 0


def test_budget_that_is_over_before_the_hops_are_known_is_one_sentence() -> None:
    with pytest.raises(EngineError, match=r"the budget of 1 s was over while the hops were looked for"):
        Campaign(VirtualHop(silent=True), VirtualHop(), budget_s=1.0)


def test_progress_said_nothing_of_what_was_known() -> None:
    said: list[tuple[float, float, str]] = []
    lines: list[str] = []
    wire = VirtualPath([VirtualHop(100 * M), VirtualHop(1000 * M, limiter=Limiter())])
    settings = OnePacketSettings(host="host", budget_s=400.0)
    HopProbing(wire, settings, lambda _: None, lines.append, came_to=lambda *words: said.append(words)).run()
    assert [done for done, _, _ in said] == sorted(done for done, _, _ in said)
    assert {whole for _, whole, _ in said} == {400.0}
    told = {words for _, _, words in said}
    assert {"8 repeats of 32 sizes to hops 1, 2", "back-to-back trains, round 2, to hop 2"} <= told
    assert any("hop 1 ± " in line and "replies limited: hop 2" in line for line in lines)


def test_reverse_rates_were_without_a_figure() -> None:
    """Where noise hides how long a reply takes, at least the rate above which it would not be seen is given."""
    run = Campaign(VirtualHop(1000 * M, 900 * M), VirtualHop(10 * M, 500 * M), wake_ns=60_000.0, budget_s=2.0)
    for row, truth in zip(run.answer.rows, (900, 500), strict=False):
        bounds = row.figures["reverse"].bounds
        assert bounds is not None
        assert bounds[0] <= truth * M <= bounds[1]
    assert any(row.figures["reverse"].bound for row in run.answer.rows if row.group == HOP)


def test_answer_is_a_function_of_the_probes() -> None:
    run = Campaign(VirtualHop(100 * M), VirtualHop(50 * M))
    again = analyse("host", fit_path(run.kept), run.kept, 20.0, True)
    assert again == run.answer


def test_outage_of_under_a_second_costs_a_second_and_leaves_the_rates_right() -> None:
    hops = [VirtualHop(rate * M) for rate in (100, 40, 10, 100)]
    hops[0].outages = [(0.6e9, 1.4e9)]
    run = Campaign(*hops, budget_s=60.0)
    quiet = Campaign(*(VirtualHop(rate * M) for rate in (100, 40, 10, 100)), budget_s=60.0)
    assert run.rates() == [pytest.approx(rate, rel=0.04) for rate in (100, 40, 10, 100)]
    assert run.wire.now < quiet.wire.now + 3e9
    assert "outage" in run.flags()
    assert not any("limits its replies" in row.remark for row in run.answer.rows)


def test_path_that_loses_a_tenth_each_way_has_all_its_hops_and_its_loss() -> None:
    run = Campaign(VirtualHop(100 * M, loss=0.1), VirtualHop(50 * M), VirtualHop(20 * M), budget_s=120.0)
    assert sorted(run.found.repliers) == [1, 2, 3]
    assert run.found.mtu_bytes == 1500
    for row, truth in zip(run.answer.rows, (100, 50, 20), strict=False):
        lower, upper = row.figures["forward"].bounds or (0.0, 0.0)
        assert lower <= truth * M <= upper
    for row in run.answer.rows[3:]:
        lower, upper = row.figures["lost"].bounds or (0.0, 0.0)
        assert lower <= 19.0 <= upper
        assert upper - lower < 12.0
    assert run.flags() == []
    assert run.wire.now <= 120e9


def test_hop_that_seemed_silent_is_asked_again() -> None:
    run = Campaign(VirtualHop(100 * M), VirtualHop(50 * M, outages=[(0.0, 2.2e9)]), VirtualHop(20 * M))
    assert sorted(run.found.repliers) == [1, 2, 3]
    assert run.found.reached


def test_size_that_never_gets_through_is_given_up_and_an_outage_gives_up_none() -> None:
    hops = [VirtualHop(100 * M), VirtualHop(50 * M, outages=[(1e9, 6e9)])]
    run = Campaign(*hops)
    sizes = {probe.size_bytes for probe in run.kept if probe.answered and probe.hop == 2 and probe.train is None}
    assert len(sizes) == 32


def test_routing_loop_is_named_and_the_hops_before_it_are_measured() -> None:
    run = Campaign(VirtualHop(100 * M), VirtualHop(50 * M), VirtualHop(20 * M), loop_to=2)
    assert run.found.loop == (2, 3)
    assert run.found.refusal == ("a routing loop: from hop 2 on, 10.0.2.1, 10.0.3.1 hand the packets round in a circle")
    assert not run.found.reached
    assert run.rates() == [pytest.approx(rate, rel=0.04) for rate in (100, 50, 20)]
    assert "routing-loop" in run.flags()


def test_router_that_answers_for_two_hops_is_no_loop() -> None:
    run = Campaign(VirtualHop(100 * M, address="10.0.1.1"), VirtualHop(100 * M, address="10.0.1.1"), VirtualHop(20 * M))
    assert run.found.loop is None
    assert run.found.reached


def test_several_paths_are_named_with_their_shares() -> None:
    run = Campaign(VirtualHop(100 * M), VirtualHop(50 * M, others=("10.9.9.9", "10.9.9.8")), VirtualHop(10 * M))
    (flag,) = [flag for flag in run.answer.flags if flag.name == "mixed-paths"]
    assert "hop 2" in flag.text
    for address in ("10.0.2.1", "10.9.9.9", "10.9.9.8"):
        assert f"% from {address}" in flag.text


@pytest.mark.parametrize("link", [math.inf, 100 * M])
def test_bucket_that_holds_twenty_packets_is_found_on_its_hop(link: float) -> None:
    run = Campaign(VirtualHop(100 * M), VirtualHop(link, bucket=(10 * M, 32_000.0)), VirtualHop(100 * M))
    (flag,) = [flag for flag in run.answer.flags if flag.name == "token-bucket"]
    assert "hop 2" in flag.text


@pytest.mark.parametrize(
    "wire",
    [{"mtu": 576}, {"loss": 0.05}, {"wake_ns": 30_000.0}],
    ids=["MTU 576", "loss", "late host"],
)
def test_links_are_not_called_buckets_or_stages(wire: dict[str, Any]) -> None:
    hops = [VirtualHop(rate * M, packet_ns=5_000.0) for rate in (1000, 40, 1000)]
    hops[0].limiter = Limiter(interval_ns=200_000_000)
    run = Campaign(*hops, budget_s=20.0, **wire)
    assert not {"token-bucket", "hidden-stages", "kink"} & set(run.flags())


def test_a_router_that_takes_longer_above_512_bytes_was_called_hidden_stages() -> None:
    """Its replies grow up to 548 bytes, so that a change at 512 shows as a fast way back and a slow way out."""
    slow = VirtualHop(50 * M, extra_above=(512, 74.0))
    assert "hidden-stages" not in Campaign(slow, VirtualHop(10 * M), jitter_ns=2000.0).flags()
    run = Campaign(VirtualHop(100 * M, stages=2), VirtualHop(10 * M), jitter_ns=2000.0)
    assert "hidden-stages" in run.flags()


def slow() -> VirtualHop:
    """Read as 34 Mb/s out and 87 back: its replies grow up to 548 bytes, so the change looks like a faster way back."""
    return VirtualHop(50 * M, extra_above=(512, 74.0))


@pytest.mark.parametrize(
    ("hops", "said"),
    [
        ((slow(), VirtualHop(10 * M)), "slower than the way back, but a train passes faster"),
        ((VirtualHop(10 * M), slow(), VirtualHop(20 * M)), "slower than the way back, but the next hop seems"),
    ],
    ids=["train", "next hop"],
)
def test_a_router_that_takes_longer_above_512_bytes_read_34_for_50_without_a_flag(
    hops: tuple[VirtualHop, ...], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here its round trips do not tell."""
    monkeypatch.setattr(judgement, "kink_of", lambda hop, apart: None)
    run = Campaign(*hops, jitter_ns=3000.0)
    assert run.flags() == ["slow-router"]
    assert said in run.answer.flags[0].text


def test_what_a_faster_way_back_may_be_is_said_where_nothing_tells() -> None:
    """Behind a slower link no train shows the rate, and after the host there is no hop."""
    run = Campaign(VirtualHop(10 * M), slow(), jitter_ns=3000.0)
    assert run.flags() == []
    rate = re.search(r"512 byte: then the link has ([\d.]+) Mb/s each way", run.answer.rows[1].remark)
    assert rate is not None
    assert float(rate[1]) == pytest.approx(50, rel=0.05)


def test_a_slower_router_behind_a_slow_way_back_was_measured_too_slow_without_a_word() -> None:
    """Its way out does not seem to be slower than the way back, so no row said what else it may be."""
    run = Campaign(VirtualHop(50 * M, 15 * M, extra_above=(512, 10.0)), jitter_ns=3000.0)
    (remark,) = [text for text in run.answer.remarks if "is not ruled out at hop" in text]
    more = re.search(r"at hop 1 \(\+([\d.]+) %\)", remark)
    measured = run.rates()[0]
    assert run.flags() == [] and more is not None and measured is not None
    assert measured < 49 < 50 < measured * (1 + float(more[1]) / 100) < 75
    assert not any("ruled out" in text for text in Campaign(VirtualHop(50 * M)).answer.remarks)


@pytest.mark.parametrize("loss", [0.0, 0.1])
def test_a_faster_way_back_is_no_slow_router(loss: float) -> None:
    """A train passes the faster, the more of its packets were lost."""
    hops = [VirtualHop(50 * M, 150 * M, loss=loss), VirtualHop(10 * M, 30 * M), VirtualHop(10 * M)]
    run = Campaign(*hops, jitter_ns=2000.0, budget_s=60.0)
    assert run.flags() == []
    assert run.rates("reverse")[:2] == [pytest.approx(150, rel=0.05), pytest.approx(30, rel=0.05)]
    assert not any("512" in row.remark for row in run.answer.rows[:3])


@pytest.mark.parametrize("bucket", [None, (5 * M, 8000.0)], ids=["host", "host behind a token bucket"])
def test_a_host_that_takes_longer_above_512_bytes_was_measured_too_slow_without_a_word(
    bucket: tuple[float, float] | None,
) -> None:
    """No train shows 12 of 80 ns a byte, and behind the host is no hop: but its lines meet at 512 bytes, not at 548."""
    run = Campaign(VirtualHop(100 * M, extra_above=(512, 12.0), bucket=bucket), jitter_ns=300.0)
    (flag,) = [flag for flag in run.answer.flags if flag.name == "slow-router"]
    slower = re.search(r"each byte above about 512 takes \+([\d.]+) ± [\d.]+ ns more", flag.text)
    assert slower is not None
    assert float(slower[1]) == pytest.approx(12, rel=0.1)
    assert ("token-bucket" in run.flags()) == (bucket is not None)


def _inside(figure: Quantity, truth: float) -> bool:
    assert figure.bounds is not None
    return figure.bounds[0] <= truth <= figure.bounds[1]


@pytest.mark.parametrize(("edge", "more"), [(1000, 60.0), (1000, 20.0), (900, 30.0)])
def test_a_change_of_slope_at_1000_bytes_was_one_at_512_and_made_the_next_hop_wrong(edge: int, more: float) -> None:
    hops = (VirtualHop(50 * M, extra_above=(edge, more)), VirtualHop(100 * M), VirtualHop(50 * M))
    run = Campaign(*hops, jitter_ns=2000.0, budget_s=30.0, seed=4)
    (flag,) = run.answer.flags
    assert flag.name == "kink" and run.path.kinks[1].from_bytes == pytest.approx(edge, abs=80)
    assert flag.figures["slower"].value == pytest.approx(more, rel=0.1)
    for row, hop in zip(run.answer.rows, hops, strict=False):
        assert _inside(row.figures["forward"], hop.forward)


@pytest.mark.parametrize("edge", [700, 512])
def test_next_to_a_router_that_is_slower_for_long_packets_rates_are_bounds(
    edge: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where its change of slope is not found, and trains or the next hop tell of it."""
    monkeypatch.setattr(judgement, "kink_of", lambda hop, apart: None)
    hops = (VirtualHop(50 * M, extra_above=(edge, 30.0)), VirtualHop(20 * M), VirtualHop(50 * M))
    run = Campaign(*hops, jitter_ns=2000.0, budget_s=30.0)
    assert run.flags() == ["slow-router"]
    bounds = [row.figures["forward"].bound for row in run.answer.rows[:3]]
    assert bounds == ["at least", "at most", ""]
    for row, hop in zip(run.answer.rows, hops, strict=False):
        assert _inside(row.figures["forward"], hop.forward)
        assert _inside(row.figures["reverse"], hop.forward)


def test_gathered_interrupts_are_no_hidden_stages() -> None:
    run = Campaign(VirtualHop(1000 * M, coalesce_ns=125_000.0), VirtualHop(200 * M, coalesce_ns=125_000.0))
    assert not {"token-bucket", "hidden-stages"} & set(run.flags())


def test_small_change_of_slope_behind_slow_links_is_found() -> None:
    hops = [VirtualHop(20 * M), VirtualHop(20 * M), VirtualHop(20 * M, extra_above=(1024, 15.0))]
    run = Campaign(*hops, budget_s=20.0)
    (flag,) = [flag for flag in run.answer.flags if flag.name == "kink"]
    assert "hop 3" in flag.text
    assert "hidden-stages" not in run.flags()


@pytest.mark.parametrize("cause", ["limit", "outage"])
def test_path_mtu_is_not_taken_for_less_because_of_a_limit_or_an_outage(cause: str) -> None:
    hop = VirtualHop(100 * M)
    if cause == "limit":
        hop.limiter = Limiter(interval_ns=2_000_000_000, burst=1, tokens_ns=2e9)
    else:
        hop.outages = [(0.5e6, 3e9)]
    run = Campaign(hop, budget_s=60.0, sized=False)
    assert run.found.mtu_bytes == 1500

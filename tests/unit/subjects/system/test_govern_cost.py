"""What searching may cost: the account, the prediction of a limit's cost, and steps among drifting intervals."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from keisoku.subjects.system.govern.cost_account import CostAccount
from keisoku.subjects.system.govern.expected_loss import SHAPING, expected_losses
from keisoku.subjects.system.govern.governor import GovernorSettings, Phase, _lost_s, govern
from keisoku.subjects.system.govern.seen_load import changed
from keisoku.subjects.system.objective import Goal, Objective
from keisoku.subjects.system.observation import ClientView, Observation
from keisoku.subjects.system.search.candidate import Candidates


def interval(a: float, b: float) -> Observation:
    """Requests of two clients, 125 bytes each."""
    views = (
        ClientView(name, 1e9, None, round(125 * count), 0.0, round(count), 0, round(count), 1.0, 100.0, 0.1)
        for name, count in (("a", a), ("b", b))
    )
    return Observation(1.0, tuple(views))


def test_costs_count_for_ten_minutes() -> None:
    account = CostAccount(window_s=600, share=0.015)
    account.charge(8)
    assert account.allows(1) and not account.allows(1.5)
    account.passed(599)
    assert not account.allows(1.5)
    account.passed(2)
    assert account.allows(9) and account.spent_s == 0


def test_a_limit_costs_at_worst_what_its_client_loses() -> None:
    shown = [interval(9000, 1000)] * 3
    losses = expected_losses([0.9e6, 4.5e6, 9e6, 1e9, None], Objective(Goal.SUM_REQUESTS), shown, ["a"])
    assert losses == pytest.approx([0.81 + SHAPING, 0.45 + SHAPING, SHAPING, SHAPING, 0.0], abs=1e-3)
    both = expected_losses([1e6], Objective(Goal.SUM_REQUESTS), shown, [])
    assert both == pytest.approx([0.8 + SHAPING], abs=1e-3)


def test_a_client_that_is_seldom_answered_hides_no_loss() -> None:
    """18 s were lost and 5 s charged: the mean of the logarithms was that of the intervals without an answer.

    The second client is answered about once in an interval; the first gets half as much under the limit.
    """
    objective, random = Objective(Goal.SUM_LOGS), np.random.default_rng(95)
    none = [interval(8000, count) for count in random.poisson(1, 400)]
    under = [interval(4000, count) for count in random.poisson(1, 400)]
    assert _lost_s(objective, under, none) == pytest.approx(400 * (1 - math.sqrt(0.5)), rel=0.15)


def test_no_answer_counts_as_half_of_one() -> None:
    for goal in (Goal.SUM_REQUESTS, Goal.SUM_BYTES, Goal.SUM_LOGS):
        none, one = (Objective(goal).score(interval(0, 0) if not count else interval(count, count)) for count in (0, 1))
        assert 0 < one - none < math.log(9), goal


def test_a_drifting_host_is_no_changed_load_and_a_step_is_one() -> None:
    """Searches under a constant load ended with 'the load changed during the search', four of four times.

    Seeds from 700 (the constant was chosen on those from 300): the rule before was wrong in 36 of these 100.
    """
    wrong = missed = 0
    for seed in range(700, 800):
        random = np.random.default_rng(seed)
        # A host that takes half a minute to change its speed by 20 %, looked at about every five seconds.
        drift = np.zeros(14)
        for at in range(1, 14):
            drift[at] = 0.85 * drift[at - 1] + 0.2 * math.sqrt(1 - 0.85**2) * random.standard_normal()
        wrong += changed([interval(8000 * math.exp(each), 2000 * math.exp(each)) for each in drift])
        steady = 0.02 * random.standard_normal(14)
        missed += not changed(
            [interval(8000 * math.exp(each), 2000 if at < 8 else 600) for at, each in enumerate(steady)]
        )
    assert wrong <= 3
    assert missed == 0


def test_no_search_costs_more_than_two_percent_of_any_ten_minutes() -> None:
    """Every limit only takes from a client whose share is nearly all; evaluations of long intervals are dear."""
    space, worst = Candidates(1e6, 100e6), 0.0
    for seed, settle in ((1, 1), (2, 5), (3, 20)):
        random = np.random.default_rng(seed)
        loop = govern(Objective(Goal.SUM_REQUESTS), space, GovernorSettings(settle=settle), ("a",))
        command, lost, phases = next(loop), [], []
        for _ in range(1500):
            most = math.inf if command.limit is None else command.limit / 1000
            own = min(60_000.0, most)
            lost.append(1 - (own + 500) / 60_500)
            phases.append(command.phase)
            command = loop.send(interval(own * random.normal(1, 0.01), 500 * random.normal(1, 0.01)))
        worst = max(worst, float(np.convolve(lost, np.ones(600), "valid").max()) / 600)
        assert Phase.SEARCH in phases
    assert 0.001 < worst <= 0.02


def test_what_a_limit_costs_between_intervals_was_not_charged() -> None:
    """On a host so busy that 2 s passed between intervals of 1 s 4 % of ten minutes were lost."""
    random = np.random.default_rng(4)
    loop = govern(Objective(Goal.SUM_REQUESTS), Candidates(1e6, 100e6), GovernorSettings(settle=1), ("a",))
    command, lost = next(loop), []
    for _ in range(600):
        own = min(60_000.0, math.inf if command.limit is None else command.limit / 1000)
        lost.append(1 - (own + 500) / 60_500)
        seen = interval(own * random.normal(1, 0.01), 500 * random.normal(1, 0.01))
        command = loop.send(replace(seen, pause_s=2.0))
    assert 0.001 < float(np.convolve(lost, np.ones(200), "valid").max()) / 200 <= 0.02

"""What another evaluation is worth, where that is known in closed form, and what follows for the search."""

import math

import numpy as np
import pytest
from scipy.stats import norm

from keisoku.subjects.system.search.candidate import Candidates
from keisoku.subjects.system.search.gaussian_process import Beliefs, beliefs
from keisoku.subjects.system.search.knowledge_gradient import knowledge_gradient
from keisoku.subjects.system.search.search import SearchSettings, limit_search


def independent(mean, sd, noise_sd):
    covariance = np.diag(np.square(sd))
    return Beliefs(np.asarray(mean), np.empty((0, len(mean))), noise_sd, covariance)


@pytest.mark.parametrize("times", [1, 4])
def test_worth_is_that_of_the_closed_form_where_candidates_are_independent(times):
    found = knowledge_gradient(independent([0.3, 0.0, 0.0], [0.0, 0.4, 1.0], 0.5), times)
    # Frazier, Powell and Dayanik 2009: s f(-d / s), f(z) = pdf(z) + z cdf(z), s the spread of what the mean becomes.
    spread = np.asarray([0.4, 1.0]) ** 2 / np.sqrt(np.asarray([0.4, 1.0]) ** 2 + 0.25 / times)
    z = -0.3 / spread
    assert found[1:] == pytest.approx(spread * (norm.pdf(z) + z * norm.cdf(z)), rel=0.02)
    assert found[0] == pytest.approx(0, abs=1e-12)


def test_nothing_is_worth_anything_where_all_is_known():
    assert knowledge_gradient(independent([0.0, 1.0], [0.0, 0.0], 0.1)) == pytest.approx([0, 0], abs=1e-12)


def test_flank_is_worth_more_than_a_top_that_was_seen_often():
    positions = np.linspace(0, 3, 61)
    at = [0, 20, *[30] * 8]
    known = beliefs(at, -((positions[at] - 1.6) ** 2), [*positions, 3.0], 61, 0, 1)
    worth = knowledge_gradient(known)
    assert known.mean[31] > known.mean[45] and worth[45] > worth[30]


def regrets(curve, space, noise, seeds, **settings):
    """In percent: what the candidate's true figure lacks to the best, and the evaluations spent, by seed."""
    best = max(curve(limit) for limit in space.limits)
    found = []
    for seed in seeds:
        random = np.random.default_rng((9, seed))
        search = limit_search(space, SearchSettings(seed=seed, **settings))
        asked = next(search)
        while asked.purpose != "confirm":
            asked = search.send(curve(asked.limit) + noise * float(random.standard_normal()))
        found.append(100 * (1 - math.exp(curve(asked.limit) - best)))
    return found


def lopsided(limit):
    """A top at 54 Mb/s, twice as steep above it as below, 12 % over no limit: fair shares of a link with a queue."""
    away = math.log(min(limit or 72e6, 72e6) / 54e6)
    return -(1.25 if away < 0 else 1.45) * away**2


def test_top_between_two_flanks_is_found_through_noise_of_five_percent():
    found = regrets(lopsided, Candidates(5e6, 100e6), 0.05, range(12))
    assert np.mean(found) < 0.6 and max(found) < 2.5


E4 = {100: 40.6, 183: 46.2, 247: 50.4, 288: 53.0, 334: 56.1, 380: 59.0, 400: 60.3, 430: 62.2, 433: 60.2, 440: 60.0}
E4 |= {460: 59.4, 480: 58.9, 526: 57.4, 611: 57.1, 711: 55.9, 1300: 55.9}


def cliff(limit):
    """The simulated system of E4: requests/ms by Mb/s; 3 % are lost in a step at the top."""
    return float(np.log(np.interp(np.log((limit or 1.3e9) / 1e6), np.log(list(E4)), list(E4.values()))))


def test_top_beside_a_cliff_is_found():
    found = regrets(cliff, Candidates(100e6, 1.3e9), 0.006, range(12), budget=16)
    assert max(found) < 3.0, "on the wrong side of the cliff it would be more"
    assert np.mean(found) < 1.5

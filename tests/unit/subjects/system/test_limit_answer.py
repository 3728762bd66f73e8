"""What a search says of the limit that it advises: settled or not, beside others of its table, and to whose cost."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Generator
from dataclasses import replace

import numpy as np
import pytest

from keisoku.ground.run.result import Result
from keisoku.subjects.system.govern.governor import GovernorSettings
from keisoku.subjects.system.interval_log import KeptInterval
from keisoku.subjects.system.objective import Goal
from keisoku.subjects.system.observation import ClientView, Observation
from keisoku.subjects.system.search import analysis
from keisoku.subjects.system.search.analysis import _found, _gain, analyse
from keisoku.subjects.system.search.candidate import Candidates, Limit
from keisoku.subjects.system.search.client_share import shares
from keisoku.subjects.system.search.confirmation import Gain, confirm_settled, gain
from keisoku.subjects.system.search.evaluation import Evaluation
from keisoku.subjects.system.search.gaussian_process import beliefs
from keisoku.subjects.system.search.limit_curve import believed, curve, settled
from keisoku.subjects.system.search.search import SETTLES, LimitFound, SearchSettings, limit_search
from keisoku.subjects.system.settings import LimitSettings

SPACE = Candidates(10e6, 1e9)
Truth = Callable[[Limit], float]


class Slow:
    """A system whose score follows its limit with a time constant, with noise; settling and interval take 1 s each."""

    def __init__(self, truth: Truth, time_constant_s: float, noise: float, seed: int) -> None:
        self.truth, self.time_constant_s, self.noise = truth, time_constant_s, noise
        self.random = np.random.default_rng(seed)
        self.state = truth(None)
        self.set: Limit = None
        self.before = [self.seen() for _ in range(3)]

    def seen(self) -> float:
        return self.state + self.noise * float(self.random.standard_normal())

    def evaluate(self, asked: Evaluation) -> float:
        self.pass_s(asked.limit, (asked.settles if asked.limit != self.set else 0) + 0.5)
        self.set = asked.limit
        score = self.seen()
        self.pass_s(asked.limit, 0.5)
        return score

    def pass_s(self, limit: Limit, seconds: float) -> None:
        kept = math.exp(-seconds / self.time_constant_s) if self.time_constant_s else 0.0
        self.state = kept * self.state + (1 - kept) * self.truth(limit)

    def run(self, plan: Generator[Evaluation, float, object]) -> object:
        asked = next(plan)
        while True:
            try:
                asked = plan.send(self.evaluate(asked))
            except StopIteration as end:
                return end.value


def confirmed(gain: float, time_constant_s: float, noise: float, seed: int, settles: tuple[int, ...]) -> Gain:
    system = Slow(lambda limit: 0.0 if limit is None else gain, time_constant_s, noise, seed)
    found = system.run(confirm_settled(100e6, 5, settles, system.before))
    assert isinstance(found, Gain)
    return found


def drawn(seed: int) -> tuple[float, float, float]:
    """A random gain (natural logarithm), time constant and noise."""
    random = np.random.default_rng(seed)
    gain, slow, noise = (math.exp(random.uniform(math.log(low), math.log(high))) for low, high in RANGES)
    return gain, slow, noise


RANGES = ((0.02, 2.0), (0.1, 6.0), (0.003, 0.1))


def covered(found: Gain, gain: float) -> bool:
    return abs(found.mean - gain) <= found.error


def test_a_gain_is_not_understated_because_no_limit_had_not_settled() -> None:
    """It was +282 % by the search, and +476 % by the server's own log."""
    gain = math.log(5.76)
    once, again = (confirmed(gain, 2.5, 0.03, 7, settles) for settles in ((1,), SETTLES))
    assert not covered(once, gain) and once.percent < 300 and once.unsettled is not None
    assert again.settles == 9 and covered(again, gain) and again.percent > 350


def test_gains_of_systems_that_settle_slowly_are_covered() -> None:
    """Seeds from 8000; the constants were chosen on those from 100 to 399."""
    cases = [(drawn(seed), seed) for seed in range(8000, 8300)]
    found = [(case[0], confirmed(*case, seed, SETTLES)) for case, seed in cases]
    at_once = [covered(confirmed(*case, seed, (1,)), case[0]) for case, seed in cases]
    assert np.mean([covered(one, gain) for gain, one in found]) > 0.92
    assert np.mean([covered(one, gain) for gain, one in found if one.unsettled is None]) > 0.92
    assert np.mean(at_once) < 0.6, "these cases are hard: without waiting longer most intervals are wrong"


def test_systems_that_settle_at_once_are_rarely_confirmed_three_times() -> None:
    found = [confirmed(drawn(seed)[0], 0.0, drawn(seed)[2], seed, SETTLES) for seed in range(9000, 9200)]
    assert sum(one.settles > 3 for one in found) <= 60
    assert sum(one.unsettled is not None for one in found) <= 8


def test_a_limit_that_scores_higher_is_compared_with_the_advised_one_and_takes_its_place() -> None:
    """405 Mb/s was advised with 169.6 ± 0.6, and 425 Mb/s stood in its table with 171.4 ± 0.8."""

    for seed in range(4):
        system = Lucky(lambda limit: 0.0 if limit is None else 0.5 - 0.2 * math.log(limit / 100e6) ** 2, seed)
        found = system.run(limit_search(SPACE, SearchSettings(seed=seed), before=system.before))
        assert isinstance(found, LimitFound) and found.limit is not None and found.gain is not None
        first = found.compared[0]
        assert first.than == system.lucky and first.gain.real and found.limit != system.lucky
        assert first.gain.mean == pytest.approx(0.1, abs=0.03)
        assert found.gain.mean == pytest.approx(system.truth(found.limit), abs=2 * found.gain.error)


class Lucky(Slow):
    """The limit that is confirmed first had only been lucky: from then on it scores lower by a tenth."""

    def __init__(self, truth: Truth, seed: int) -> None:
        super().__init__(truth, 0.0, 0.005, seed)
        self.lucky: Limit = None

    def evaluate(self, asked: Evaluation) -> float:
        if asked.purpose == "confirm" and self.lucky is None:
            self.lucky = asked.limit
        score = super().evaluate(asked)
        return score - 0.1 if asked.limit is not None and asked.limit == self.lucky else score


def test_the_governor_neither_waits_longer_nor_compares() -> None:
    assert GovernorSettings().search.settles == (1,) and GovernorSettings().search.compared == 0


def view(name: str, megabits: float, limit: Limit) -> ClientView:
    return ClientView(name, 1e9, limit, round(megabits * 125e3), 0.0, 500, 0, 500, 1.0, 1.0, 0.1)


def answered(truths: dict[str, Truth], floor_bps: float = 1e6) -> tuple[LimitFound, Result]:
    """A search for the most bytes, of clients whose rates (Mb/s) these are."""
    settings = LimitSettings(
        system="sim:e4", client=("a",), line_bps=1e9, floor_bps=floor_bps, objective=Goal.SUM_BYTES, budget=14
    )
    random, kept = np.random.default_rng(3), []

    def evaluate(asked: Evaluation) -> float:
        views = tuple(
            view(name, truth(asked.limit) * random.normal(1, 0.01), asked.limit) for name, truth in truths.items()
        )
        kept.append(KeptInterval(asked.purpose, "", asked.limit, True, Observation(1.0, views), None))
        return settings.weighted_objective.score(kept[-1].observation)

    plan = limit_search(settings.candidates, settings.search)
    asked = next(plan)
    while True:
        try:
            asked = plan.send(evaluate(asked))
        except StopIteration as end:
            found = end.value
            break
    used = settled(kept, found)
    points = curve(used, settings.weighted_objective, settings.client)
    known = believed(used, settings.weighted_objective, settings.candidates, 1)
    return found, analyse(settings, found, points, known, settings.candidates, shares(kept, found))


def said(result: Result) -> tuple[list[str], dict[str, str]]:
    """Clients that have a row, and texts by flag."""
    return [row.case for row in result.rows if row.group == "Client"], {flag.name: flag.text for flag in result.flags}


def test_a_limit_near_the_floor_that_starves_a_client_is_not_advised_without_a_word() -> None:
    found, result = answered(
        {
            "a": lambda limit: min(300.0, limit / 1e6) if limit else 300.0,
            "b": lambda limit: 900 - 2.5 * min(300.0, limit / 1e6) if limit else 150.0,
        }
    )
    clients, flags = said(result)
    assert found.limit is not None and found.limit < 2e6
    assert clients == ["a", "b"]
    assert "a keeps 0." in flags["starved"] and "b keeps" not in flags["starved"] and "--keep" in flags["starved"]
    assert "below which none was tried" in flags["at-floor"]


QUIET: dict[str, Truth] = {
    "a": lambda limit: min(300.0, limit / 1e6) if limit else 300.0,
    "b": lambda limit: 400 - max(0.0, (limit or 3e8) / 1e6 - 200) * 3.0 if (limit or 3e8) < 3.3e8 else 10.0,
}


@pytest.mark.parametrize("seed", range(40))
def test_what_is_shown_of_a_gain_is_what_it_is_judged_by(seed: int) -> None:
    """ "It gains at least 0.043 %" stood beside a gain of 0.48 ± 0.56 %."""
    chance = np.random.default_rng(seed)
    found = gain(chance.normal(0.005, 0.005, 5).tolist(), looks=1 + seed % 3)
    shown = _gain(found)
    lower, _ = shown.bounds or (0.0, 0.0)
    assert found.real == (lower > 0)
    answer = LimitFound(3e8, 3e8, found, (), 0.01, "")
    (bound,) = re.findall(r"at least (\S+) %", _found(answer).text)
    assert float(bound) == pytest.approx(lower, rel=0.1, abs=0.01)


@pytest.mark.parametrize(("before", "after", "told"), [(0.01, 0.13, True), (0.01, 0.015, False), (0.2, 0.13, False)])
def test_a_chance_that_rose_after_the_search_had_ended_is_explained(
    monkeypatch: pytest.MonkeyPatch, before: float, after: float, told: bool
) -> None:
    """ "The chance fell below 2 %" stood beside "the chance is 13 %"."""
    found, _ = answered(QUIET)
    monkeypatch.setattr(analysis, "chance_of_better", lambda known, best: after)
    settings = LimitSettings(system="sim:e4", client=("a",), line_bps=1e9, floor_bps=1e6)
    known = beliefs([0, 1], [0.0, 0.1], settings.candidates.positions, settings.candidates.unlimited, 10, 1)
    remarks = analysis._reopened(replace(found, chance=before), known, settings.candidates)
    assert [("13 %" in one and "1 %" in one and "--budget" in one) for one in remarks] == [True] * told


def test_a_limit_that_takes_little_warns_of_nothing() -> None:
    _, result = answered(QUIET)
    clients, flags = said(result)
    assert clients == ["a", "b"] and set(flags) == {"limit"}

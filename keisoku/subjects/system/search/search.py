"""Search for the limit with the best score: a Gaussian process decides what to evaluate next and when to stop.

A generator: it yields an `Evaluation`, is sent the score that was observed, and returns what it found.
It sets no limit, reads no clock, and never asks for a rate below the candidates' floor. First points are spread out,
then each evaluation is made where it is worth most (knowledge gradient); what is found is confirmed against no limit.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass

import numpy as np

from keisoku.errors import PlanError
from keisoku.ground.statistics.seed import DEFAULT, mixed
from keisoku.language import phrase
from keisoku.subjects.system.search.candidate import Candidates, Limit
from keisoku.subjects.system.search.confirmation import Gain, confirm, confirm_settled
from keisoku.subjects.system.search.evaluation import Evaluation
from keisoku.subjects.system.search.gaussian_process import Beliefs, beliefs
from keisoku.subjects.system.search.knowledge_gradient import knowledge_gradient

SHARE = 0.5
"""Share of the remaining evaluations as which the next one is valued, as the rest may follow it."""
WORTH = 0.005
"""An improvement by a smaller share than this is not worth another evaluation."""
UNLIKELY = 0.02
"""Chance of such an improvement at which the search ends. Below the usual 5 %, because it is the model's
estimate, and a model of a dozen values is too confident."""
DEPTH = math.log(4)
"""Scores further below the best are raised to this: how bad a bad limit is does not matter."""
EFFORT = 0.1
"""Share of the figure that any evaluation counts as, where evaluations cost: its time, beside its loss."""
SETTLES = (1, 3, 9)
"""Times the settling time after which a limit is confirmed: the next ones where the system had not settled."""
COMPARED = 2
"""Most limits that are compared with the confirmed one directly, as they look better than it."""
CLEARLY = 2.0
"""Standard errors by which another limit's scores must be higher for that."""
DRAWS = 400


@dataclass(frozen=True)
class SearchSettings:
    """What a search may cost, in evaluations, and where its chances come from."""

    budget: int = 24
    """Before the confirmation."""
    first: int = 5
    """Spread over the candidates, no limit and the floor among them; one more where a port's traffic was seen."""
    blocks: int = 5
    """Of four evaluations each, to confirm."""
    most_blocks: int = 0
    """While it is undecided whether there is a gain, the blocks are doubled up to so many; 0: they never are."""
    seed: int = DEFAULT
    settles: tuple[int, ...] = SETTLES
    compared: int = COMPARED

    def __post_init__(self) -> None:
        if self.first < 3 or self.budget < self.first:
            raise PlanError(
                "budget",
                f"{self.budget} evaluations with {self.first} first",
                "3 first ones at least, no more than all",
            )
        if self.blocks < 2:
            raise PlanError("blocks", f"{self.blocks} cannot confirm a gain", "give two or more")


@dataclass(frozen=True)
class Compared:
    """Two limits compared directly, and by how much the first one is better."""

    rival: float
    than: float
    gain: Gain


@dataclass(frozen=True)
class LimitFound:
    """The limit to set (None: none), the best candidate of the search, and its evaluations."""

    limit: Limit
    candidate: Limit
    gain: Gain | None
    """Of the candidate over no limit; None if no limit was the best candidate."""
    evaluations: tuple[tuple[Evaluation, float], ...]
    noise_sd: float
    """Of one evaluation's score, as the search saw it."""
    ended: str
    """Why the search ended, in words."""
    compared: tuple[Compared, ...] = ()
    chance: float | None = None
    """That another candidate is better by what matters, when the search ended."""


Search = Generator[Evaluation, float, LimitFound]


def limit_search(
    candidates: Candidates, settings: SearchSettings, losses: Sequence[float] = (), before: Sequence[float] = ()
) -> Search:
    """Finds the limit with the highest score, or None if none is surely better than no limit at all.

    `losses`: what each candidate may cost while it is evaluated, as a share of the figure. Then what costs less comes
    first, and dear ones are evaluated only for what they are worth beside their cost; none: evaluating costs nothing.
    `before`: scores from before any limit was set.
    """
    seen = _Seen(candidates, settings.seed)
    for index in _first(candidates, settings, losses):
        yield from seen.evaluate(index, "begin")
    ended = phrase("the budget of evaluations was used up")
    while True:
        known = seen.beliefs()
        best = int(np.argmax(known.mean))
        chance = chance_of_better(known, best)
        if chance < UNLIKELY:
            ended = phrase(
                "the chance of an improvement above {percent:g} % fell below {unlikely:g} %",
                percent=100 * WORTH,
                unlikely=100 * UNLIKELY,
            )
            break
        left = settings.budget - len(seen.scores)
        if left <= 0:
            break
        worth = knowledge_gradient(known, max(1.0, SHARE * left))
        if losses:
            worth = worth / (EFFORT + np.asarray(losses))
        yield from seen.evaluate(int(np.argmax(worth)), "search")
    candidate = candidates.limits[best]
    found: Gain | None = None
    compared: list[Compared] = []
    if candidate is not None:
        ask = confirm_settled(candidate, settings.blocks, settings.settles, before, settings.most_blocks)
        found = yield from _recorded(ask, seen)
        if found.unsure(settings.settles):
            seen.forget(4 * found.blocks, candidate, None)
    while candidate is not None and found is not None and found.real and len(compared) < settings.compared:
        rival = _rival(seen, candidate, [one.rival for one in compared] + [one.than for one in compared])
        if rival is None:
            break
        ask = confirm(rival, settings.blocks, candidate, found.settles, purpose="compare")
        better = yield from _recorded(ask, seen)
        compared.append(Compared(rival, candidate, better))
        if better.real:
            candidate, found = rival, better.plus(found)
    limit = candidate if found is not None and found.real else None
    return LimitFound(limit, candidate, found, tuple(seen.evaluations), known.noise_sd, ended, tuple(compared), chance)


def _rival(seen: _Seen, candidate: float, known: Sequence[float]) -> float | None:
    """The limit that looks better than the confirmed one, by its own scores or by the model; None if none does."""
    model, limits = seen.beliefs(), seen.candidates.limits
    scores: dict[Limit, list[float]] = {}
    for index, score in zip(seen.at, seen.scores, strict=True):
        scores.setdefault(limits[index], []).append(score)
    mean, count = float(np.mean(scores[candidate])), len(scores[candidate])
    level = float(model.mean[limits.index(candidate)])
    found: list[tuple[float, float]] = []
    for index, limit in enumerate(limits):
        if limit is None or limit == candidate or limit in known:
            continue
        own = scores.get(limit, [])
        error = model.noise_sd * math.sqrt(1 / len(own) + 1 / count) if own else math.inf
        if model.mean[index] > level + WORTH or (own and float(np.mean(own)) > mean + CLEARLY * error):
            found.append((float(model.mean[index]), limit))
    return max(found)[1] if found else None


def chance_of_better(known: Beliefs, best: int) -> float:
    """The probability that some candidate's figure lies more than `WORTH` above that of the candidate `best`."""
    return float(np.mean(known.draws.max(axis=1) > known.draws[:, best] + math.log1p(WORTH)))


def _first(candidates: Candidates, settings: SearchSettings, losses: Sequence[float]) -> list[int]:
    """Spread-out candidates, and the one that just begins to take effect.

    In random order, so that a drift of the system is not taken for an effect of the limit; if they cost, the cheapest
    first.
    """
    rates = np.linspace(0, candidates.count - 1, settings.first, dtype=np.int64)[:-1].tolist()
    binding = [] if candidates.binding is None else [candidates.binding]
    order = list(dict.fromkeys([*rates, *binding, candidates.unlimited]))
    np.random.default_rng(settings.seed).shuffle(order)
    return sorted(order, key=lambda index: losses[index]) if losses else order


def _recorded(part: Generator[Evaluation, float, Gain], seen: _Seen) -> Generator[Evaluation, float, Gain]:
    """Runs a part of the search and keeps what it saw."""
    try:
        asked = next(part)
        while True:
            score = yield asked
            seen.keep(asked, score)
            asked = part.send(score)
    except StopIteration as end:
        found: Gain = end.value
        return found


class _Seen:
    """The evaluations so far."""

    def __init__(self, candidates: Candidates, seed: int) -> None:
        self.candidates, self.seed = candidates, seed
        self.at: list[int] = []
        self.scores: list[float] = []
        self.evaluations: list[tuple[Evaluation, float]] = []

    def evaluate(self, index: int, purpose: str) -> Generator[Evaluation, float, None]:
        asked = Evaluation(self.candidates.limits[index], purpose)
        self.keep(asked, (yield asked))

    def keep(self, asked: Evaluation, score: float) -> None:
        self.at.append(self.index(asked.limit))
        self.scores.append(score)
        self.evaluations.append((asked, score))

    def forget(self, but: int, *limits: Limit) -> None:
        """What was observed of these before they had settled, all but the last evaluations."""
        gone, first = [self.index(limit) for limit in limits], len(self.at) - but
        kept = [place for place, index in enumerate(self.at) if place >= first or index not in gone]
        self.at, self.scores = [self.at[place] for place in kept], [self.scores[place] for place in kept]

    def index(self, limit: Limit) -> int:
        return self.candidates.limits.index(limit)

    def beliefs(self) -> Beliefs:
        scores = np.maximum(self.scores, max(self.scores) - DEPTH)
        places = self.candidates
        return beliefs(self.at, scores, places.positions, places.unlimited, DRAWS, mixed(self.seed, len(self.scores)))

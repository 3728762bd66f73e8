"""The probability of every hypothesis of a bisection, from the likelihood of the differences that were measured.

The size of the change and the scatter of the differences are not known: the likelihood is added up over a grid of
both. It does no I/O.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from keisoku.ground.statistics.bisection import Array, Belief, Comparison, History

P_NONE, P_MORE = 0.2, 0.1
"""Of no change beyond the margin, and of more than one, before anything is measured."""
_FREEDOM = 5.0
"""Of Student's t, as which differences scatter."""
_AT_CENTRE = 8 / (3 * math.pi * math.sqrt(_FREEDOM))
"""The density of that distribution at its centre."""
_DISTURBED, _DISTURBED_BY = 0.1, 0.1
"""Share of the comparisons that may be disturbed, and the scale of Cauchy's distribution of these."""
_TOLERANCE = 0.25
"""Standard deviation of the levels of commits that change nothing (a build lays out its code anew), in margins."""
_TYPICAL = 0.05
"""Scale of Cauchy's distribution of a change, before anything is measured."""
_FINEST = 5e-4
"""Differences scatter at least so much."""
_USUAL, _AS_MANY = 0.01, 4
"""How much they scatter where nothing is known, which counts as so many of them."""
_OFFSETS = np.array([-math.sqrt(3), 0.0, math.sqrt(3)]), np.array([1 / 6, 2 / 3, 1 / 6])
"""Gauss's quadrature over a normal distribution: places and weights."""
_LIKELY = 1e-3
"""Sizes and scatters whose share of the probability is less than this of the largest are left out for two changes."""


def believe(history: History, comparisons: Sequence[Comparison]) -> Belief:
    """The probability of every hypothesis after these comparisons."""
    if not comparisons:
        return _before(history)
    model = _Model(history, comparisons)
    of_one = model.of_one()
    return model.belief(of_one, *model.of_more(of_one))


def _before(history: History) -> Belief:
    even = np.full(history.length + 1, 1 / history.length)
    even[0] = 0
    some = 1 - P_NONE - P_MORE if history.length > 1 else 1 - P_NONE
    more = 1 - P_NONE - some
    return Belief(history, (), P_NONE, even * some, more, even, even, (-math.inf, 0.0, math.inf))


class _Model:
    """The likelihood of what was measured, on a grid of the sizes of the change and of the scatter.

    Places that were not measured are told apart by nothing, so all hypotheses between two measured places are one.
    """

    def __init__(self, history: History, comparisons: Sequence[Comparison]) -> None:
        self.history, self.comparisons = history, comparisons
        self.places = sorted({each.place for each in comparisons} | {history.length})
        self.gaps = np.diff([0, *self.places])
        """How many commits may hold a change that is first seen at each measured place."""
        self.scatter = _scatter(comparisons, history.resolution)
        self.changes, self.log_prior = self._changes()
        self.low, self.high = (self._levels(high) for high in (False, True))

    def _of(self, place: int) -> list[Comparison]:
        return [each for each in self.comparisons if each.place == place]

    def _changes(self) -> tuple[Array, Array]:
        """Sizes of the whole change, and the logarithms of their probabilities with those of the scatter."""
        margin, length = self.history.margin, self.history.length
        ends = [each.difference for each in self._of(length)] or [0.0]
        centre = float(np.median(ends))
        half = 6 * max(self.scatter.max() / 2, _FINEST) / math.sqrt(len(ends))
        nodes = np.unique(np.concatenate([np.linspace(-margin, margin, 9), centre + np.linspace(-half, half, 25)]))
        widths = np.gradient(nodes) if nodes.size > 1 else np.ones(1)
        outside = np.abs(nodes) > margin
        within_margin = 2 * math.atan(margin / _TYPICAL) / math.pi
        beyond = 1 / (math.pi * _TYPICAL * (1 + (nodes / _TYPICAL) ** 2)) / (1 - within_margin)
        density = np.where(outside, (1 - P_NONE) * beyond, P_NONE / (2 * margin))
        # A scatter is as probable as one twice as large.
        return nodes, np.log(density * widths)[:, None] - math.log(self.scatter.size)

    def _levels(self, high: bool) -> Array:
        """Logarithm of the likelihood if each measured place has the level of an end: place × change × scatter."""
        change, none = self.changes, np.zeros_like(self.changes)
        level = change if high else none
        return np.array([self._at(place, level, change, self.scatter) for place in self.places])

    def _at(self, place: int, level: Array, change: Array, scatter: Array) -> Array:
        """The same of one place: `level` and `change` are of one shape, to which the scatter is added."""
        own = self._of(place)
        if not own:
            return np.zeros((*level.shape, scatter.size))
        spread = 0.0 if place == self.history.length else _TOLERANCE * self.history.margin
        parts = []
        for offset, weight in zip(*_OFFSETS, strict=True):
            expected = [level + offset * spread - (change if each.against_bad else 0.0) for each in own]
            apart = np.array([each.difference - one for each, one in zip(own, expected, strict=True)])
            parts.append(math.log(weight) + _log_density(apart[..., None], scatter).sum(axis=0))
        found: Array = np.logaddexp.reduce(parts, axis=0)
        return found

    def of_one(self) -> Array:
        """Logarithm of the joint probability of one change that is first seen at each measured place: place × change ×
        scatter."""
        below = np.concatenate([np.zeros((1, *self.low.shape[1:])), np.cumsum(self.low, axis=0)[:-1]])
        above = np.cumsum(self.high[::-1], axis=0)[::-1]
        one = math.log((1 - P_NONE - P_MORE) / (1 - P_NONE)) if self.history.length > 1 else 0.0
        shares = np.log(self.gaps / self.history.length)[:, None, None]
        # Of no change beyond the margin is the whole of its probability; it is not shared with two changes.
        inside = (np.abs(self.changes) <= self.history.margin)[:, None]
        found: Array = below + above + shares + self.log_prior + np.where(inside, 0.0, one)
        return found

    def of_more(self, of_one: Array) -> tuple[Array, Array]:
        """Logarithms of the joint probability of two changes, by the measured place at which the first is seen and by
        that at which the second is."""
        count, length = len(self.places), self.history.length
        nothing = np.full(count, -np.inf)
        if length < 2:
            return nothing, nothing
        likely = self._likely(of_one)
        change, scatter = np.ix_(*likely)
        low, high = self.low[:, change, scatter], self.high[:, change, scatter]
        prior = self.log_prior[likely[0]] + math.log(P_MORE / (1 - P_NONE))
        level, log_level = self._middle_levels(self.changes[likely[0]])
        levels, changes = np.broadcast_arrays(level[:, None], self.changes[likely[0]][None])
        # The bad end lies behind both changes, so nothing is between them there.
        shape = (count - 1, *levels.shape, likely[1].size)
        at = [self._at(place, levels, changes, self.scatter[likely[1]]) for place in self.places[:-1]]
        middle = np.array(at).reshape(shape)
        below = np.concatenate([np.zeros((1, *low.shape[1:])), np.cumsum(low, axis=0)])
        between = np.concatenate([np.zeros((1, *middle.shape[1:])), np.cumsum(middle, axis=0)])
        above = np.concatenate([np.cumsum(high[::-1], axis=0)[::-1], np.zeros((1, *high.shape[1:]))])
        pairs = length * (length - 1) / 2
        found = np.full((count, count), -np.inf)
        for a in range(count):
            for b in range(a, count):
                ways = self.gaps[a] * self.gaps[b] if a < b else self.gaps[a] * (self.gaps[a] - 1) / 2
                if not ways:
                    continue
                joint = (below[a] + above[b] + prior)[None] + (between[b] - between[a]) + log_level[..., None]
                found[a, b] = math.log(ways / pairs) + np.logaddexp.reduce(joint, axis=None)
        return np.logaddexp.reduce(found, axis=1), np.logaddexp.reduce(found, axis=0)

    def _likely(self, of_one: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Changes and scatters that are worth a look, by one change or by the ends alone.

        Two changes may be why one does not fit.
        """
        ends = self.high[-1] + self.log_prior
        best = np.logaddexp(ends - ends.max(), np.logaddexp.reduce(of_one, axis=0) - of_one.max())
        of_change, of_scatter = (np.logaddexp.reduce(best, axis=axis) for axis in (1, 0))
        limit = math.log(_LIKELY)
        kept = [np.flatnonzero(each > each.max() + limit) for each in (of_change, of_scatter)]
        return kept[0], kept[1]

    def _middle_levels(self, changes: Array) -> tuple[Array, Array]:
        """Levels between two changes, and the logarithm of their probability for each size of the whole change."""
        margin, centre = self.history.margin, float(np.median(changes))
        reach = abs(centre) + 4 * margin
        nodes = [np.linspace(centre / 2 - 1.5 * reach, centre / 2 + 1.5 * reach, 31)]
        fine = max(float(np.median(self.scatter)), _TOLERANCE * margin)
        for place in self.places[:-1]:
            own = [each.difference + (centre if each.against_bad else 0.0) for each in self._of(place)]
            middle = float(np.median(own))
            if min(abs(middle), abs(middle - centre)) > margin / 2:
                nodes.append(middle + np.linspace(-3, 3, 13) * fine / math.sqrt(len(own)))
        level = np.unique(np.concatenate(nodes).round(6))
        scale = max(abs(centre) / 2, 2 * margin)
        density = np.gradient(level) / (math.pi * scale * (1 + ((level - centre / 2) / scale) ** 2))
        apart = np.minimum(np.abs(level)[:, None], np.abs(level[:, None] - changes[None])) > margin
        apart &= np.abs(changes) > margin  # where the ends do not differ the answer is that, whatever is between
        with np.errstate(divide="ignore"):
            return level, np.log(np.where(apart, density[:, None], 0.0))

    def belief(self, of_one: Array, first: Array, second: Array) -> Belief:
        """The probabilities of all hypotheses."""
        inside = np.abs(self.changes) <= self.history.margin
        none = np.logaddexp.reduce(of_one[:, inside], axis=None)
        one = np.logaddexp.reduce(of_one[:, ~inside], axis=(1, 2))
        more = np.logaddexp.reduce(first)
        whole = np.logaddexp.reduce([none, np.logaddexp.reduce(one), more])
        of_change = np.exp(np.logaddexp.reduce(of_one, axis=(0, 2)) - np.logaddexp.reduce(of_one, axis=None))
        two = [np.exp(each - more) if np.isfinite(more) else np.zeros(len(each)) for each in (first, second)]
        return Belief(
            self.history,
            tuple(self.comparisons),
            float(np.exp(none - whole)),
            self._spread(np.exp(one - whole)),
            float(np.exp(more - whole)),
            self._spread(two[0]),
            self._spread(two[1]),
            self._interval(of_change),
        )

    def _interval(self, of_change: Array) -> tuple[float, float, float]:
        """Of the whole change, by the normal distribution; a step of the grid is part of it."""
        mean = float((of_change * self.changes).sum())
        near = int(np.argmin(np.abs(self.changes - mean)))
        step = float(np.diff(self.changes[max(near - 1, 0) : near + 2]).max())
        half = 1.96 * math.hypot(math.sqrt(float((of_change * (self.changes - mean) ** 2).sum())), step / math.sqrt(12))
        return mean - half, mean, mean + half

    def _spread(self, of_gaps: Array) -> Array:
        """Probabilities by place, of those by measured place."""
        found: Array = np.concatenate([[0.0], np.repeat(of_gaps / self.gaps, self.gaps)])
        return found


def _scatter(comparisons: Sequence[Comparison], resolution: float) -> Array:
    """Plausible scales of the differences, from how those of the same sides differ, and from their resolution."""
    groups: dict[tuple[int, bool], list[float]] = {}
    for each in comparisons:
        groups.setdefault((each.place, each.against_bad), []).append(each.difference)
    apart = [
        abs(one - float(np.median(own))) * math.sqrt(len(own) / (len(own) - 1))
        for own in groups.values()
        if len(own) > 1
        for one in own
    ]
    found = max(1.4826 * float(np.median(apart)), 2 * _FINEST) if apart else _USUAL
    # A few differences that happen to be close to each other say little.
    scale = math.exp((len(apart) * math.log(found) + _AS_MANY * math.log(_USUAL)) / (len(apart) + _AS_MANY))
    return math.hypot(scale, resolution / math.sqrt(3)) * np.geomspace(0.5, 3.0, 8)


def _log_density(apart: Array, scale: Array) -> Array:
    """Logarithm of the density of a difference that is so far from what is expected."""
    spread = 1 + (apart / scale) ** 2 / _FREEDOM
    calm = _AT_CENTRE / scale / (spread * spread * spread)  # to the power of half the freedom and one more
    disturbed = 1 / (math.pi * _DISTURBED_BY * (1 + (apart / _DISTURBED_BY) ** 2))
    found: Array = np.log((1 - _DISTURBED) * calm + _DISTURBED * disturbed)
    return found

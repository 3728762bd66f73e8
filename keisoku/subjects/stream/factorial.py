"""A full factorial plan of set-ups, and what each factor changes.

Effects are ratios: the logarithms of the figures are compared, level by level, over all combinations of the other
factors, in which every level occurs equally often (Box, Hunter & Hunter, Statistics for Experimenters, ch. 5).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from keisoku.ground.statistics.distribution import fisher_above
from keisoku.ground.statistics.uncertainty import student

Setup = Mapping[str, str]


@dataclass(frozen=True)
class Effect:
    """By how much a level differs from the factor's first one: a ratio of geometric means with its interval (95 %)."""

    factor: str
    level: str
    reference: str
    ratio: float
    lower: float
    upper: float

    @property
    def is_significant(self) -> bool:
        """True if the interval leaves out 1."""
        return not self.lower <= 1 <= self.upper


@dataclass(frozen=True)
class Interaction:
    """Two factors that depend on each other, with the F test's p-value."""

    factors: tuple[str, str]
    by_chance: float


def setups(factors: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Every combination of levels; one without factors."""
    return [dict(zip(factors, levels, strict=True)) for levels in itertools.product(*factors.values())]


def effects(cells: Sequence[tuple[Setup, Sequence[float]]]) -> list[Effect]:
    """Of every level but the first of each factor, from figures above zero; repetitions give the scatter.

    Cells without figures are left out. Raises ValueError if no cell has two figures.
    """
    known = [(setup, np.log(values)) for setup, values in cells if len(values)]
    variance, freedom = _scatter(known)
    quantile = student(freedom)
    found = []
    for factor, levels in _levels(known).items():
        means = {level: _mean([logs for setup, logs in known if setup[factor] == level]) for level in levels}
        reference = levels[0]
        for level in levels[1:]:
            difference = means[level][0] - means[reference][0]
            reach = quantile * math.sqrt(variance * (means[level][1] + means[reference][1]))
            ends = (math.exp(difference - reach), math.exp(difference + reach))
            found.append(Effect(factor, level, reference, math.exp(difference), *ends))
    return found


def interactions(cells: Sequence[tuple[Setup, Sequence[float]]], level: float = 0.01) -> list[Interaction]:
    """Pairs of factors whose effects depend on each other, at that level of the F test."""
    known = [(setup, np.log(values)) for setup, values in cells if len(values)]
    variance, freedom = _scatter(known)
    found = []
    for one, other in itertools.combinations(_levels(known), 2):
        groups: dict[tuple[str, str], list[float]] = {}
        counts: dict[tuple[str, str], int] = {}
        for setup, logs in known:
            pair = setup[one], setup[other]
            groups.setdefault(pair, []).append(float(np.mean(logs)))
            counts[pair] = counts.get(pair, 0) + len(logs)
        means = {pair: float(np.mean(values)) for pair, values in groups.items()}
        rows, columns = ({pair[place] for pair in means} for place in (0, 1))
        between = (len(rows) - 1) * (len(columns) - 1)
        if len(means) < len(rows) * len(columns) or between == 0:
            continue
        grand = float(np.mean(list(means.values())))
        by_row = {row: float(np.mean([means[row, column] for column in columns])) for row in rows}
        by_column = {column: float(np.mean([means[row, column] for row in rows])) for column in columns}
        squares = sum(
            counts[row, column] * (means[row, column] - by_row[row] - by_column[column] + grand) ** 2
            for row, column in means
        )
        if variance == 0:
            chance = 0.0 if squares > 1e-24 else 1.0
        else:
            chance = fisher_above(between, freedom, squares / between / variance)
        if chance < level:
            found.append(Interaction((one, other), chance))
    return found


def _levels(known: Sequence[tuple[Setup, object]]) -> dict[str, list[str]]:
    names = known[0][0]
    return {name: list(dict.fromkeys(setup[name] for setup, _ in known)) for name in names}


def _scatter(known: Sequence[tuple[Setup, np.ndarray]]) -> tuple[float, int]:
    """Variance of repetitions within cells, and its degrees of freedom."""
    freedom = sum(len(logs) - 1 for _, logs in known)
    if freedom < 1:
        raise ValueError("no cell was measured twice")
    return sum(float(((logs - logs.mean()) ** 2).sum()) for _, logs in known) / freedom, freedom


def _mean(cells: Sequence[np.ndarray]) -> tuple[float, float]:
    """Mean of the cells' means, and its variance in units of that of one repetition."""
    return float(np.mean([logs.mean() for logs in cells])), sum(1 / len(logs) for logs in cells) / len(cells) ** 2

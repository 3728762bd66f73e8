"""A Gaussian process over limits: what is known of the score at every candidate after some noisy evaluations.

Pure; it chooses nothing. The hyper-parameters are not fixed at their likeliest values but averaged over a small grid
by marginal likelihood (Rasmussen and Williams 2006, §5.4), because a dozen evaluations leave several of them likely.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

LENGTHS = (0.4, 0.8, 1.6)
"""Distances in natural logarithms of the rate over which the score stays alike: a factor of 1.5 to 5."""
NOISES = (0.003, 0.03, 0.3, 3.0)
"""Variance of one evaluation over the variance of the score."""
SHAPING = 0.1
"""Variance, over that of the score, by which no limit may differ from a limit at line rate: shaping itself costs."""
LEVEL = 4.0
"""The same for the constant of the score, which is not known beforehand."""
_PRIOR_SD, _PRIOR_WEIGHT = 0.05, 1.0
"""Of scores and its weight in evaluations: keeps five equal values from being taken for certainty."""


@dataclass(frozen=True)
class Beliefs:
    """The score at each candidate: means and standard deviations, and draws to ask joint questions of."""

    mean: Floats
    sd: Floats
    draws: Floats
    """Shape (draws, candidates): scores that agree with the evaluations, without the noise of evaluating."""
    noise_sd: float
    """Of one evaluation."""


def _kneed(distance: Floats, length: float) -> Floats:
    """Correlation of scores some distance apart on a curve that may have knees (Matérn 5/2)."""
    scaled = math.sqrt(5) * distance / length
    return np.asarray((1 + scaled + scaled**2 / 3) * np.exp(-scaled), dtype=np.float64)


def _smooth(distance: Floats, length: float) -> Floats:
    """The same on a curve without any (squared exponential)."""
    return np.asarray(np.exp(-((distance / length) ** 2) / 2), dtype=np.float64)


KERNELS = (_kneed, _smooth)


def beliefs(at: ArrayLike, scores: ArrayLike, positions: ArrayLike, unlimited: int, draws: int, seed: int) -> Beliefs:
    """What `scores`, evaluated at the candidates `at` (indices), say of all candidates.

    `positions` are the candidates' natural logarithms of rate; candidate `unlimited` is no limit at all and stands at
    line rate. Raises ValueError without evaluations.
    """
    index = np.asarray(at, dtype=np.int64)
    y = np.asarray(scores, dtype=np.float64)
    x = np.asarray(positions, dtype=np.float64)
    if len(y) == 0:
        raise ValueError("no evaluations: nothing is known of any limit")
    centre = float(y.mean())
    y = y - centre
    count = len(y)
    distance = np.abs(x[:, None] - x[None, :])
    extra = np.full(distance.shape, LEVEL)
    extra[unlimited, unlimited] += SHAPING
    weights, means, variances, noises, ways = [], [], [], [], []
    for kernel, length in itertools.product(KERNELS, LENGTHS):
        prior = kernel(distance, length) + extra
        known = prior[np.ix_(index, index)]
        cross = prior[:, index]
        for noise in NOISES:
            root = np.linalg.cholesky(known + noise * np.eye(count))
            white = np.linalg.solve(root, y)
            reach = np.linalg.solve(root, cross.T)
            squares = _PRIOR_WEIGHT * _PRIOR_SD**2 + float(white @ white)
            freedom = _PRIOR_WEIGHT + count
            scale = squares / freedom
            # The variance of the score is integrated out (conjugate prior), so the grid has two dimensions only.
            weights.append(-float(np.log(np.diag(root)).sum()) - freedom / 2 * math.log(squares))
            means.append(reach.T @ white)
            variances.append(scale * (np.diag(prior) - (reach**2).sum(axis=0)))
            ways.append((scale, prior, reach))
            noises.append(scale * noise)
    chance = np.exp(np.asarray(weights) - max(weights))
    chance /= chance.sum()
    mean = np.einsum("h,hc->c", chance, np.asarray(means))
    spread = np.asarray(variances) + (np.asarray(means) - mean) ** 2
    sd = np.sqrt(np.maximum(np.einsum("h,hc->c", chance, spread), 0))
    random = np.random.default_rng(seed)
    shares = random.multinomial(draws, chance)
    parts = []
    for of, (scale, prior, reach), share in zip(means, ways, shares, strict=True):
        if share:  # most pairs are too unlikely to be drawn from, and a whole covariance takes longer than all else
            root = _root(scale * (prior - reach.T @ reach))
            parts.append(of + random.standard_normal((share, len(x))) @ root.T)
    sampled = np.concatenate(parts) if parts else np.empty((0, len(x)))
    return Beliefs(mean + centre, sd, sampled + centre, math.sqrt(float(chance @ np.asarray(noises))))


def _root(covariance: Floats) -> Floats:
    """A square root of a covariance that may be singular."""
    jitter = 1e-9 * float(np.trace(covariance)) / len(covariance) + 1e-15
    return np.asarray(np.linalg.cholesky(covariance + jitter * np.eye(len(covariance))), dtype=np.float64)

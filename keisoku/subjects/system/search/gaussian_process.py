"""A Gaussian process over limits: the posterior of the score at every candidate after some noisy evaluations.

It chooses nothing. The hyper-parameters are not fixed at their likeliest values but averaged over a small grid
by marginal likelihood (Rasmussen and Williams 2006, §5.4), because a dozen evaluations leave several of them likely.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

LENGTHS = (0.2, 0.4, 0.8, 1.6)
"""Distances in natural logarithms of the rate over which the score stays alike: a factor of 1.2 to 5."""
NOISES = (0.0003, 0.003, 0.03, 0.3, 3.0)
"""Variance of one evaluation over the variance of the score: from 0.5 % of noise on a range of 30 % to more noise than
score."""
SHAPING = 0.1
"""Variance, over that of the score, by which no limit may differ from a limit at line rate: shaping itself costs."""
LEVEL = 4.0
"""The same for the constant of the score, which is not known beforehand."""
NEGLIGIBLE = 1e-3
"""Likelihood, beside that of the likeliest hyper-parameters, below which others are left out."""
_PRIOR_SD, _PRIOR_WEIGHT = 0.05, 1.0
"""Of scores and its weight in evaluations: keeps five equal values from being taken for certainty."""


@dataclass(frozen=True)
class Beliefs:
    """The score at each candidate: means and covariance, and draws to ask joint questions of."""

    mean: Floats
    draws: Floats
    """Shape (draws, candidates): scores that agree with the evaluations, without the noise of evaluating."""
    noise_sd: float
    """Of one evaluation."""
    covariance: Floats
    """Shape (candidates, candidates): of what is not known, the hyper-parameters included."""

    @property
    def sd(self) -> Floats:
        """Standard deviations of the candidates, in the unit of the scores."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.covariance), 0)), dtype=np.float64)


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
    distance = np.abs(x[:, None] - x[None, :])
    extra = np.full(distance.shape, LEVEL)
    extra[unlimited, unlimited] += SHAPING
    ways = [
        way for k, length in itertools.product(KERNELS, LENGTHS) for way in _ways(k(distance, length) + extra, index, y)
    ]
    likely = np.asarray([way.likely for way in ways])
    chance = np.exp(likely - likely.max())
    # Most pairs are too unlikely to matter, and a whole covariance takes longer than all else.
    kept = np.flatnonzero(chance > NEGLIGIBLE)
    chance = chance[kept] / chance[kept].sum()
    means = np.asarray([ways[i].mean for i in kept])
    covariances = np.asarray([ways[i].covariance() for i in kept])
    mean = chance @ means
    away = means - mean
    covariance = np.einsum("h,hcd->cd", chance, covariances) + (away.T * chance) @ away
    random = np.random.default_rng(seed)
    parts = [
        of + random.standard_normal((share, len(x))) @ _root(within).T
        for of, within, share in zip(means, covariances, random.multinomial(draws, chance), strict=True)
        if share
    ]
    sampled = np.concatenate(parts) if parts else np.empty((0, len(x)))
    noise_sd = math.sqrt(float(chance @ [ways[i].noise_variance for i in kept]))
    return Beliefs(mean + centre, sampled + centre, noise_sd, covariance)


@dataclass(frozen=True)
class _Way:
    """What one pair of hyper-parameters says."""

    likely: float
    """Logarithm of its marginal likelihood, up to a constant."""
    mean: Floats
    noise_variance: float
    scale: float
    prior: Floats
    cross: Floats
    """Of candidates with the evaluations' principal axes."""
    spread: Floats
    """Along these axes, with noise."""

    def covariance(self) -> Floats:
        """Of the candidates, without the noise of evaluating."""
        return self.scale * (self.prior - (self.cross / self.spread) @ self.cross.T)


def _ways(prior: Floats, index: NDArray[np.int64], y: Floats) -> Iterator[_Way]:
    """For each noise. One set of principal axes serves them all."""
    values, axes = np.linalg.eigh(prior[np.ix_(index, index)])
    along = axes.T @ y
    cross = prior[:, index] @ axes
    freedom = _PRIOR_WEIGHT + len(y)
    for noise in NOISES:
        spread = np.maximum(values, 0) + noise
        squares = _PRIOR_WEIGHT * _PRIOR_SD**2 + float(along @ (along / spread))
        # The variance of the score is integrated out (conjugate prior), so the grid has two dimensions only.
        likely = -float(np.log(spread).sum()) / 2 - freedom / 2 * math.log(squares)
        scale = squares / freedom
        yield _Way(likely, cross @ (along / spread), scale * noise, scale, prior, cross, spread)


def _root(covariance: Floats) -> Floats:
    """A square root of a covariance that may be singular."""
    jitter = 1e-9 * float(np.trace(covariance)) / len(covariance) + 1e-15
    return np.asarray(np.linalg.cholesky(covariance + jitter * np.eye(len(covariance))), dtype=np.float64)

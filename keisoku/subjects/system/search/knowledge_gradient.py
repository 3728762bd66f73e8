"""The value of one more evaluation: the expected increase of the best posterior mean.

The knowledge gradient for correlated beliefs (Frazier, Powell and Dayanik 2009): an evaluation is worth what it may
change about the answer. A candidate well below the best can be worth more than the best itself, because between two
flanks that are known the top is known, while scores around a flat top differ by less than their noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from keisoku.subjects.system.search.gaussian_process import Beliefs

Floats = NDArray[np.float64]

_AT = np.linspace(-3.75, 3.75, 31)
_WEIGHTS = np.exp(-(_AT**2) / 2) / np.exp(-(_AT**2) / 2).sum()
"""The standard normal distribution of what an evaluation will show, in steps of a quarter of a standard deviation."""


def knowledge_gradient(known: Beliefs, times: float = 1.0) -> Floats:
    """The worth of evaluating each candidate so many times, in units of the score.

    More than once (Frazier and Powell 2010): one noisy evaluation may change no answer where several would.
    """
    # How the mean of each candidate (rows) moves with what an evaluation of another one (columns) shows.
    shown_sd = np.sqrt(np.maximum(np.diag(known.covariance), 0) + known.noise_sd**2 / times + 1e-18)
    moves = known.covariance / shown_sd
    worth = np.zeros(len(shown_sd))
    for at, weight in zip(_AT, _WEIGHTS, strict=True):
        worth += weight * (known.mean[:, None] + at * moves).max(axis=0)
    return np.asarray(np.maximum(worth - known.mean.max(), 0), dtype=np.float64)

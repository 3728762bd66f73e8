"""Least-squares lines with standard errors, as the published switch measurements (E1) have for latency over frame size.

It refuses to fit a line without a standard error, and formats nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

POINTS_MIN = 3
"""Two points always lie on a line: their residuals, and therefore the standard errors, would be meaningless."""


@dataclass(frozen=True)
class LineFit:
    """The line y = slope · x + constant. Errors are asymptotic standard errors (k = 1), in the units of the data."""

    slope: float
    constant: float
    slope_error: float
    constant_error: float
    residuals: NDArray[np.float64]
    """Measured minus fitted, in the order of the points."""

    def predict(self, x: float) -> float:
        """The line's y at `x`, in the units of the data."""
        return self.slope * x + self.constant


def fit_line(x: ArrayLike, y: ArrayLike, sigma: ArrayLike | None = None) -> LineFit:
    """Fits y = slope · x + constant by least squares, weighted by 1/sigma² if `sigma` is given.

    The standard errors are scaled by the residuals' own scatter, also with `sigma`, which then
    only weighs the points against each other: the "asymptotic standard error" of gnuplot, as in E1.

    Raises ValueError for fewer than three points, unequal lengths, values that are not finite,
    a sigma that is not positive, or points that all have one x.
    Source: Press et al., Numerical Recipes §15.2; E1 Table 4.1.
    """
    xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    sigmas = np.ones_like(xs) if sigma is None else np.asarray(sigma, dtype=np.float64)
    if xs.ndim != 1 or xs.shape != ys.shape or xs.shape != sigmas.shape:
        raise ValueError("x, y and sigma must be lists of one length")
    if xs.size < POINTS_MIN:
        raise ValueError(f"a line with standard errors needs at least {POINTS_MIN} points, got {xs.size}")
    if not (np.isfinite(xs).all() and np.isfinite(ys).all() and np.isfinite(sigmas).all()):
        raise ValueError("a line can only be fitted to finite values")
    if (sigmas <= 0).any():
        raise ValueError("every sigma must be above zero")
    if (xs == xs[0]).all():
        raise ValueError("a line needs points with at least two different x")

    # Only the ratios matter: scaling keeps the squares of a tiny sigma from overflowing.
    weights = (sigmas.min() / sigmas) ** 2
    total = weights.sum()
    x_mean, y_mean = (weights * xs).sum() / total, (weights * ys).sum() / total
    # Centred sums: the plain normal equations lose half the digits for sizes far from zero.
    spread = (weights * (xs - x_mean) ** 2).sum()
    slope = (weights * (xs - x_mean) * (ys - y_mean)).sum() / spread
    constant = y_mean - slope * x_mean
    residuals = ys - (slope * xs + constant)
    variance = (weights * residuals**2).sum() / (xs.size - 2)
    return LineFit(
        slope=float(slope),
        constant=float(constant),
        slope_error=float(np.sqrt(variance / spread)),
        constant_error=float(np.sqrt(variance * (1 / total + x_mean**2 / spread))),
        residuals=residuals,
    )

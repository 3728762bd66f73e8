"""Power-law noise of clocks: its kinds and its covariances.

The spectrum of the fractional frequency is S_y(f) ~ f^α: α = 2 white phase, 1 flicker phase, 0 white frequency,
-1 flicker frequency, -2 random walk of frequency. Covariances are those of C. A. Greenhall and W. J. Riley,
"Uncertainty of stability variances based on finite differences", PTTI 2003, §3, up to a factor that cancels in
every use. It never reads a clock.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from keisoku.language import phrase

Floats = NDArray[np.float64]

NAMES = {
    2: phrase("white PM"),
    1: phrase("flicker PM"),
    0: phrase("white FM"),
    -1: phrase("flicker FM"),
    -2: phrase("random-walk FM"),
}
"""The kinds of noise by α: modulation of phase (PM) or of frequency (FM)."""


def integral_covariance(lag: Floats, alpha: int) -> Floats:
    """s_w(t): generalised autocovariance of the integral of phase, at lags in any unit (Greenhall and Riley, (9)).

    Raises ValueError for an α outside of -4 … 2.
    """
    away = np.abs(lag)
    if alpha == 2:
        return -away
    if alpha == 1:
        return np.asarray(xlogy(away**2, away))
    if alpha == 0:
        return away**3
    if alpha == -1:
        return np.asarray(-xlogy(away**4, away))
    if alpha == -2:
        return -(away**5)
    if alpha == -3:
        return np.asarray(xlogy(away**6, away))
    if alpha == -4:
        return away**7
    raise ValueError(f"no power-law noise of α = {alpha}")


def phase_covariance(lag: Floats, alpha: int, per_lag: float) -> Floats:
    """s_x(t): of phase that is averaged over 1/`per_lag` of the lags' unit; of phase itself if that is infinite.

    Infinite only for α ≤ 0: other noise has no finite variance without a bandwidth. Greenhall and Riley, (8).
    """
    if math.isinf(per_lag):
        return integral_covariance(lag, alpha + 2)
    step = 1.0 / per_lag
    return per_lag**2 * (
        2.0 * integral_covariance(lag, alpha)
        - integral_covariance(lag - step, alpha)
        - integral_covariance(lag + step, alpha)
    )

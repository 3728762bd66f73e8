"""Clocks whose truth is known: power-law noise, drift, steps, suspends."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def power_law_phase(alpha: int, points: int, generator: np.random.Generator) -> Floats:
    """Phase with S_x ~ f^(α-2), differences of which are white with a variance of 1.

    Fractional integration of white noise (N. J. Kasdin, Proc. IEEE 83(5), 1995), by FFT.
    """
    order = 2 - alpha  # of the spectrum's slope
    weights = np.cumprod(np.concatenate(([1.0], (np.arange(1, points) - 1.0 + order / 2) / np.arange(1, points))))
    size = 1 << (2 * points - 1).bit_length()
    white = generator.standard_normal(points)
    return np.fft.irfft(np.fft.rfft(white, size) * np.fft.rfft(weights, size), size)[:points]

"""Probabilities and quantiles of the distributions of statistics: beta, Student's t, chi-squared and Fisher's F.

SciPy has them too, in 110 MB, of which a device's figures need nothing else. Tests compare with it. The only place that
computes them; it knows no figure.
"""

from __future__ import annotations

import math
from collections.abc import Callable

_LARGE = 3000.0
"""Beta functions of larger parameters are integrated where they are large: a fraction would have thousands of terms."""
_TERMS = 10_000
_CLOSE = 1e-15
_NODES = 24
"""Of Gauss and Legendre, over ten deviations."""


def beta_below(alpha: float, beta: float, value: float) -> float:
    """The probability of less than `value`, of a beta distribution (DLMF 8.17)."""
    if value <= 0 or value >= 1:
        return 0.0 if value <= 0 else 1.0
    if min(alpha, beta) > _LARGE:
        return _integrated(alpha, beta, value)
    front = math.exp(alpha * math.log(value) + beta * math.log1p(-value) - _log_beta(alpha, beta))
    # DLMF 8.17.22; on the other side of the mean the fraction of the complement converges.
    if value < (alpha + 1) / (alpha + beta + 2):
        return front / (alpha * _beta_fraction(alpha, beta, value))
    return 1 - front / (beta * _beta_fraction(beta, alpha, 1 - value))


def beta_quantile(alpha: float, beta: float, chance: float) -> float:
    """The value below which a beta distribution is with this probability."""
    if chance <= 0 or chance >= 1:
        return 0.0 if chance <= 0 else 1.0
    constant = _log_beta(alpha, beta)

    def density(value: float) -> float:
        return math.exp((alpha - 1) * math.log(value) + (beta - 1) * math.log1p(-value) - constant)

    return _root(lambda value: beta_below(alpha, beta, value) - chance, density, alpha / (alpha + beta), 1.0)


def student_quantile(freedom: float, chance: float) -> float:
    """The value below which Student's t is with this probability."""
    if chance == 0.5:
        return 0.0
    # t²/(freedom + t²) is beta(1/2, freedom/2); near 0, where few digits would be lost.
    share = beta_quantile(0.5, freedom / 2, abs(2 * chance - 1))
    return math.copysign(math.sqrt(freedom * share / (1 - share)) if share < 1 else math.inf, chance - 0.5)


def student_below(freedom: float, value: float) -> float:
    """The probability that Student's t is less."""
    tail = beta_below(freedom / 2, 0.5, freedom / (freedom + value * value)) / 2
    return tail if value < 0 else 1 - tail


def fisher_above(numerator: float, denominator: float, ratio: float) -> float:
    """The probability of a larger ratio of two variances that estimate the same, by their degrees of freedom."""
    if math.isinf(denominator):
        return chi_squared_above(numerator, ratio * numerator)
    return beta_below(denominator / 2, numerator / 2, denominator / (denominator + numerator * ratio))


def chi_squared_above(freedom: float, value: float) -> float:
    """The probability of a larger sum of squares (DLMF 8.2.4)."""
    if value <= 0:
        return 1.0
    order, at = freedom / 2, value / 2
    front = math.exp(order * math.log(at) - at - math.lgamma(order))
    if at < order + 1:  # DLMF 8.11.4
        term = total = 1 / order
        while term > _CLOSE * total:
            order += 1
            term *= at / order
            total += term
        return 1 - front * total
    return front / _fraction(at + 1 - order, lambda n: (-n * (n - order), at + 1 - order + 2 * n))  # DLMF 8.9.2


def chi_squared_quantile(freedom: float, chance: float) -> float:
    """The value that a sum of squares exceeds with this probability."""
    order = freedom / 2

    def density(value: float) -> float:
        return math.exp((order - 1) * math.log(value / 2) - value / 2 - math.lgamma(order)) / 2

    return _root(lambda value: chance - chi_squared_above(freedom, value), density, freedom, math.inf)


def _log_beta(alpha: float, beta: float) -> float:
    """The logarithm of the beta function; differences of large logarithms would lose digits (DLMF 5.11.1)."""
    alpha, beta = sorted((alpha, beta))
    if beta < 10:
        return math.lgamma(alpha) + math.lgamma(beta) - math.lgamma(alpha + beta)
    whole = alpha + beta
    if alpha < 10:
        rest = _beyond_stirling(beta) - _beyond_stirling(whole)
        return math.lgamma(alpha) - alpha * math.log(whole) + alpha - (beta - 0.5) * math.log1p(alpha / beta) + rest
    rest = _beyond_stirling(alpha) + _beyond_stirling(beta) - _beyond_stirling(whole)
    found = 0.5 * math.log(2 * math.pi) - 0.5 * math.log(alpha) + alpha * math.log(alpha / whole)
    return found - (beta - 0.5) * math.log1p(alpha / beta) + rest


def _beyond_stirling(value: float) -> float:
    """What Stirling's formula for the logarithm of gamma leaves, of 10 or more."""
    square = value * value
    return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / (1188 * square)) / square) / square) / square) / value


def _beta_fraction(alpha: float, beta: float, value: float) -> float:
    def term(number: int) -> tuple[float, float]:
        half, odd = divmod(number, 2)
        if odd:
            top = -(alpha + half) * (alpha + beta + half) / ((alpha + 2 * half) * (alpha + 2 * half + 1))
        else:
            top = half * (beta - half) / ((alpha + 2 * half - 1) * (alpha + 2 * half))
        return top * value, 1.0

    return _fraction(1.0, term)


def _fraction(first: float, term: Callable[[int], tuple[float, float]]) -> float:
    """first + a1/(b1 + a2/(b2 + …)), by Lentz's method, as Thompson and Barnett changed it."""
    found = above = first or 1e-300
    below = 0.0
    for number in range(1, _TERMS):
        top, bottom = term(number)
        below = 1 / (bottom + top * below or 1e-300)
        above = bottom + top / above or 1e-300
        found *= above * below
        if abs(above * below - 1) < _CLOSE:
            break
    return found


def _integrated(alpha: float, beta: float, value: float) -> float:
    """By the area between `value` and what is ten deviations further from the mean."""
    import numpy as np

    mean = alpha / (alpha + beta)
    deviation = math.sqrt(mean * (1 - mean) / (alpha + beta + 1))
    side = 1.0 if value > mean else -1.0
    end = min(1.0, max(0.0, side * max(side * mean + 10 * deviation, side * value + 5 * deviation)))
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    half = (end - value) / 2
    at = value + half * (nodes + 1)
    logs = (alpha - 1) * np.log(at / mean) + (beta - 1) * (np.log1p(-at) - math.log1p(-mean))
    peak = (alpha - 1) * math.log(mean) + (beta - 1) * math.log1p(-mean) - _log_beta(alpha, beta)
    area = abs(half) * float((weights * np.exp(logs + peak)).sum())
    return 1 - area if side > 0 else area


def _root(over: Callable[[float], float], slope: Callable[[float], float], first: float, most: float) -> float:
    """Where a rising function is zero between 0 and `most`: by Newton's method, or else by halves."""
    low, high, at = 0.0, most, first
    for _ in range(200):
        value = over(at)
        if value == 0:
            return at
        low, high = (low, at) if value > 0 else (at, high)
        steep = slope(at)
        guess = at - value / steep if steep > 0 else low
        if not low < guess < high:
            guess = 2 * at if math.isinf(high) else (low + high) / 2
            if low > 0 and high > 4 * low:
                guess = min(guess, math.sqrt(low * high))
        if abs(guess - at) <= 4e-16 * guess or not low < guess < high:
            return guess
        at = guess
    return at

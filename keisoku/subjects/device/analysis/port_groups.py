"""Which ports of a device share a chip, from the latencies between all of them.

The latency from port i to port j is modelled as a constant, plus a term of port i, plus a term of port j, plus a step
for each pair of groups that the frame goes between. A port that adds the same latency to all its ways is therefore
not taken for a group. For the same reason a chip with a single measured port cannot be distinguished from a slow port
and is not reported; fewer than four ports always form one group.

The number of groups is found by tests: hierarchical clustering proposes a division for every number of groups, and a
division is accepted if its steps explain significantly more of the scatter than chance (F test), corrected for the
number of possible divisions (Bonferroni). A device of one chip thus gives one group.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

PORTS_MIN = 4
"""Two chips with two ports each."""
SIGNIFICANCE = 1e-3
"""Significance level: how often a device of one chip may be divided in error."""

PortPair = tuple[int, int]
"""The sending port and the receiving port."""
Division = tuple[int, ...]
"""The group of each port."""


def port_groups(latencies_ns: Mapping[PortPair, float], error_ns: float) -> list[list[int]]:
    """Groups of ports, each ascending, by their first port; one group if no division is significant.

    `latencies_ns` has one latency for each (sending, receiving) port, all at the same sizes and loads; `error_ns` is
    the standard uncertainty of one of them: smaller steps are never accepted, however small the scatter is.
    Raises ValueError if it is not above zero.
    """
    if not error_ns > 0:
        raise ValueError(f"the error of a latency must be above zero, got {error_ns}")
    ports = sorted({port for way in latencies_ns for port in way})
    if len(ports) < PORTS_MIN:
        return [ports] if ports else []
    place = {port: number for number, port in enumerate(ports)}
    ways = [(place[one], place[other]) for one, other in latencies_ns]
    values = np.asarray(list(latencies_ns.values()), dtype=np.float64)
    found = _Fit(ways, values, (0,) * len(ports))
    threshold = math.log(SIGNIFICANCE) - _log_divisions(len(ports))
    proposed = [_Fit(ways, values, division) for division in _proposals(ways, found.residuals, len(ports))]
    while True:
        finer = [fit for fit in proposed if max(fit.division) > max(found.division)]
        tested = [(*_chance(found, fit, error_ns), number) for number, fit in enumerate(finer)]
        if not tested or min(tested)[0] >= threshold:
            break
        found = finer[min(tested)[-1]]
    groups: dict[int, list[int]] = {}
    for port, group in zip(ports, found.division, strict=True):
        groups.setdefault(group, []).append(port)
    return list(groups.values())


class _Fit:
    """Least squares of constant, ports and steps; the residuals of the latencies."""

    def __init__(self, ways: Sequence[PortPair], values: NDArray[np.float64], division: Division) -> None:
        self.division = division
        ports, rows = len(division), np.arange(len(ways))
        senders, receivers = (np.asarray([way[end] for way in ways]) for end in (0, 1))
        steps = list(combinations(range(max(division) + 1), 2))
        of_step = {step: 2 * ports + number for number, step in enumerate(steps)}
        design = np.zeros((len(ways), 2 * ports + len(steps)))
        design[rows, senders] = 1
        design[rows, ports + receivers] = 1
        for row, (one, other) in enumerate(ways):
            step = tuple(sorted((division[one], division[other])))
            if step[0] != step[1]:
                design[row, of_step[step[0], step[1]]] = 1
        solution, _, rank, _ = np.linalg.lstsq(design, values - values.mean(), rcond=None)
        self.residuals = values - values.mean() - design @ solution
        self.squares = float((self.residuals**2).sum())
        self.parameters = int(rank)


def _chance(coarse: _Fit, fine: _Fit, error_ns: float) -> tuple[float, float]:
    """Logarithm of the probability that chance explains as much as the finer division, and minus its F value."""
    more, left = fine.parameters - coarse.parameters, len(fine.residuals) - fine.parameters
    if more < 1 or left < 1:
        return 0.0, 0.0
    from scipy.stats import f as f_distribution  # loading scipy takes longer than most commands need to start

    variance = max(fine.squares / left, error_ns**2)
    ratio = max(0.0, coarse.squares - fine.squares) / more / variance
    return float(f_distribution.logsf(ratio, more, left)), -ratio


def _proposals(ways: Sequence[PortPair], residuals: NDArray[np.float64], ports: int) -> list[Division]:
    """A division for each number of groups: two ports are near if their ways are faster than the port terms explain."""
    total, count = np.zeros((ports, ports)), np.zeros((ports, ports))
    for (one, other), residual in zip(ways, residuals, strict=True):
        for row, column in ((one, other), (other, one)):
            total[row, column] += residual
            count[row, column] += 1
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    # Two ports without a measured way between them have the greatest distance of all.
    distance = np.where(count > 0, total / np.maximum(count, 1), residuals.max()) - residuals.min()
    np.fill_diagonal(distance, 0)
    tree = linkage(squareform(distance, checks=False), "average")
    labels = [fcluster(tree, number, "maxclust") for number in range(2, ports)]
    return list(dict.fromkeys(_numbered(label) for label in labels if len(set(label)) > 1))


def _numbered(labels: Sequence[int]) -> Division:
    """The same division with groups numbered by their first port."""
    order = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    return tuple(order[label] for label in labels)


def _log_divisions(ports: int) -> float:
    """Logarithm of the number of ways to divide so many ports into groups (Bell's number)."""
    row = [1]
    for _ in range(ports - 1):
        following = [row[-1]]
        for number in row:
            following.append(following[-1] + number)
        row = following
    return math.log(row[-1])

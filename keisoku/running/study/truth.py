"""Figures relative to true values: the rate of the link, or of the line, that a step of a study made itself."""

from __future__ import annotations

from collections.abc import Callable

from keisoku.ground.run.result import Result, Row

_BPS = {"bit/s": 1.0, "Mb/s": 1e6}
TCP_HEADERS = 20 + 20 + 12
"""IPv4, TCP, and its stamps (RFC 7323)."""
ETHERNET_BYTES = 14
"""As a token bucket of the kernel counts them."""


def with_share(
    result: Result, figure: str, true_bps: float, name: str = "of_truth", of: Callable[[Row], bool] = lambda row: True
) -> Result:
    """The result in which rows that have the figure, a rate, also have it in percent of the true one, as `name`."""
    rows = []
    for row in result.rows:
        if (found := row.figures.get(figure)) and of(row):
            share = found.scaled(100 * _BPS[found.unit] / true_bps, "%")
            row = row.model_copy(update={"figures": {**row.figures, name: share}})
        rows.append(row)
    return result.model_copy(update={"rows": rows})


def most_bps(rate_bps: float, mtu: int) -> float:
    """Of TCP's payload in full frames on a line of that rate."""
    return rate_bps * (mtu - TCP_HEADERS) / (mtu + ETHERNET_BYTES)

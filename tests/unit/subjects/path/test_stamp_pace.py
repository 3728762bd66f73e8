"""Packets of a delay measurement that left more slowly than intended are told."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from keisoku.subjects.path.stamp.pace import not_offered


def _rows(gaps_ns: list[int]) -> pa.Table:
    return pa.table({"t1_ns": np.cumsum([10**18, *gaps_ns])})


@pytest.mark.parametrize(("interval_s", "took_ns"), [(0.00001, 25_000), (0.001, 1_010_000), (0.01, 10_100_000)])
def test_packets_that_leave_more_slowly_than_intended_are_flagged(interval_s: float, took_ns: int) -> None:
    flag = not_offered(_rows([took_ns] * 2000), interval_s)
    assert flag and flag.name == "not-offered" and f"{1e9 / took_ns:,.4g} instead of" in flag.text


def test_a_sender_that_was_late_and_caught_up_offered_its_rate() -> None:
    stall = [10_000_000] * 50 + [95_000_000, 1_000_000] + [1_000_000] * 8 + [10_000_000] * 50
    assert not_offered(_rows(stall), 0.01) is None
    assert not_offered(_rows([10_000_000] * 3), 0.01) is None
    # Where stamps are missing at the ends, what is between counts.
    rows = pa.table({"t1_ns": [0, 10**18, 0, 10**18 + 20_000_000, 0]})
    assert not_offered(rows, 0.01) is None
    assert not_offered(pa.table({"t1_ns": [0, 10**18]}), 0.01) is None

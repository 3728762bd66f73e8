"""A distribution on a terminal: every count is in one bar, and a pipe gets none."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import keisoku as ks
from keisoku.faces.cli.summary import print_spread
from keisoku.ground.report.bars import ROWS, Spread, bars
from keisoku.running.measurement.carry_out import load


@given(
    st.lists(st.tuples(st.integers(0, 10**9), st.integers(1, 10**6)), min_size=2, max_size=60, unique_by=lambda b: b[0])
)
def test_every_count_is_in_one_bar_and_no_line_is_too_long(buckets: list[tuple[int, int]]) -> None:
    lower, counts = zip(*sorted(buckets), strict=True)
    title, *lines = bars(Spread("64 byte", "ns", lower, [low + 1 for low in lower], counts), 80)
    assert len(lines) == ROWS and all(len(line) <= 80 for line in lines)
    shares = [float(line.split()[-2]) for line in lines]
    assert sum(shares) == pytest.approx(100, abs=2) and "64 byte" in title
    longest = max(range(ROWS), key=lambda row: lines[row].count("█"))
    assert shares[longest] >= max(shares) * 0.9


def test_a_single_value_has_no_distribution() -> None:
    assert bars(Spread("", "ns", [5], [6], [100]), 80) == [] and bars(Spread("", "ns", [], [], []), 80) == []


@pytest.mark.parametrize(("terminal", "height", "drawn"), [(True, 50, True), (True, 24, False), (False, 50, False)])
def test_only_a_terminal_with_room_gets_it(tmp_path: Path, terminal: bool, height: int, drawn: bool) -> None:
    ks.measure("latency", dut="sim:ax3630s-l3", frame_bytes="imix", rate_fps=1e4, profile="quick", out=tmp_path / "run")
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    console = Console(file=out, force_terminal=terminal, width=80, height=height, legacy_windows=False)
    print_spread(load(tmp_path / "run"), console)
    out.flush()
    said = out.buffer.getvalue().decode()
    assert ("byte, up to" in said) == drawn and bool(said) == drawn

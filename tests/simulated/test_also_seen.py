"""Every procedure says what its own accounts show, also where it is not what it measures."""

from __future__ import annotations

from pathlib import Path

import pytest

import keisoku as ks

FAULTY = "link_bits_per_second = 1_000_000_000\n[faults]\nduplicate_ratio = 0.3\nreorder_ratio = 0.05\n"
SHORT = {"frame_bytes": 64, "profile": "quick"}


@pytest.mark.parametrize("name", ["throughput", "latency", "loss", "mlr"])
def test_duplicates_and_reordering_are_said_in_every_row(name: str, tmp_path: Path) -> None:
    """They were silent in these four."""
    (tmp_path / "faulty.toml").write_text(FAULTY)
    found = ks.measure(name, dut=f"sim:{tmp_path}/faulty.toml", out=tmp_path / "run", **SHORT)
    for row in found.results[0].rows:
        assert "frames arrived twice" in row.remark and "frames arrived out of order" in row.remark, row


def test_a_device_without_faults_is_not_accused(tmp_path: Path) -> None:
    found = ks.measure("throughput", dut="sim:gs908e", out=tmp_path / "run", **SHORT)
    assert not any("arrived" in row.remark for row in found.results[0].rows)

"""`keisoku path one-packet` on real kernels: what must hold however disturbed the host is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.command_line import Ended, outcome_of, start

from keisoku.ground.host.place import Place
from keisoku.ground.lab.path.hop import Hop
from keisoku.ground.lab.path.lab import PathLab
from keisoku.ground.run.directory import RunDirectory
from keisoku.subjects.path.one_packet.probing.sockets import HopSockets
from keisoku.subjects.path.one_packet.probing.wire import HopPacket

pytestmark = pytest.mark.lab

M = 1_000_000
# Slow links: a stall of the host moves a slope of 1600 ns per byte less than one of 80.
HOPS = [Hop(20 * M, 10 * M), Hop(5 * M), Hop(10 * M)]


def keisoku(cwd: Path, *words: str) -> Ended:
    return outcome_of(start("path", *words, cwd=cwd))


def one_packet(lab: PathLab, out: Path, *words: str, budget: str = "20s") -> Ended:
    host = f"{lab.target_address}@{lab.tester_namespace}"
    usual = [
        "--json",
        "--repetitions",
        "4",
        "--trains",
        "1",
        "--timeout",
        "300ms",
        "--budget",
        budget,
        "--out",
        str(out),
    ]
    return keisoku(out.parent, "one-packet", host, *usual, *words)


def near(quantity: dict[str, float], truth: float) -> bool:
    return abs(quantity["value"] / M - truth) <= 0.1 * truth + 3 * (quantity["uncertainty"] or truth * M) / M


def _rows(done: Ended) -> list[dict[str, Any]]:
    (result,) = json.loads(done.stdout)["results"]
    found: list[dict[str, Any]] = result["rows"]
    return found


def test_hops_are_measured_both_ways_and_again_from_the_raw_probes(tmp_path: Path) -> None:
    out = tmp_path / "run"
    with PathLab(HOPS, icmp="unlimited") as lab:
        done = one_packet(lab, out, "--precision", "10")
        addresses = lab.hop_addresses
    assert done.code == 0, done.stderr
    (answer,) = json.loads(done.stdout)["results"]
    hops = [row for row in answer["rows"] if row["group"] == "Hop"]
    assert [row["case"] for row in hops] == [f"{number} {address}" for number, address in enumerate(addresses, 1)]
    for row, hop in zip(hops, HOPS, strict=True):
        forward, reverse = (rate / M for rate in hop.rates_bps)
        assert near(row["figures"]["forward"], forward), row
        assert "reverse" not in row["figures"] or near(row["figures"]["reverse"], reverse), row
        assert any("stamps" in part["source"] for part in row["figures"]["forward"]["budget"])
    routers = [row for row in answer["rows"] if row["group"] == "Router"]
    assert all("RFC 1812" in row["remark"] and "548" in row["remark"] for row in routers)
    assert "minimum-rtt" in (out / "report.html").read_text()

    probes = RunDirectory.open(out).rows("probes")
    assert max(probes["size_bytes"].to_pylist()) == 1500
    again = outcome_of(start("analyse", str(out), "--json", cwd=tmp_path))
    assert again.code == 0, again.stderr
    assert _rows(again) == answer["rows"]


def test_silent_router_is_joined_and_host_that_drops_is_said(tmp_path: Path) -> None:
    with PathLab(HOPS, icmp="unlimited", silent=[2]) as lab:
        done = one_packet(lab, tmp_path / "silent", "--precision", "20")
        assert done.code == 0, done.stderr
        hops = [row for row in _rows(done) if row["group"] == "Hop"]
        assert [row["case"].split()[0] for row in hops] == ["1", "2–3"]
    with PathLab(HOPS[:2], icmp="unlimited", target="drops") as lab:
        done = one_packet(lab, tmp_path / "drops", "--precision", "20")
        assert done.code == 2
        assert "not measured as far as the host: neither the host nor any hop behind" in done.stderr
        assert [row["case"][0] for row in _rows(done) if row["group"] == "Hop"] == ["1"]


def test_host_that_refuses_and_path_that_drops_everything_are_one_sentence(tmp_path: Path) -> None:
    with PathLab(HOPS[:1], icmp="unlimited", target="resets") as lab:
        done = one_packet(lab, tmp_path / "refuses")
        assert done.code == 2
        assert "the host itself says that a filter forbids it (ICMP 3/13)" in done.stderr
        assert "Traceback" not in done.stderr
    with PathLab(HOPS[:1], icmp="silent") as lab:
        done = one_packet(lab, tmp_path / "drops")
        assert done.code == 2
        assert "no hop on the path answered" in done.stderr
        gone = keisoku(tmp_path, "one-packet", f"192.0.2.1@{lab.tester_namespace}", "--timeout", "300ms")
        assert gone.code == 2
        assert "no route leads to it" in gone.stderr


def test_a_slow_shaper_at_this_hosts_own_port_ended_the_command() -> None:
    """Packets for which the socket had no room: 'Resource temporarily unavailable', and nothing was measured."""
    with (
        PathLab([Hop(500_000, bucket_bytes=9334), Hop(20 * M)], icmp="unlimited") as lab,
        HopSockets(Place(lab.target_address, lab.tester_namespace), 33435) as wire,
    ):
        train = wire.exchange([HopPacket(64, size) for size in range(1500, 1300, -1)], 1_000_000)
        # What is behind it in the shaper's queue waits for room, and for all that is before it.
        (alone,) = wire.exchange([HopPacket(64, 100)], 10_000_000_000)
    assert all(reply.rtt_ns is None for reply in train[-20:])
    assert alone.rtt_ns is not None

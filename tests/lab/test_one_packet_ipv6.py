"""The one-packet method over IPv6, on links of known rate that carry it as well as IPv4."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from support.command_line import outcome_of, start

from keisoku.ground.lab.path.hop import Hop
from keisoku.ground.lab.path.lab import PathLab

pytestmark = pytest.mark.lab

M = 1_000_000
HOPS = [Hop(20 * M, 10 * M), Hop(5 * M)]


def _ip(namespace: str, *words: str) -> None:
    subprocess.run(["ip", "netns", "exec", namespace, *words], check=True)


def _number(lab: PathLab) -> list[str]:
    """Gives the nodes IPv6 addresses and routes; what answers hop by hop."""
    for node in lab.nodes:
        for setting in ("conf.all.disable_ipv6=0", "conf.all.forwarding=1", "icmp.ratelimit=0"):
            _ip(node.namespace, "sysctl", "-qw", f"net.ipv6.{setting}")
        for foot in node.feet:
            _ip(node.namespace, "sysctl", "-qw", f"net.ipv6.conf.{foot.interface}.disable_ipv6=0")
    last = len(lab.hops)
    for hop in range(1, last + 1):
        for beside, place, end in ((hop - 1, -1, 1), (hop, 0, 2)):
            words = ["address", "add", f"fd00:{hop}::{end}/64", "dev", lab.nodes[beside].feet[place].interface, "nodad"]
            _ip(lab.nodes[beside].namespace, "ip", "-6", *words)
    for number, node in enumerate(lab.nodes):
        for hop in range(1, last + 1):
            gateway = f"fd00:{number + 1}::2" if hop > number + 1 else f"fd00:{number}::1" if hop < number else ""
            if gateway:
                _ip(node.namespace, "ip", "-6", "route", "add", f"fd00:{hop}::/64", "via", gateway)
    return [f"fd00:{hop}::2" for hop in range(1, last + 1)]


def test_one_packet_knew_no_ipv6(tmp_path: Path) -> None:
    with PathLab(HOPS, icmp="unlimited") as lab:
        addresses = _number(lab)
        host = f"{addresses[-1]}@{lab.tester_namespace}"
        words = ["--json", "--repetitions", "4", "--trains", "1", "--timeout", "300ms", "--budget", "20s"]
        done = outcome_of(start("path", "one-packet", host, *words, "--out", str(tmp_path / "run"), cwd=tmp_path))
    assert done.code == 0, done.stderr
    (result,) = json.loads(done.stdout)["results"]
    hops = [row for row in result["rows"] if row["group"] == "Hop"]
    assert [row["case"] for row in hops] == [f"{number} {address}" for number, address in enumerate(addresses, 1)]
    for row, hop in zip(hops, HOPS, strict=True):
        figure, truth = row["figures"]["forward"], hop.rates_bps[0]
        assert abs(figure["value"] - truth) <= 0.1 * truth + 1.5 * (figure["uncertainty"] or 0.0), row
    routers = [row for row in result["rows"] if row["group"] == "Router"]
    assert all("RFC 4443" in row["remark"] and "1232" in row["remark"] for row in routers)

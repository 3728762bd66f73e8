"""Where frames were lost at a WireGuard tunnel, which `--why-lost` was not built on: each has the right place where it
is in the clear, and is "not seen dropped" where it is encrypted, as counters of somebody else say."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyroute2 import WireGuard
from support.lab_passages import needs, require
from support.lost_causes import NO_RULE, Bed, Cause, check_place, one_trial, outcome_of, rule, told

from keisoku.ground.host.namespace import run_in_namespace
from keisoku.ground.lab.device.iproute import IP
from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.lab.device.nftables import NFT

pytestmark = [pytest.mark.lab, needs(NFT, IP)]

EVERYTHING = ["0.0.0.0/0", "::/0"]


class Far(Bed):
    """The router behind the tunnel, as seen from within."""

    @property
    def namespace(self) -> Path:
        path = self.lab.ports[1].dut_namespace_path
        assert path is not None
        return path


@pytest.fixture(scope="module")
def ends() -> Iterator[tuple[Bed, Far]]:
    require("wireguard")
    with Lab("wireguard") as lab:
        yield Bed(lab, None), Far(lab, None)


def _lets_in(end: Bed, networks: list[str]) -> None:
    """Of which addresses this end takes packets from the other, and to which it sends it some."""

    def change() -> None:
        with WireGuard() as tunnel:
            (shown,) = tunnel.info("tunnel")
            (peer,) = shown.get("WGDEVICE_A_PEERS")
            key = peer.get("WGPEER_A_PUBLIC_KEY")
            tunnel.set("tunnel", peer={"public_key": key, "allowed_ips": networks, "replace_allowed_ips": True})

    run_in_namespace(end.namespace, change)


def _errors(way: str, bed: Bed) -> int:
    return int(bed.run(f"cat /sys/class/net/tunnel/statistics/{way}_errors"))


DROPPED = rule("udp dport 7 counter drop;")
IN_THE_CLEAR = [
    Cause("before", DROPPED, NO_RULE, count=Bed.nft, expect={"rule": r"ip/t/c/\d+", "interface": "@one@"}),
    Cause("behind", DROPPED, NO_RULE, count=Bed.nft, expect={"rule": r"ip/t/c/\d+", "interface": "tunnel"}),
]


@pytest.mark.parametrize("cause", IN_THE_CLEAR, ids=lambda cause: cause.name)
def test_a_rule_beside_the_tunnel(cause: Cause, ends: tuple[Bed, Far]) -> None:
    bed = ends[cause.name == "behind"]
    check_place(cause, bed, *outcome_of(cause, bed))


def test_an_address_that_the_tunnel_does_not_take(ends: tuple[Bed, Far]) -> None:
    near, _ = ends
    _lets_in(near, ["203.0.113.0/24"])
    try:
        facts, counted = one_trial(near, partial(_errors, "tx"))
    finally:
        _lets_in(near, EVERYTHING)
    drops, (place,) = told(facts)
    assert place.frames == counted == facts.sent.offered_frames and drops.not_seen == 0
    assert (place.function, place.interface, place.namespace) == ("wg_xmit", "tunnel", near.namespace.name)


@pytest.mark.parametrize("lost_by", ["a rule between the ends", "the far end of the tunnel"])
def test_what_is_lost_encrypted_is_not_seen(lost_by: str, ends: tuple[Bed, Far]) -> None:
    """Nothing is invented; what the far end refuses when it has decrypted it, it does not free as lost."""
    _, far = ends
    count: Any = partial(_errors, "rx")
    if lost_by == "a rule between the ends":
        far.run(
            rule("meta length 190-65535 udp dport 51820 counter drop;", "netdev", "ingress device line1 priority 0;")
        )
        count = Bed.nft
    else:
        _lets_in(far, ["203.0.113.0/24"])
    try:
        facts, counted = one_trial(far, count)
    finally:
        far.run(NO_RULE)
        _lets_in(far, EVERYTHING)
    drops, places = told(facts)
    assert places == [] and drops.not_seen == facts.sent.offered_frames == counted

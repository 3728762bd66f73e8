"""The routers of `diamond` in the words of FRR. FRR speaks the protocols; nothing here does.

Acts on namespaces of a lab, never on the host's own.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from keisoku.errors import EngineError
from keisoku.ground.host.namespace import Namespace
from keisoku.ground.lab.frr import BFDD, BGPD, ISISD, OSPFD, ZEBRA, FrrRouter

Routing = Literal["ospf", "isis", "bgp"]
_SPEAKERS = {"ospf": OSPFD, "isis": ISISD, "bgp": BGPD}
_PATIENCE_S = 40.0
_LOOK_S = 0.05


@dataclass(frozen=True)
class RouterInterface:
    """A router's interface to another router."""

    name: str
    own: str
    far: str
    """Addresses at both ends, without prefix length."""
    far_number: int
    cost: int


@dataclass(frozen=True)
class Speaker:
    """One router: its number from 1, its lines to others, and the port behind which there are no routers."""

    number: int
    place: Namespace
    lines: tuple[RouterInterface, ...]
    port: str | None = None


def start(router: FrrRouter, speaker: Speaker, routing: Routing, bfd_ms: int | None, core: int | None) -> None:
    """In the speaker's namespace: its daemons."""
    detects = "".join(f"interface {line.name}\n link-detect\n" for line in speaker.lines)
    texts = {ZEBRA: detects, _SPEAKERS[routing]: _CONFIGURATIONS[routing](speaker, bfd_ms is not None)}
    if bfd_ms is not None:
        texts[BFDD] = _bfd(bfd_ms)
    router.start(texts, core)


def kill(router: FrrRouter, routing: Routing, bfd_ms: int | None) -> None:
    """All its daemons, without a word to their neighbours."""
    router.kill(ZEBRA, _SPEAKERS[routing], *((BFDD,) if bfd_ms is not None else ()))


def await_bfd(router: FrrRouter, speaker: Speaker) -> None:
    """Until all its neighbours are watched by BFD. Raises EngineError after 40 s."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        peers: list[Mapping[str, str]] = json.loads(router.ask("show bfd peers json"))
        if len(peers) >= len(speaker.lines) and all(peer.get("status") == "up" for peer in peers):
            return
        if time.monotonic() > deadline:
            raise EngineError(f"BFD of router {speaker.number} did not come up in {_PATIENCE_S:g} s: {peers}")
        time.sleep(_LOOK_S)


def _bfd(interval_ms: int) -> str:
    return (
        f"bfd\n profile fast\n  transmit-interval {interval_ms}\n  receive-interval {interval_ms}\n"
        "  detect-multiplier 3\n"
    )


def _ospf(speaker: Speaker, bfd: bool) -> str:
    text = "".join(
        f"interface {line.name}\n ip ospf area 0\n ip ospf network point-to-point\n ip ospf hello-interval 1\n"
        f" ip ospf dead-interval 4\n ip ospf cost {line.cost}\n"
        + (" ip ospf bfd\n ip ospf bfd profile fast\n" if bfd else "")
        for line in speaker.lines
    )
    if speaker.port is not None:
        text += f"interface {speaker.port}\n ip ospf area 0\n ip ospf passive\n"
    return (
        f"{text}router ospf\n ospf router-id 10.0.0.{speaker.number}\n timers throttle spf 10 50 500\n"
        # Without these a router tells of a change only 5 s after it last did, and does not hear two in a second.
        " timers throttle lsa all 0\n timers lsa min-arrival 0\n"
        " redistribute kernel\n"
    )


def _isis(speaker: Speaker, bfd: bool) -> str:
    text = "".join(
        f"interface {line.name}\n ip router isis lab\n isis network point-to-point\n isis circuit-type level-2-only\n"
        f" isis hello-interval 1\n isis hello-multiplier 4\n isis metric {line.cost}\n"
        + (" isis bfd\n isis bfd profile fast\n" if bfd else "")
        for line in speaker.lines
    )
    if speaker.port is not None:
        text += f"interface {speaker.port}\n ip router isis lab\n isis passive\n"
    return (
        f"{text}router isis lab\n net 49.0001.0000.0000.000{speaker.number}.00\n is-type level-2-only\n"
        " lsp-gen-interval 1\n"
        " spf-delay-ietf init-delay 0 short-delay 50 long-delay 500 holddown 1000 time-to-learn 500\n"
        " redistribute ipv4 kernel level-2\n"
    )


def _bgp(speaker: Speaker, bfd: bool) -> str:
    cheapest = min(line.cost for line in speaker.lines)
    neighbours = "".join(
        f" neighbor {line.far} remote-as {65000 + line.far_number}\n neighbor {line.far} timers 1 3\n"
        f" neighbor {line.far} timers connect 1\n neighbor {line.far} advertisement-interval 0\n"
        + (f" neighbor {line.far} bfd\n neighbor {line.far} bfd profile fast\n" if bfd else "")
        for line in speaker.lines
    )
    weights = "".join(
        f"  neighbor {line.far} weight {200 if line.cost == cheapest else 100}\n" for line in speaker.lines
    )
    return (
        "ip prefix-list none seq 5 deny any\n"
        f"router bgp {65000 + speaker.number}\n bgp router-id 10.0.0.{speaker.number}\n"
        f" no bgp ebgp-requires-policy\n{neighbours} address-family ipv4 unicast\n  redistribute connected\n"
        f"  redistribute kernel\n{weights} exit-address-family\n"
    )


_CONFIGURATIONS = {"ospf": _ospf, "isis": _isis, "bgp": _bgp}

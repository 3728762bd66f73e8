"""`Wireguard`: two routers with a WireGuard tunnel between them. Acts on the namespaces of the device."""

from __future__ import annotations

import time
from base64 import b64encode
from functools import partial
from secrets import token_bytes
from typing import Any, ClassVar

from pyroute2 import WireGuard

from keisoku.errors import EngineError
from keisoku.ground.lab.device.kernel_part import WIREGUARD, KernelPart
from keisoku.ground.lab.device.two_routers import End, TwoRouters

_PORT = 51_820
_ALIVE_S = 25
_PATIENCE_S = 20.0
_LOOK_S = 0.01


class Wireguard(TwoRouters):
    """Two routers joined by a WireGuard tunnel over IPv4."""

    family: ClassVar[str] = "wireguard"
    title: ClassVar[str] = "WireGuard between two routers"
    parts: ClassVar[tuple[KernelPart, ...]] = (WIREGUARD,)

    def commands(self, end: End, mtu: int) -> list[str]:
        """The tunnel's device, without keys."""
        return [
            *end.addresses("line1"),
            f"link add name tunnel mtu {mtu} type wireguard",
            "link set dev tunnel up",
            *end.routes("dev tunnel"),
        ]

    def join(self, near: End, far: End) -> None:
        """New keys for each lab; returns after the handshake, so that no frame has to wait for it.

        Raises EngineError if there is none in time.
        """
        keys = {end.number: end.place.run(_new_key) for end in (near, far)}
        for end in (far, near):  # the near end begins, as soon as it knows the other
            end.place.run(partial(_meet, keys[3 - end.number], end.far_ipv4, alive=end is near))
        deadline = time.monotonic() + _PATIENCE_S
        while not (near.place.run(_agreed) and far.place.run(_agreed)):
            if time.monotonic() > deadline:
                raise EngineError(f"the ends of the WireGuard tunnel did not agree on keys in {_PATIENCE_S:g} s")
            time.sleep(_LOOK_S)


def _new_key() -> bytes:
    """Gives the tunnel a private key; returns the public one, which the kernel has computed."""
    with WireGuard() as tunnel:
        tunnel.set("tunnel", private_key=b64encode(token_bytes(32)), listen_port=_PORT)
    public: bytes = _shown()[0].get("WGDEVICE_A_PUBLIC_KEY")
    return public


def _meet(key: bytes, address: str, alive: bool) -> None:
    peer: dict[str, Any] = {
        "public_key": key,
        "endpoint_addr": address,
        "endpoint_port": _PORT,
        "allowed_ips": ["0.0.0.0/0", "::/0"],
    }
    with WireGuard() as tunnel:
        tunnel.set("tunnel", peer=peer | ({"persistent_keepalive": _ALIVE_S} if alive else {}))


def _agreed() -> bool:
    """Whether something came through the tunnel: the last message of a handshake is the first frame inside it."""
    peers = [peer for message in _shown() for peer in message.get("WGDEVICE_A_PEERS") or ()]
    return any(peer.get("WGPEER_A_LAST_HANDSHAKE_TIME")["tv_sec"] for peer in peers)


def _shown() -> list[Any]:
    with WireGuard() as tunnel:
        return list(tunnel.info("tunnel"))

"""`FlowKey`: by which exports and frames are known to be of one flow."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from keisoku.ground.frame.dissection import Layer, dissect

_HEADERS_BYTES = 64
"""Frames whose first bytes are the same are of one flow: Ethernet, IPv6 and UDP are in them."""
_PROTOCOLS = {"IP": "proto", "IPv6": "nh"}


class FlowKey(NamedTuple):
    """What NetFlow calls a flow; ports are 0 where the protocol has none."""

    source: bytes
    """IPv4 or IPv6 address."""
    destination: bytes
    protocol: int
    source_port: int
    destination_port: int


class FlowHeader(NamedTuple):
    """What of a frame its first bytes show."""

    key: FlowKey
    ip_at: int
    """Where its IP header begins, in bytes."""


@lru_cache(maxsize=16384)
def _flow_header(header: bytes) -> FlowHeader | None:
    layers = dissect(header)
    place = next((place for place, layer in enumerate(layers) if layer.name in _PROTOCOLS), None)
    if place is None:
        return None
    ip = layers[place]
    transport = next((layer for layer in layers[place + 1 :] if layer.name in ("UDP", "TCP")), None)
    ports = [0, 0] if transport is None else [_value(transport, name, header) for name in ("sport", "dport")]
    width = 4 if ip.name == "IP" else 16
    addresses = [_value(ip, name, header).to_bytes(width, "big") for name in ("src", "dst")]
    return FlowHeader(FlowKey(addresses[0], addresses[1], _value(ip, _PROTOCOLS[ip.name], header), *ports), ip.start)


def _value(layer: Layer, name: str, header: bytes) -> int:
    field = layer.field(name)
    assert field is not None
    return field.read(header)


def flow_header(frame: bytes) -> FlowHeader | None:
    """The flow of a frame, or of its beginning, by its outermost IP header; None if it has none."""
    found = _flow_header(frame[:_HEADERS_BYTES])
    # Longer headers, as behind tags and labels, are rare.
    return found or (_flow_header(frame) if len(frame) > _HEADERS_BYTES else None)

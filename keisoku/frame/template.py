"""One frame of one of the short stacks; `variants.frames` makes any. Goes when the engines take frames from there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from keisoku.frame.headers import (
    DESTINATION_IPV4,
    DESTINATION_IPV6,
    SOURCE_IPV4,
    SOURCE_IPV6,
    Ends,
)
from keisoku.frame.headers import (
    least_frame_bytes as least_of_stack,
)
from keisoku.frame.payload import FCS_BYTES, SIGNATURE_BYTES
from keisoku.frame.stack import parse
from keisoku.frame.variants import frames

__all__ = [
    "DESTINATION_IPV4",
    "DESTINATION_IPV6",
    "FCS_BYTES",
    "KINDS",
    "SIGNATURE_BYTES",
    "SOURCE_IPV4",
    "SOURCE_IPV6",
    "Kind",
    "Template",
    "build",
    "least_frame_bytes",
]

Kind = Literal["ethernet", "ipv4", "ipv6"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Template:
    """A frame without FCS, its last 18 bytes zero until it is signed."""

    bytes_: bytes
    checked_from: int
    """Where the payload starts: from here to the end a sent frame sums to zero."""
    kind: Kind


def least_frame_bytes(kind: Kind) -> int:
    """The smallest frame of a kind that holds a signature, FCS included."""
    return least_of_stack(parse(kind))


def build(
    kind: Kind,
    frame_bytes: int,
    source_mac: str,
    destination_mac: str,
    source_ip: str | None = None,
    destination_ip: str | None = None,
) -> Template:
    """A frame of `frame_bytes`, FCS included. Raises PlanError for a wrong size or address."""
    ends = Ends(source_mac, destination_mac, source_ip, destination_ip)
    made = frames(kind, (frame_bytes,), ends)
    return Template(made.bytes_, made.checked_from, kind)

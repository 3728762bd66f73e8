"""Interface of a network for probing: packets out, ICMP messages back, and a clock to wait by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class HopPacket(NamedTuple):
    """A UDP datagram to the host, of one flow with all others, that must not be fragmented."""

    ttl: int
    size_bytes: int
    """Length of its IP packet. Packets sent at once have different sizes, by which their replies are identified."""


class HopReply(NamedTuple):
    """The fate of a packet. Without a reply only `sent_ns`, `stamps` and `handed_ns` are valid."""

    sent_ns: int
    rtt_ns: int | None = None
    reply_bytes: int | None = None
    replier: str | None = None
    reply_ttl: int | None = None
    icmp_type: int | None = None
    """Type and code of ICMPv4; an error of ICMPv6 has those that mean the same."""
    icmp_code: int | None = None
    rtt_tsc_ns: int | None = None
    rtt_gettimeofday_ns: int | None = None
    next_mtu: int = 0
    """Of 'fragmentation needed' (RFC 1191): what fits; 0: the router does not say."""
    stamps: str = "kernel"
    handed_ns: int | None = None
    """When the program handed the packet to the kernel, on the clock of `sent_ns`; None: it is not known."""


class HopWire(Protocol):
    """Sockets on a real network, or a path in virtual time (tests)."""

    destination: str
    """Address of the host, of IPv4 or IPv6."""
    mtu_bytes: int
    """Of the interface that leads to it."""

    def now_ns(self) -> int:
        """A clock that is never set."""

    def rest(self, until_ns: int) -> None:
        """Returns when `now_ns` is at least `until_ns`."""

    def exchange(self, packets: Sequence[HopPacket], timeout_ns: int) -> list[HopReply]:
        """Sends the packets back-to-back and waits until all are answered or the time is over; in the order given.

        Raises EngineError when the host cannot be sent to at all.
        """

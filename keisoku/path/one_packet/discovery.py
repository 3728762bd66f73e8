"""Finds the hops that answer on the path to a host, and the path MTU, before hops are measured."""

from __future__ import annotations

from dataclasses import dataclass, field

from keisoku.errors import EngineError
from keisoku.path.one_packet.wire import HopPacket, HopReply, HopWire

UNREACHABLE, EXCEEDED, ECHO_REPLY = 3, 11, 0
PORT_UNREACHABLE, FRAGMENTATION_NEEDED = 3, 4
NS_PER_S = 1_000_000_000
SMALL_BYTES = 64
TRIES = 2
SILENT_HOPS = 4
"""Number of silent hops in a row that end the search, as hops behind a filter are unlikely to answer."""
PLATEAUS = (9000, 4352, 1500, 1492, 1400, 1280, 576)
"""Lengths to try where a router drops packets that are too long without an ICMP error (after RFC 1191 §7)."""
REASONS = {
    0: "the network is unreachable",
    1: "the host is unreachable",
    2: "the host does not speak UDP",
    9: "the network is administratively prohibited",
    10: "the host is administratively prohibited",
    13: "a filter forbids it",
}


@dataclass
class KnownPath:
    """What the search found."""

    repliers: dict[int, str] = field(default_factory=dict)
    """Address that answered, by TTL; silent hops are not in it."""
    reached: bool = False
    """The last replier is the host."""
    refusal: str = ""
    """A clause that says which host or router refused the probes and why; empty if none did."""
    mtu_bytes: int = 0
    silent: list[tuple[int, int, int]] = field(default_factory=list)
    """(TTL, size, sent) of probes to hops that never answered."""


def discover(wire: HopWire, hops_max: int, timeout_ns: int = NS_PER_S) -> KnownPath:
    """Probes hop by hop until the host answers or no hop does any more, then finds the path MTU.

    A host that a filter or a router makes unreachable ends the search too: `refusal` says so. Raises EngineError, a
    sentence, when there is no hop to measure.
    """
    path = KnownPath()
    silent = 0
    for ttl in range(1, hops_max + 1):
        reply = _ask(wire, ttl, SMALL_BYTES, timeout_ns)
        if reply.rtt_ns is None or reply.replier is None:
            silent += 1
            path.silent.append((ttl, SMALL_BYTES, reply.sent_ns))
            if silent >= SILENT_HOPS:
                break
            continue
        silent = 0
        if reply.icmp_type == UNREACHABLE and reply.icmp_code != PORT_UNREACHABLE:
            reason = REASONS.get(reply.icmp_code or 0, "it is unreachable")
            who = "the host itself" if reply.replier == wire.destination else f"the router {reply.replier}"
            path.refusal = f"{who} says that {reason} (ICMP 3/{reply.icmp_code})"
            break
        path.repliers[ttl] = reply.replier
        if reply.replier == wire.destination:
            path.reached = True
            break
    if not path.repliers and path.refusal:
        raise EngineError(f"{wire.destination}: {path.refusal}")
    if not path.repliers:
        raise EngineError(
            f"{wire.destination}: no hop on the path answered any of {TRIES * min(hops_max, SILENT_HOPS)} probes;"
            " check the address and that UDP out and ICMP back are not filtered"
        )
    path.mtu_bytes = _path_mtu(wire, max(path.repliers), timeout_ns)
    return path


def _ask(wire: HopWire, ttl: int, size_bytes: int, timeout_ns: int) -> HopReply:
    """The first reply to one of a few packets; the last silence if there is none."""
    reply = HopReply(sent_ns=0)
    for number in range(TRIES):
        # A little longer each time, so that a late reply is not taken for the reply to the next packet.
        reply = wire.exchange([HopPacket(ttl, size_bytes - number)], timeout_ns)[0]
        if reply.rtt_ns is not None:
            break
    return reply


def _path_mtu(wire: HopWire, ttl: int, timeout_ns: int) -> int:
    mtu = wire.mtu_bytes
    while mtu > SMALL_BYTES:
        reply = _ask(wire, ttl, mtu, timeout_ns)
        if reply.rtt_ns is None:
            mtu = next((plateau for plateau in PLATEAUS if plateau < mtu), SMALL_BYTES)
        elif reply.icmp_type == UNREACHABLE and reply.icmp_code == FRAGMENTATION_NEEDED:
            told = reply.next_mtu
            mtu = told if 68 <= told < mtu else next((plateau for plateau in PLATEAUS if plateau < mtu), SMALL_BYTES)
        else:
            return mtu
    raise EngineError(
        f"{wire.destination}: no packet longer than {SMALL_BYTES} byte is answered, so no slope can be measured"
    )

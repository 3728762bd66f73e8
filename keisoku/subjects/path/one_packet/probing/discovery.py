"""Finds the hops that answer on the path to a host, and the path MTU, before hops are measured."""

from __future__ import annotations

from dataclasses import dataclass, field

from keisoku.errors import EngineError
from keisoku.language import phrase
from keisoku.subjects.path.one_packet.probing.wire import HopPacket, HopReply, HopWire

UNREACHABLE, EXCEEDED, ECHO_REPLY = 3, 11, 0
PORT_UNREACHABLE, FRAGMENTATION_NEEDED = 3, 4
NS_PER_S = 1_000_000_000
SMALL_BYTES = 64
TRIES = 2
MORE_TRIES = 6
"""Of a hop that seemed silent while one behind it answered, and of the path MTU: so many are not lost by chance."""
AGAIN_NS, ROUND_TRIPS = 100_000_000, 5
"""How long such a probe is waited for: at least, and in round trips to the farthest hop that answered."""
LONGEST_SILENCE_NS = 5 * NS_PER_S
"""How long it is waited for a hop that has answered before, when the path MTU is looked for."""
SILENT_HOPS = 4
"""Number of silent hops in a row that end the search, as hops behind a filter are unlikely to answer."""
PLATEAUS = (9000, 4352, 1500, 1492, 1400, 1280, 576)
"""Lengths to try where a router drops packets that are too long without an ICMP error (after RFC 1191 §7)."""
REASONS = {
    0: phrase("the network is unreachable"),
    1: phrase("the host is unreachable"),
    2: phrase("the host does not speak UDP"),
    9: phrase("the network is administratively prohibited"),
    10: phrase("the host is administratively prohibited"),
    13: phrase("a filter forbids it"),
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
    loop: tuple[int, int] | None = None
    """First and last hop of the routers that hand probes round in a circle; None if none do."""
    mtu_bytes: int = 0
    silent: list[tuple[int, int, int]] = field(default_factory=list)
    """(TTL, size, sent) of probes to hops that never answered."""


def discover(wire: HopWire, hops_max: int, timeout_ns: int = NS_PER_S) -> KnownPath:
    """Probes hop by hop until the host answers or no hop does any more, then finds the path MTU.

    A host that a filter or a router makes unreachable ends the search too: `refusal` says so; so does a routing loop.
    Hops that seemed silent are asked again, as a lossy path loses some probes twice. Raises EngineError, a sentence,
    when there is no hop to measure.
    """
    path = KnownPath()
    silent: list[tuple[int, int]] = []
    longest_ns = 0
    for ttl in range(1, hops_max + 1):
        reply = _ask(wire, ttl, SMALL_BYTES, timeout_ns)
        if reply.rtt_ns is None:
            silent.append((ttl, reply.sent_ns))
            if len(silent) >= SILENT_HOPS and all(ttl - back in dict(silent) for back in range(SILENT_HOPS)):
                break
            continue
        longest_ns = max(longest_ns, reply.rtt_ns)
        if _ends(path, ttl, reply, wire.destination):
            break
    patience_ns = min(timeout_ns, max(AGAIN_NS, ROUND_TRIPS * longest_ns))
    for ttl, sent_ns in silent:
        reply = HopReply(sent_ns) if ttl > _last(path) else _ask(wire, ttl, SMALL_BYTES, patience_ns, MORE_TRIES)
        if reply.rtt_ns is None:
            path.silent.append((ttl, SMALL_BYTES, sent_ns))
        elif _ends(path, ttl, reply, wire.destination):
            break
    last = _last(path)
    path.repliers = {ttl: path.repliers[ttl] for ttl in sorted(path.repliers) if ttl <= last}
    if not path.repliers and path.refusal:
        raise EngineError(f"{wire.destination}: {path.refusal}")
    if not path.repliers:
        raise EngineError(
            f"{wire.destination}: no hop on the path answered any of {TRIES * min(hops_max, SILENT_HOPS)} probes;"
            " check the address and that UDP out and ICMP back are not filtered"
        )
    path.mtu_bytes = _path_mtu(wire, last, patience_ns)
    return path


def _ends(path: KnownPath, ttl: int, reply: HopReply, host: str) -> bool:
    """Enters what answered at this TTL; whether no hop lies behind it."""
    assert reply.replier is not None
    if reply.icmp_type == UNREACHABLE and reply.icmp_code != PORT_UNREACHABLE:
        reason = REASONS.get(reply.icmp_code or 0, phrase("it is unreachable"))
        who = (
            phrase("the host itself")
            if reply.replier == host
            else phrase("the router {replier}", replier=reply.replier)
        )
        path.refusal = phrase(
            "{who} says that {reason} (ICMP 3/{icmp_code})", who=who, reason=reason, icmp_code=reply.icmp_code
        )
        return True
    path.repliers[ttl] = reply.replier
    path.reached = path.reached or reply.replier == host
    if (loop := _loop(path.repliers, ttl)) is not None:
        path.loop = loop
        members = ", ".join(path.repliers[hop] for hop in range(loop[0], loop[1] + 1) if hop in path.repliers)
        path.refusal = phrase(
            "a routing loop: from hop {loop} on, {members} hand the packets round in a circle",
            loop=loop[0],
            members=members,
        )
    return reply.replier == host or path.loop is not None


def _last(path: KnownPath) -> int:
    """The first hop at which the host answered, or at which a loop is complete; else the farthest that did."""
    if path.loop is not None:
        return path.loop[1]
    if path.reached:
        host = path.repliers[max(path.repliers)]
        return min(ttl for ttl, replier in path.repliers.items() if replier == host)
    return max(path.repliers, default=0)


def _loop(repliers: dict[int, str], last: int) -> tuple[int, int] | None:
    """First and last hop of the first round of a circle that was seen twice up to hop `last`.

    A single router that answers twice in a row is none: one that forwards a TTL of zero does so (Augustin et al. 2006,
    §4.1).
    """
    for length in range(2, last // 2 + 1):
        rounds = [[repliers.get(last - back - length * past) for back in range(length)] for past in (0, 1)]
        if rounds[0] == rounds[1] and len({one for one in rounds[0] if one is not None}) > 1:
            first = last - 2 * length + 1
            return first, first + length - 1
    return None


def _ask(wire: HopWire, ttl: int, size_bytes: int, timeout_ns: int, tries: int = TRIES) -> HopReply:
    """The first reply to one of a few packets; the last silence if there is none."""
    reply = HopReply(sent_ns=0)
    for number in range(tries):
        # A little shorter each time, so that a late reply is not taken for the reply to the next packet.
        reply = wire.exchange([HopPacket(ttl, size_bytes - number)], timeout_ns)[0]
        if reply.rtt_ns is not None and reply.replier is not None:
            return reply
    return reply._replace(rtt_ns=None)


def _path_mtu(wire: HopWire, ttl: int, timeout_ns: int) -> int:
    mtu = wire.mtu_bytes
    while mtu > SMALL_BYTES:
        reply = _ask(wire, ttl, mtu, timeout_ns, MORE_TRIES)
        if reply.rtt_ns is None and (silent_ns := _silence_ns(wire, ttl, timeout_ns)):
            wire.rest(wire.now_ns() + 2 * silent_ns)  # a limit on replies asks for at least this
            reply = _ask(wire, ttl, mtu, timeout_ns, MORE_TRIES)
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


def _silence_ns(wire: HopWire, ttl: int, timeout_ns: int) -> int:
    """How long a hop goes on answering no small packet either, by an outage or a limit; 0 if it answers at once."""
    began = now = wire.now_ns()
    wait_ns = timeout_ns
    while _ask(wire, ttl, SMALL_BYTES, timeout_ns).rtt_ns is None and now - began < LONGEST_SILENCE_NS:
        wire.rest(wire.now_ns() + wait_ns)
        wait_ns *= 2
        now = wire.now_ns()
    return now - began

"""Where lost frames were lost, in words: the places of all trials that watched it, and how many were not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keisoku.ground.report import digits
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.device.record.drops import DropPlace
from keisoku.subjects.device.record.trial import NS_PER_S
from keisoku.subjects.device.record.trial_record import TrialRecord

PLACES_SAID = 3
"""In the sentence of a result; its table has all."""
_QUEUES = ("QDISC_", "FQ_", "CAKE_", "DUALPI2_")
MEANINGS = {
    "BRIDGE_INGRESS_STP_STATE": phrase("the bridge's port does not forward (spanning tree)"),
    "CPU_BACKLOG": phrase("the CPU's queue of received packets was full"),
    "DEV_READY": phrase("the interface is down"),
    "FULL_RING": phrase("the ring of the interface was full: its reader is too slow"),
    "IP_CSUM": phrase("wrong checksum of the IPv4 header"),
    "IP_INADDRERRORS": phrase("IPv6 forwarding is off or the address is not allowed"),
    "IP_INHDR": phrase("wrong IP header, or its TTL has expired"),
    "IP_INNOROUTES": phrase("no route for a received packet"),
    "IP_INVALID_DEST": phrase("the destination address is not allowed"),
    "IP_INVALID_SOURCE": phrase("the source address is not allowed"),
    "IP_LOCALNET": phrase("an address of the host itself came from outside"),
    "IP_LOCAL_SOURCE": phrase("the source address is the device's own"),
    "IP_OUTNOROUTES": phrase("no route"),
    "IP_RPFILTER": phrase("the source address belongs to another interface (rp_filter)"),
    "LOCAL_MAC": phrase("the source MAC address is the device's own"),
    "MAC_INVALID_SOURCE": phrase("the source MAC address is not allowed"),
    "NEIGH_DEAD": phrase("the neighbour was removed"),
    "NEIGH_FAILED": phrase("the neighbour did not answer (ARP, neighbour discovery)"),
    "NEIGH_QUEUEFULL": phrase("too many packets waited for the neighbour's answer"),
    "NETFILTER_DROP": phrase("a packet filter dropped it"),
    "NOMEM": phrase("no memory"),
    "NO_SOCKET": phrase("no program listens at this port"),
    "NO_TX_TARGET": phrase("the device has no other port for it"),
    "OTHERHOST": phrase("the destination MAC address is another host's"),
    "OVS_DROP_ACTION_ERROR": phrase("Open vSwitch could not carry out an action of its flow"),
    "OVS_DROP_CONNTRACK": phrase("the connection tracking of Open vSwitch failed"),
    "OVS_DROP_DEFERRED_LIMIT": phrase("Open vSwitch had no room for its further actions"),
    "OVS_DROP_EXPLICIT": phrase("a flow of Open vSwitch drops it"),
    "OVS_DROP_EXPLICIT_WITH_ERROR": phrase("Open vSwitch drops it after an error in its tables"),
    "OVS_DROP_FRAG_INVALID_PROTO": phrase("Open vSwitch cannot fragment its protocol"),
    "OVS_DROP_FRAG_L2_TOO_LONG": phrase("its headers are too long for Open vSwitch to fragment it"),
    "OVS_DROP_IP_TTL": phrase("its TTL has expired in Open vSwitch"),
    "OVS_DROP_LAST_ACTION": phrase("no action of its flow in Open vSwitch sends it"),
    "OVS_DROP_METER": phrase("a meter of Open vSwitch dropped it"),
    "OVS_DROP_RECURSION_LIMIT": phrase("it went through Open vSwitch too often"),
    "PACKET_SOCK_ERROR": phrase("the packet socket had no room or an error"),
    "PKT_TOO_BIG": phrase("larger than the MTU of the next link"),
    "PKT_TOO_SMALL": phrase("too short"),
    "PROTO_MEM": phrase("the memory of the protocol was used up"),
    "QDISC_CONGESTED": phrase("dropped early by a queue that watches its delay"),
    "QDISC_DROP": phrase("the queue had no room or refused it"),
    "QDISC_OVERLIMIT": phrase("the queue was full"),
    "RECURSION_LIMIT": phrase("it went through too many interfaces"),
    "SKB_CSUM": phrase("wrong checksum"),
    "SOCKET_FILTER": phrase("the socket's filter dropped it"),
    "SOCKET_RCVBUFF": phrase("the socket's buffer was full"),
    "TC_EGRESS": phrase("a program or action of tc dropped it before it was sent"),
    "TC_INGRESS": phrase("a program or action of tc dropped it when it was received"),
    "UDP_CSUM": phrase("wrong checksum of UDP"),
    "UNHANDLED_PROTO": phrase("nobody handles its protocol"),
    "VXLAN_VNI_NOT_FOUND": phrase("no tunnel has its VNI"),
    "XDP": phrase("an XDP program dropped it"),
    "XDP_ABORTED": phrase("an XDP program failed"),
    "XDP_DROP": phrase("an XDP program dropped it"),
    "XFRM_POLICY": phrase("an IPsec policy dropped it"),
}
"""The kernel's reasons (include/net/dropreason-core.h, net/openvswitch/drop.h) and answers of XDP programs; others keep
their names."""


@dataclass(frozen=True)
class LostPlace:
    """One place in all trials; times are ns since the first frame of their trial was due."""

    place: DropPlace
    """Without its counts."""
    frames: int
    share: float
    """Of all lost frames of these trials."""
    first: tuple[int, int] | None
    """Trial and time of the first one; None if no entry of it was kept."""
    last: tuple[int, int] | None
    streams: tuple[int, ...]


@dataclass(frozen=True)
class LostFrames:
    """What became of all lost frames: lost = the sum over the places + not seen."""

    places: list[LostPlace]
    """The one with the most frames first."""
    lost_frames: int
    not_seen: int
    unlisted: int
    unread: int
    absent: list[tuple[str, str]]
    in_card: int
    """Frames that the cards of the tester's ports missed, by their drivers' counters."""
    on_wire: int
    """Frames that arrived there with a wrong FCS."""
    without_carrier: list[str]
    """Those of these ports that lost their carrier."""


def lost_frames(records: Sequence[TrialRecord]) -> LostFrames | None:
    """Of the trials that watched where frames are lost; None if none did."""
    watched = [(record, record.facts.drops) for record in records if record.facts.drops is not None]
    if not watched:
        return None
    lost = sum(drops.lost_frames for _, drops in watched)
    counters = [port for record, _ in watched for port in record.facts.counters.values()]
    found: dict[DropPlace, list[tuple[int, DropPlace]]] = {}
    bare = {"frames": 0, "copies": 0, "first_ns": None, "last_ns": None, "streams": ()}
    for record, drops in watched:
        for place in drops.places:
            if place.frames:
                found.setdefault(place.model_copy(update=bare), []).append((record.index, place))
    places = []
    for place, own in found.items():
        firsts = [(trial, one.first_ns) for trial, one in own if one.first_ns is not None]
        lasts = [(trial, one.last_ns) for trial, one in own if one.last_ns is not None]
        frames = sum(one.frames for _, one in own)
        streams = sorted({stream for _, one in own for stream in one.streams})
        places.append(
            LostPlace(
                place, frames, frames / max(1, lost), min(firsts, default=None), max(lasts, default=None), (*streams,)
            )
        )
    return LostFrames(
        places=sorted(places, key=lambda one: -one.frames),
        lost_frames=lost,
        not_seen=sum(drops.not_seen for _, drops in watched),
        unlisted=sum(drops.unlisted for _, drops in watched),
        unread=sum(drops.unread for _, drops in watched),
        absent=sorted({part for _, drops in watched for part in drops.absent}),
        in_card=sum(port.rx_missed_errors + port.rx_fifo_errors + port.rx_over_errors for port in counters),
        on_wire=sum(port.rx_crc_errors for port in counters),
        without_carrier=sorted({one.facts.name_of(link.port) for one, _ in watched for link in one.facts.lost_links}),
    )


def sentence_of(found: LostFrames, in_lab: bool) -> str:
    """Where the frames were lost, in one sentence; empty if none was."""
    if not found.lost_frames:
        return ""
    parts = [
        phrase("{count} {place}", count=digits.count(one.frames), place=by(one.place))
        for one in found.places[:PLACES_SAID]
    ]
    if more := sum(one.frames for one in found.places[PLACES_SAID:]):
        parts.append(phrase("{count} at other places", count=digits.count(more)))
    if found.not_seen:
        parts.append(_not_seen(found, in_lab))
    return phrase("Lost {count}: {parts}.", count=digits.count(found.lost_frames), parts=join_texts(", ", parts))


def limits(found: LostFrames) -> list[str]:
    """What was not looked at, a sentence each."""
    apart = {part: _ALONE[part] for part, _ in found.absent if part in _ALONE}
    told = [*apart.values(), *_absent([pair for pair in found.absent if pair[0] not in _ALONE])]
    if found.unread:
        told.append(
            plural(
                "The end of {count} dropped packet could not be read: it may have been a test frame.",
                "The ends of {count} dropped packets could not be read: they may have been test frames.",
                count=digits.count(found.unread),
            )
        )
    if found.unlisted:
        told.append(
            plural(
                "{count} frame of these places is only counted: a trial keeps the numbers of 4,194,304.",
                "{count} frames of these places are only counted: a trial keeps the numbers of 4,194,304.",
                count=digits.count(found.unlisted),
            )
        )
    return told


def by(place: DropPlace) -> str:
    """What dropped the frames, and where: it continues 'lost 12'."""
    where = _where(place)
    if place.rule:
        *chain, last = place.rule.split("/")
        if len(chain) < 3:
            return phrase("by the policy of nft chain {chain} {where}", chain=place.rule, where=where)
        return phrase("by nft rule {handle} of {chain} {where}", handle=last, chain="/".join(chain), where=where)
    if place.kind == "program":
        return phrase(
            "by the XDP program {name} {where} ({answer})", name=place.program, where=where, answer=place.reason
        )
    if place.kind == "redirect":
        return phrase("at a redirect of XDP {where} ({error})", where=where, error=place.reason)
    if place.kind == "devmap":
        return phrase("for which the driver had no room at a redirect of XDP {where}", where=where)
    if place.kind == "cpumap":
        return phrase("for which {cpu} had no room at a redirect of XDP", cpu=place.interface)
    if place.program:
        return phrase("by the tc program {name} {where}", name=place.program, where=where)
    if place.reason.startswith(_QUEUES):
        return phrase("by the queue {where} ({kind}, {reason})", where=where, kind=place.qdisc, reason=place.reason)
    if place.readers:
        return phrase(
            "{where}: {why}, unless {programs} lost it, which reads all packets there",
            where=where,
            why=why(place),
            programs=join_texts(", ", place.readers),
        )
    return phrase("{where}: {why}", where=where, why=why(place))


def why(place: DropPlace) -> str:
    """The reason in words with the kernel's name of it; the function where it has none."""
    if meaning := MEANINGS.get(place.reason):
        return phrase("{meaning} ({reason})", meaning=meaning, reason=place.reason)
    if place.reason in ("", "NOT_SPECIFIED"):
        return phrase("the kernel gives no reason ({function})", function=place.function)
    return phrase("{reason} ({function})", reason=place.reason, function=place.function)


def time_text(at: tuple[int, int] | None, trials: bool) -> str:
    """A moment in seconds of its trial, whose number is said where there are several."""
    if at is None:
        return ""
    trial, time_ns = at
    shown = f"{time_ns / NS_PER_S:.6f} s"
    return phrase("{time} of trial {trial}", time=shown, trial=trial) if trials else shown


def _where(place: DropPlace) -> str:
    if not place.interface:
        return phrase("in the kernel")
    if place.of_tester:
        return phrase("at the tester's port {interface}", interface=place.interface)
    if place.namespace:
        return phrase("at {interface} in {namespace}", interface=place.interface, namespace=place.namespace)
    return phrase("at {interface}", interface=place.interface)


def _not_seen(found: LostFrames, in_lab: bool) -> str:
    shown = digits.count(found.not_seen)
    if in_lab:
        return phrase(
            "not seen dropped by the kernel: {count} (still in a queue, or lost by a program of the device)",
            count=shown,
        )
    said = phrase("not seen dropped here: {count}, so behind the last interface of this host", count=shown)
    if ports := found.without_carrier:
        said = phrase("{said}; {ports} lost the carrier meanwhile", said=said, ports=join_texts(", ", ports))
    if not (found.in_card or found.on_wire):
        return said
    # A driver may count a frame twice, and frames that are none of the test.
    card, wire = min(found.in_card, found.not_seen), min(found.on_wire, found.not_seen)
    return phrase(
        "{said} (at most {card} in the tester's card and {wire} on the wire, by the counters of its ports)",
        said=said,
        card=digits.count(card),
        wire=digits.count(wire),
    )


_ALONE = {
    "reasons": phrase("This kernel gives no reasons (they came with Linux 5.17): only functions are known."),
    "pages": phrase("Before Linux 6.11 packets that lie in pages, as those of packet sockets, are not recognised."),
}
_PARTS = {
    "nftables": phrase("rules of nftables"),
    "redirect": phrase("failed redirects of XDP"),
    "devmap": phrase("what drivers refuse of XDP"),
    "cpumap": phrase("what CPUs refuse of XDP"),
    "programs": phrase("what XDP programs drop, and names of tc programs"),
}


def _absent(parts: Sequence[tuple[str, str]]) -> list[str]:
    """What is not seen, a sentence for each reason."""
    unseen: dict[str, list[str]] = {}
    for part, why in parts:
        if part == "program":
            unseen.setdefault(phrase("they have no BTF"), []).append(phrase("the BPF program {name}", name=why))
        else:
            unseen.setdefault(why, []).append(_PARTS[part])
    return [
        phrase("Not watched here: {parts} ({why}).", parts=join_texts(", ", what), why=why)
        for why, what in unseen.items()
    ]

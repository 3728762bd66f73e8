"""Tables of the Scapy layers and fields for each header and field of OTG."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class HeaderKind:
    """One kind of header."""

    layer: str
    fields: dict[str, str]
    """Patterns of OTG and the fields that they fill."""
    computed: frozenset[str] = frozenset()
    """Fields that are computed when they are absent; the others then have OTG's default."""
    checksum: tuple[str, str] | None = None
    """OTG's name and Scapy's."""
    bits: tuple[str, tuple[str, ...]] | None = None
    """A field of Scapy that contains several fields of OTG, each of one bit, from the most significant."""
    inside: str | None = None
    """OTG's fields are in an object of this name."""
    fixed: dict[str, int] = field(default_factory=dict)
    """Fields that keisoku does not vary: the only value they may have."""
    of_pauses: str | None = None
    """A field that says by which received pause frames a tester holds such frames back; it is in no frame."""


KINDS = {
    "ethernet": HeaderKind(
        "Ether",
        {"dst": "dst", "src": "src", "ether_type": "type"},
        frozenset({"dst", "ether_type"}),
        of_pauses="pfc_queue",
    ),
    "vlan": HeaderKind(
        "Dot1Q",
        {"priority": "prio", "cfi": "dei", "id": "vlan", "tpid": "type"},
        # What is called TPID is what follows the tag (Dot1Q.type); its default, 65535, stands for whatever follows.
        frozenset({"tpid"}),
    ),
    "mpls": HeaderKind(
        "MPLS",
        {"label": "label", "traffic_class": "cos", "bottom_of_stack": "s", "time_to_live": "ttl"},
        frozenset({"label", "bottom_of_stack"}),
    ),
    "ipv4": HeaderKind(
        "IP",
        {
            "version": "version",
            "header_length": "ihl",
            "total_length": "len",
            "identification": "id",
            "fragment_offset": "frag",
            "time_to_live": "ttl",
            "protocol": "proto",
            "src": "src",
            "dst": "dst",
        },
        frozenset({"version", "header_length", "total_length", "protocol"}),
        checksum=("header_checksum", "chksum"),
        bits=("flags", ("reserved", "dont_fragment", "more_fragments")),
    ),
    "ipv6": HeaderKind(
        "IPv6",
        {
            "version": "version",
            "traffic_class": "tc",
            "flow_label": "fl",
            "payload_length": "plen",
            "next_header": "nh",
            "hop_limit": "hlim",
            "src": "src",
            "dst": "dst",
        },
        frozenset({"version", "payload_length", "next_header"}),
    ),
    "udp": HeaderKind(
        "UDP",
        {"src_port": "sport", "dst_port": "dport", "length": "len"},
        frozenset({"length"}),
        checksum=("checksum", "chksum"),
    ),
    "tcp": HeaderKind(
        "TCP",
        {
            "src_port": "sport",
            "dst_port": "dport",
            "seq_num": "seq",
            "ack_num": "ack",
            "data_offset": "dataofs",
            "window": "window",
        },
        frozenset({"data_offset"}),
        checksum=("checksum", "chksum"),
        bits=(
            "flags",
            ("ecn_ns", "ecn_cwr", "ecn_echo", "ctl_urg", "ctl_ack", "ctl_psh", "ctl_rst", "ctl_syn", "ctl_fin"),
        ),
    ),
    "icmp": HeaderKind(
        "ICMP",
        {"type": "type", "code": "code", "identifier": "id", "sequence_number": "seq"},
        checksum=("checksum", "chksum"),
        inside="echo",
    ),
    "icmpv6": HeaderKind(
        "ICMPv6EchoRequest",
        {"type": "type", "code": "code", "identifier": "id", "sequence_number": "seq"},
        checksum=("checksum", "cksum"),
        inside="echo",
    ),
    "arp": HeaderKind(
        "ARP",
        {
            "hardware_type": "hwtype",
            "protocol_type": "ptype",
            "hardware_length": "hwlen",
            "protocol_length": "plen",
            "operation": "op",
            "sender_hardware_addr": "hwsrc",
            "sender_protocol_addr": "psrc",
            "target_hardware_addr": "hwdst",
            "target_protocol_addr": "pdst",
        },
    ),
    "vxlan": HeaderKind(
        "VXLAN",
        {"flags": "flags", "reserved0": "reserved1", "vni": "vni", "reserved1": "reserved2"},
    ),
    "gre": HeaderKind(
        "GRE",
        {"protocol": "proto", "version": "version"},
        frozenset({"protocol"}),
        # Scapy has a field for each of the flags of RFC 1701, which OTG counts as one.
        fixed={"checksum_present": 0, "reserved0": 0},
    ),
}
"""By OTG's name of the header."""

CONTROL_FRAMES: dict[str, tuple[tuple[str, int], ...]] = {
    "ethernetpause": (("control_op_code", 2), ("time", 2)),
    "pfcpause": (
        ("control_op_code", 2),
        ("class_enable_vector", 2),
        *((f"pause_class_{number}", 2) for number in range(8)),
    ),
}
"""MAC control frames (IEEE 802.3 annex 31B and 31D), which bring their own Ethernet header: the fields behind it in
order, each with its bytes."""

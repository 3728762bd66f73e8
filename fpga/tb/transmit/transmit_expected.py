"""What frames must be like, made by keisoku's own templates and zlib, without the encoder or the hardware."""

import zlib
from functools import lru_cache

from keisoku.ground.frame.headers import Ends, Headers
from keisoku.ground.frame.stack import parse

STACKS = {
    "ethernet": "ethernet",
    "ipv4": "ipv4",
    "ipv6": "ipv6",
    "mpls": "Ether()/MPLS(label=17, s=0)/MPLS(label=16, s=1)/IP()/UDP()",
    "lisp": "Ether()/IP()/UDP(dport=4341)/LISP()/IP()/UDP()",
    "vlan6": "Ether()/Dot1Q(vlan=5)/IPv6()/UDP()",
    "gre": "Ether()/IP()/GRE()/IP()/UDP()",
    "in6": "Ether()/IPv6()/IP()/UDP()",
}


@lru_cache
def headers(stack):
    return Headers(parse(STACKS[stack]), Ends("02:00:00:00:00:01", "02:00:00:00:00:02"))


def header(stack, size):
    """The header of a frame of `size` with FCS."""
    made = headers(stack)
    return made.frame(size)[: made.header_bytes]


def fcs(frame):
    return zlib.crc32(frame).to_bytes(4, "little")


def signature(stream, number, sent_ns):
    """As docs/signature/README.md has it; test_signer holds the hardware against vectors.json."""
    words = b"ks" + stream.to_bytes(2, "big") + number.to_bytes(6, "big") + sent_ns.to_bytes(6, "big")
    total = sum(int.from_bytes(words[at : at + 2], "big") for at in range(0, 16, 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return words + (0xFFFF - total).to_bytes(2, "big")


def frame(stack, size, stream, number, sent_ns):
    """All before the FCS."""
    return headers(stack).frame(size)[:-18] + signature(stream, number, sent_ns)


def sent_ns(frame):
    """What a frame without FCS says of its time."""
    return int.from_bytes(frame[-8:-2], "big")

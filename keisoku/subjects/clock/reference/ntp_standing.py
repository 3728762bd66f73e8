"""Whether an NTP server has its time from somebody else, by what its answers say: stratum, reference id, root distance.

A server that has none (RFC 5905 §7.3: leap 3, stratum 0 or 16) is refused where its answer is read. The servers here
answer as if they were synchronised, and their second is that of their own oscillator.
"""

from __future__ import annotations

import hashlib
from ipaddress import ip_address

from keisoku.language import phrase
from keisoku.subjects.clock.reference.ntp_packet import NtpAnswer

DISTANCE_MOST_NS = 1_000_000_000
"""MAXDIST of RFC 5905 §7.2; a server farther from its source is not fit to be synchronised to (A.5.5.3, accept())."""
_LOCAL_NAME = b"LOCL"
"""An uncalibrated local clock (RFC 4330 §4, Figure 2); Windows and ntpd's driver 1 at stratum 1 say so."""
_LOCAL_CLOCK = bytes((127, 127, 1))
"""127.127.1.u: ntpd's undisciplined local clock (driver 1), and `local stratum N` of chrony, which is 127.127.1.1."""
_ORPHAN = bytes((127, 0, 0, 1))
"""ntpd in orphan mode, with no source but its own clock."""
_NOBODY = bytes(4)
"""No code and no address (§7.3 asks for one from stratum 1 on): BusyBox's ntpd without a server, at stratum 1."""


def lack(answer: NtpAnswer, server: str, own: str) -> str | None:
    """Why the server's time is nobody's, as what it says of itself; None if it has a source.

    `own`: this host's address towards the server's, by which a server that follows this host names its source.
    """
    identity = answer.reference_id
    if server == own:
        return phrase("it is at this host, whose time of day is steered (reference 'realtime' shows by how much)")
    if answer.stratum > 1 and identity == reference_id(own):
        return phrase("its source is this host, {own} (reference id)", own=own)
    if identity == _NOBODY:
        return phrase("it names no source (stratum {stratum}, reference id 0)", stratum=answer.stratum)
    if identity[:3] == _LOCAL_CLOCK or identity == _ORPHAN:
        shown = ".".join(str(octet) for octet in identity)
        return phrase(
            "its source is its own undisciplined clock (stratum {stratum}, reference id {shown})",
            stratum=answer.stratum,
            shown=shown,
        )
    if answer.stratum == 1 and identity == _LOCAL_NAME:
        return phrase("its source is its own undisciplined clock (stratum 1, reference id LOCL)")
    distance_ns = answer.root_delay_ns // 2 + answer.root_dispersion_ns
    if distance_ns >= DISTANCE_MOST_NS:
        return phrase(
            "its source may be {distance_ns:.3g} s away from it (root distance, where 1 s is too far)",
            distance_ns=distance_ns / 1e9,
        )
    return None


def reference_id(address: str) -> bytes:
    """The reference id of those that follow a server at this address (RFC 5905 §7.3)."""
    packed = ip_address(address.partition("%")[0]).packed
    return packed if len(packed) == 4 else hashlib.md5(packed, usedforsecurity=False).digest()[:4]

"""NTP's packet in client mode (RFC 5905 §7.3, §8) and what an answer says; bytes in, facts out, no socket.

It accepts only answers to its own requests.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

from keisoku.errors import EngineError

PORT = 123
PACKET = struct.Struct("!BBbb3I4Q")
BYTES = PACKET.size
VERSION, CLIENT, SERVER = 4, 3, 4
_UNIX_S = 2_208_988_800
"""Seconds from NTP's prime epoch, 1900, to Unix time's, 1970."""
_ERA_S = 1 << 32
_NS = 1_000_000_000
_MAX_STRATUM = 15
_DISTANCE_MOST_NS = 16 * _NS
"""MAXDISP of RFC 5905 §7.2: a header with a larger root distance is invalid (A.5.1.1, packet())."""
_COARSE_LOG2_S = -6
"""Of the precisions that servers state, the coarsest that is believed: a clock that ticks 64 times a second."""


@dataclass(frozen=True)
class NtpAnswer:
    """A server's answer; times are ns since 1970, in the era next to the client's own time."""

    leap: int
    stratum: int
    reference_id: bytes
    root_delay_ns: int
    root_dispersion_ns: int
    received_ns: int
    """T2: when the server had the request."""
    transmitted_ns: int
    """T3: when it sent the answer."""
    step_ns: int
    """Precision of its clock (RFC 5905 §7.3): by how much T2 and T3 may be early or late."""


def request(cookie: int) -> bytes:
    """A request. The transmit timestamp is random bits, which come back and reveal nothing about this host."""
    return PACKET.pack(VERSION << 3 | CLIENT, 0, 0, 0, 0, 0, 0, 0, 0, 0, cookie)


def answer(packet: bytes, cookie: int, now_ns: int) -> NtpAnswer | None:
    """What a server said; None for a packet that is no answer to the request with this cookie.

    Raises EngineError if the server refuses (kiss of death, RFC 5905 §7.4), is not synchronised (§7.3: leap 3, stratum
    16 and above), or contradicts itself: its root distance or reference time is invalid (A.5.1.1), or it answered
    before it was asked, T3 before T2, by more than its own precision (§8).
    """
    if len(packet) < BYTES:
        return None
    fields = PACKET.unpack(packet[:BYTES])
    first, stratum, _, precision, delay, dispersion, identity, updated, origin, received, transmitted = fields
    if first & 7 != SERVER or origin != cookie:
        return None
    leap = first >> 6
    reference_id = struct.pack("!I", identity)
    if stratum == 0:
        code = reference_id.decode("ascii", errors="replace").rstrip("\0")
        raise EngineError(f"the NTP server refuses to answer (kiss of death {code}); use another, or ask less often")
    if leap == 3 or stratum > _MAX_STRATUM or transmitted == 0:
        raise EngineError("the NTP server says that it is not synchronised; use another")
    step_ns = math.ceil(2.0 ** min(precision, _COARSE_LOG2_S) * _NS)
    found = NtpAnswer(
        leap=leap,
        stratum=stratum,
        reference_id=reference_id,
        root_delay_ns=delay * _NS >> 16,
        root_dispersion_ns=dispersion * _NS >> 16,
        received_ns=unix_ns(received, now_ns),
        transmitted_ns=unix_ns(transmitted, now_ns),
        step_ns=step_ns,
    )
    if (early_ns := found.received_ns - found.transmitted_ns) > step_ns:
        raise EngineError(
            f"the NTP server's times contradict each other: it answered {early_ns / _NS:.3g} s before it was asked;"
            " use another"
        )
    if found.root_delay_ns // 2 + found.root_dispersion_ns >= _DISTANCE_MOST_NS:
        raise EngineError("the NTP server says that it is 16 s or more away from its source; use another")
    if updated and unix_ns(updated, now_ns) > found.transmitted_ns + step_ns:
        raise EngineError("the NTP server says that its clock was set after the answer left; use another")
    return found


def unix_ns(stamp: int, near_ns: int) -> int:
    """A 64-bit NTP timestamp as ns since 1970, in the era whose time is nearest to `near_ns` (RFC 5905 §6)."""
    seconds, fraction = stamp >> 32, stamp & 0xFFFFFFFF
    unix = seconds - _UNIX_S
    eras = round((near_ns / _NS - unix) / _ERA_S)
    return (unix + eras * _ERA_S) * _NS + (fraction * _NS + (1 << 31) >> 32)

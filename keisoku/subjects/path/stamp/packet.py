"""STAMP test packets as bytes: RFC 8762 §4, unauthenticated and authenticated, with the TLVs of RFC 8972 §4.

What a sender needs: its own packets, and the answers of a reflector. Ours is the program `keisoku-far`
(far/src/stamp/).
"""

from __future__ import annotations

import hmac
import struct
from dataclasses import dataclass

PORT = 862
"""RFC 8762 §4.1."""
TTL = 255
"""RFC 8762 §4.2.1, so that hops can be counted."""
BASE_BYTES, AUTHENTICATED_BYTES = 44, 112
_HMAC_BYTES = 16
_SENDER = struct.Struct("!IQHH28x")
_REFLECTOR = struct.Struct("!IQHHQIQH2xB3x")
_AUTH_SENDER = struct.Struct("!I12xQHH68x")
_AUTH_REFLECTOR = struct.Struct("!I12xQHH4xQ8xI12xQH6xB15x")
_TLV = struct.Struct("!BBH")
_UNRECOGNIZED = 0x80
_EXTRA_PADDING = 1
_NTP_EPOCH_S = 2_208_988_800
"""From 1900 to 1970."""
_NS = 1_000_000_000


class StampFormatError(ValueError):
    """These bytes are no STAMP packet of the mode that was expected."""


@dataclass(frozen=True)
class ErrorEstimate:
    """RFC 4656 §4.1.2 as RFC 8762 §4.2.1 changes it: S, Z, Scale, Multiplier."""

    synchronised: bool = False
    """With a source of UTC."""
    ptp: bool = False
    """Timestamps are PTPv2's truncated format (seconds and ns) rather than NTP's."""
    scale: int = 0
    multiplier: int = 1

    @classmethod
    def covering(cls, error_s: float, synchronised: bool) -> ErrorEstimate:
        """The smallest estimate that is not below `error_s`, as the multiplier must not be 0."""
        units, scale = max(error_s, 0.0) * 2**32, 0
        while units > 255 and scale < 63:
            units, scale = units / 2, scale + 1
        return cls(synchronised, False, scale, int(min(max(-(-units // 1), 1), 255)))

    @property
    def error_s(self) -> float:
        """Multiplier · 2^(Scale − 32) s."""
        return float(self.multiplier * 2.0 ** (self.scale - 32))

    @property
    def is_of_utc(self) -> bool:
        """Synchronised, with an error that is stated: a multiplier of 0 states none (RFC 4656 §4.1.2)."""
        return self.synchronised and self.multiplier > 0

    def word(self) -> int:
        """16 bits."""
        return self.synchronised << 15 | self.ptp << 14 | self.scale << 8 | self.multiplier

    @classmethod
    def from_word(cls, word: int) -> ErrorEstimate:
        """Any 16 bits."""
        return cls(bool(word >> 15), bool(word >> 14 & 1), word >> 8 & 63, word & 255)


@dataclass(frozen=True)
class SenderPacket:
    """What a session-sender sends. Times are ns of UNIX time."""

    sequence: int
    time_ns: int
    error: ErrorEstimate = ErrorEstimate()
    ssid: int = 0
    """RFC 8972 §3; 0: none."""
    tlvs: bytes = b""

    def pack(self, key: bytes | None = None) -> bytes:
        """Authenticated with `key`."""
        fields = (self.sequence, timestamp(self.time_ns, self.error.ptp), self.error.word(), self.ssid)
        if key is None:
            return _SENDER.pack(*fields) + self.tlvs
        return _signed(_AUTH_SENDER.pack(*fields), key) + self.tlvs


@dataclass(frozen=True)
class ReflectedPacket:
    """What a session-reflector answers."""

    sequence: int
    time_ns: int
    error: ErrorEstimate
    ssid: int
    received_ns: int
    sender_sequence: int
    sender_time: int
    """As the sender's packet had it, bit by bit: it may be of the other format."""
    sender_error: ErrorEstimate
    sender_ttl: int
    tlvs: bytes = b""

    @classmethod
    def parse(cls, data: bytes, key: bytes | None = None) -> ReflectedPacket:
        """Raises StampFormatError."""
        layout, tlvs = (_REFLECTOR, BASE_BYTES) if key is None else (_AUTH_REFLECTOR, AUTHENTICATED_BYTES)
        _check(data, tlvs, key)
        sequence, stamp, word, ssid, received, sender_sequence, sender_time, sender_word, ttl = layout.unpack_from(data)
        error = ErrorEstimate.from_word(word)
        return cls(
            sequence,
            unix_ns(stamp, error.ptp),
            error,
            ssid,
            unix_ns(received, error.ptp),
            sender_sequence,
            sender_time,
            ErrorEstimate.from_word(sender_word),
            ttl,
            data[tlvs:],
        )


def padding(count: int) -> bytes:
    """An Extra Padding TLV (RFC 8972 §4.1) of `count` bytes with its header; none for fewer than 4."""
    if count < _TLV.size:
        return b""
    return _TLV.pack(_UNRECOGNIZED, _EXTRA_PADDING, count - _TLV.size) + bytes(count - _TLV.size)


def timestamp(unix_time_ns: int, ptp: bool) -> int:
    """64 bits: NTP's format (RFC 5905 §6), or PTPv2's truncated one (RFC 8186 §2)."""
    seconds, ns = divmod(unix_time_ns, _NS)
    if ptp:
        return (seconds & 0xFFFF_FFFF) << 32 | ns
    return (seconds + _NTP_EPOCH_S & 0xFFFF_FFFF) << 32 | (ns * 2**32 + _NS // 2) // _NS & 0xFFFF_FFFF


def unix_ns(stamp: int, ptp: bool) -> int:
    """UNIX time in ns; NTP's era is the one that begins in 1900 up to 2036, the next one from then on."""
    seconds, fraction = stamp >> 32, stamp & 0xFFFF_FFFF
    if ptp:
        return seconds * _NS + fraction
    if seconds < 0x8000_0000:
        seconds += 2**32  # RFC 4330 §3: the most significant bit tells the era
    return (seconds - _NTP_EPOCH_S) * _NS + (fraction * _NS + 2**31 >> 32)


def _check(data: bytes, least: int, key: bytes | None) -> None:
    if len(data) < least:
        raise StampFormatError(f"{len(data)} bytes are no STAMP packet, which has {least} at least")
    if key is not None and not hmac.compare_digest(
        _mac(data[: least - _HMAC_BYTES], key), data[least - _HMAC_BYTES : least]
    ):
        raise StampFormatError("its HMAC is not of this key")


def _signed(base: bytes, key: bytes) -> bytes:
    return base + _mac(base, key)


def _mac(base: bytes, key: bytes) -> bytes:
    """HMAC-SHA-256 cut to 128 bits over all that stands before it (RFC 8762 §4.4)."""
    return hmac.digest(key, base, "sha256")[:_HMAC_BYTES]

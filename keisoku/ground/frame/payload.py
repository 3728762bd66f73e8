"""The payload of a test frame: a filler, then 18 zero bytes for the tester's signature. Knows no header.

The filler is chosen so that the payload sums to zero in ones' complement. The signature also sums
to zero (docs/signature), so every checksum over the payload is right for every frame sent.
"""

from __future__ import annotations

SIGNATURE_BYTES = 18
FCS_BYTES = 4
MAGIC = b"ks"
"""The signature begins with it (docs/signature/README.md)."""


def payload(length: int) -> bytes:
    """`length` counting bytes, of which two make the sum zero, with room for the signature at the end."""
    fill = length - SIGNATURE_BYTES
    if fill < 2:
        return bytes(length)
    filled = bytearray(index & 0xFF for index in range(fill - 2)) + bytes(2 + SIGNATURE_BYTES)
    missing = (0xFFFF - ones_complement_sum(filled)).to_bytes(2, "big")
    # At an odd position the two bytes belong to two words, each in the other half.
    filled[fill - 2 : fill] = missing if fill % 2 == 0 else missing[::-1]
    return bytes(filled)


def ones_complement_sum(region: bytes | bytearray) -> int:
    """Sum of the 16-bit words, an odd last byte padded with zero (RFC 1071)."""
    padded = bytes(region) + bytes(len(region) % 2)
    # 2^16 is 1 modulo 0xFFFF, so the whole region is one number with that remainder.
    number = int.from_bytes(padded, "big")
    return number % 0xFFFF or (0xFFFF if number else 0)

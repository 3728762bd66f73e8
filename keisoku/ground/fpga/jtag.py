"""The bits of a scan of the JTAG user register that carry bytes both ways (docs/fpga-link.md). Moves no pins.

A driver of a JTAG adapter shifts `scan_bits` through the register and gives what came back to `bytes_of`.
"""

from collections.abc import Sequence

SETTLE = 8
COUNT_BITS = 16
UNIT_BITS = 9
MOST_UNITS = (1 << COUNT_BITS) - 1
LATE_BITS = 16
"""Clocks by which the answer may be late."""


def scan_bits(data: bytes, wanted: int) -> list[int]:
    """The bits to shift in, for sending `data` and receiving up to `wanted` bytes.

    Raises ValueError if more than 65 535 are wanted.
    """
    if not 0 <= wanted <= MOST_UNITS:
        raise ValueError(f"{wanted} bytes are more than one scan brings")
    bits = [0] * SETTLE + [0, 1] + [wanted >> i & 1 for i in range(COUNT_BITS)]
    for byte in data:
        bits += [1, *(byte >> i & 1 for i in range(8))]
    return bits + [0] * (max(wanted - len(data), 0) * UNIT_BITS + LATE_BITS)


def bytes_of(bits: Sequence[int], wanted: int) -> bytes:
    """The bytes in the bits that a scan with `wanted` shifted out; none if the instrument sent no start bit."""
    start = next((i + 1 for i in range(SETTLE, len(bits)) if bits[i]), len(bits))
    data = bytearray()
    for unit in range(wanted):
        part = bits[start + unit * UNIT_BITS : start + (unit + 1) * UNIT_BITS]
        if len(part) == UNIT_BITS and part[0]:
            data.append(sum(bit << i for i, bit in enumerate(part[1:])))
    return bytes(data)

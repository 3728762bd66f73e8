"""Frames in a byte stream, as RFC 1662 has HDLC frames on serial lines: flags, escapes, the FCS-32.

A frame starts and ends with a flag, which occurs nowhere else, so a reader is synchronised again at the next flag
whatever came before. Frames with a wrong FCS are never passed on.
"""

from zlib import crc32

FLAG = 0x7E
ESCAPE = 0x7D
ESCAPED = 0x20
FCS_OCTETS = 4


def framed(octets: bytes) -> bytes:
    """The octets with their FCS-32 between two flags (RFC 1662 §4.2, §C.3)."""
    whole = octets + crc32(octets).to_bytes(FCS_OCTETS, "little")
    stuffed = bytearray([FLAG])
    for octet in whole:
        if octet in (FLAG, ESCAPE):
            stuffed += bytes([ESCAPE, octet ^ ESCAPED])
        else:
            stuffed.append(octet)
    stuffed.append(FLAG)
    return bytes(stuffed)


class Unframer:
    """Collects the frames of a byte stream that comes in pieces."""

    def __init__(self) -> None:
        self._octets = bytearray()
        self._is_escaped = False
        self.bad_frames = 0
        """Frames dropped because of their FCS or an escape before a flag."""

    @property
    def unfinished(self) -> bytes:
        """The bytes so far of a frame that has not ended, perhaps with its FCS."""
        return bytes(self._octets)

    def feed(self, data: bytes) -> list[bytes]:
        """The octets of the frames that end in `data`, their FCS left out."""
        frames = []
        for octet in data:
            if octet == FLAG:
                frame = self._end()
                if frame is not None:
                    frames.append(frame)
            elif octet == ESCAPE:
                self._is_escaped = True
            else:
                self._octets.append(octet ^ ESCAPED if self._is_escaped else octet)
                self._is_escaped = False
        return frames

    def _end(self) -> bytes | None:
        whole, was_escaped = bytes(self._octets), self._is_escaped
        self._octets.clear()
        self._is_escaped = False
        if not whole and not was_escaped:
            return None
        octets, fcs = whole[:-FCS_OCTETS], whole[-FCS_OCTETS:]
        if was_escaped or len(fcs) < FCS_OCTETS or crc32(octets).to_bytes(FCS_OCTETS, "little") != fcs:
            self.bad_frames += 1
            return None
        return octets

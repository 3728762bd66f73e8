"""How a router quotes the packet that an ICMP error is about, from the lengths of the replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from keisoku.language import phrase

REPLY_HEADERS = 28
"""IP and ICMP header of a reply without options."""
RFC792_BYTES = REPLY_HEADERS + 28
"""RFC 792: the original's IP header and 8 bytes of what follows."""
RFC1812_BYTES = 576
"""RFC 1812 §4.3.2.3: as much of the original as fits into 576 bytes."""

IPV6_HEADERS = 48
"""IPv6 and ICMPv6 header of a reply."""
RFC4443_BYTES = 1280
"""RFC 4443 §2.4 c: as much of the original as fits into the least MTU of IPv6."""

Style = Literal["rfc792", "rfc1812", "rfc4443", "whole", "constant", "other", "unknown"]

TEXT: dict[Style, str] = {
    "rfc792": phrase("28 bytes of the probe (RFC 792)"),
    "rfc1812": phrase("as much of the probe as fits into 576 bytes (RFC 1812)"),
    "rfc4443": phrase("as much of the probe as fits into 1280 bytes (RFC 4443)"),
    "whole": phrase("the whole probe, however long"),
    "constant": phrase("a constant number of bytes"),
    "other": phrase("in no known way"),
    "unknown": phrase("unknown: too few sizes answered, or no long one"),
}


@dataclass(frozen=True)
class Quoting:
    """Style, and from which probe size on replies no longer grow (None: they never do, or never stop)."""

    style: Style
    kink_bytes: int | None = None

    @property
    def text(self) -> str:
        """The style as text."""
        return TEXT[self.style]


def classify(sizes: Sequence[int], replies: Sequence[int]) -> Quoting:
    """The style from pairs of probe and reply length (IP bytes).

    The kink is where min(size + headers, limit) stops growing; a router that quotes 576 bytes kinks at 548. Replies to
    probes shorter than their limit grow byte for byte in every style that quotes as much as fits. Raises ValueError for
    lists of different lengths.
    """
    lengths, answers = np.asarray(sizes, dtype=np.int64), np.asarray(replies, dtype=np.int64)
    if lengths.shape != answers.shape:
        raise ValueError("sizes and replies must be of one length")
    if np.unique(lengths).size < 3:
        return Quoting("unknown")
    if (answers == answers[0]).all():
        return Quoting("rfc792" if answers[0] == RFC792_BYTES else "constant")
    limit = int(answers.max())
    growth = np.unique(answers[answers < limit] - lengths[answers < limit])
    whole = np.unique(answers - lengths)
    if whole.size == 1:
        # With no probe longer than the limit it is unknown whether there is one.
        most = RFC4443_BYTES - IPV6_HEADERS if whole[0] == IPV6_HEADERS else RFC1812_BYTES
        return Quoting("whole") if lengths.max() > most else Quoting("unknown")
    if growth.size != 1 or (answers[lengths + growth[0] > limit] != limit).any():
        return Quoting("other")
    if growth[0] == IPV6_HEADERS:
        return Quoting("rfc4443" if limit == RFC4443_BYTES else "other", limit - int(growth[0]))
    return Quoting("rfc1812" if limit <= RFC1812_BYTES and limit > 500 else "other", limit - int(growth[0]))

"""Which receiving ports a NIC's address or VLAN filter would keep from frames of a trial. Opens nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keisoku.ground.frame.variants import Frames
from keisoku.subjects.device.engine.traffic import Route
from keisoku.subjects.device.record.trial import Stream

_BROADCAST = b"\xff" * 6
_TAGS = (b"\x81\x00", b"\x88\xa8")
_FRONT_BYTES = 14


def filtered_at(
    streams: Sequence[Stream], tables: Sequence[Frames], routes: Sequence[Route], macs: Sequence[str]
) -> list[int]:
    """Ports that must be promiscuous to receive all frames of these streams; `macs` are the addresses of the ports.

    A device that does not route leaves destination addresses as they are; one that routes gives frames the address of
    the receiving host, which a port without that address answers for by itself (`Neighbours`).
    """
    routed = {
        (route.transmit, route.receive): route.forward.next_hop_mac != route.forward.receiver_mac for route in routes
    }
    found = set()
    for stream in streams:
        table = tables[stream.table]
        for port in (stream.receive, *stream.also):
            own = bytes.fromhex(macs[port].replace(":", ""))
            kept = None if routed[stream.transmit, port] else (own, _BROADCAST)
            if port not in found and _filtered(table, kept):
                found.add(port)
    return sorted(found)


def _filtered(table: Frames, kept: tuple[bytes, ...] | None) -> bool:
    """Whether any frame has a VLAN tag, or a destination that is not in `kept` (None: any but a group, which a router
    leaves as it is)."""
    octets = np.frombuffer(table.bytes_, np.uint8)
    ends = np.cumsum(table.lengths, dtype=np.int64)
    fronts = octets[(ends - table.lengths)[:, None] + np.arange(_FRONT_BYTES)]
    for front in {bytes(row) for row in np.unique(fronts, axis=0)}:
        is_group = bool(front[0] & 1) and front[:6] != _BROADCAST
        if front[12:14] in _TAGS or is_group or (kept is not None and front[:6] not in kept):
            return True
    return False

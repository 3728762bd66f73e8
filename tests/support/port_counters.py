"""What a port counted in a trial."""

from __future__ import annotations

from typing import Any

from keisoku.subjects.device.record.interference import PortCounters


def change(**values: Any) -> PortCounters:
    """Of the port t2, whose driver has no peer; all that is not given is 0."""
    counts = dict.fromkeys(PortCounters.model_fields, 0)
    return PortCounters.model_validate(
        {**counts, "port": "t2", "engine": "xdp", "driver": "ixgbe", "peer_tx_dropped": None, **values}
    )

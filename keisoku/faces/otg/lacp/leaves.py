"""The metrics and states of members of LAGs as leaves of OTG's YANG models. Pure; counts nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from keisoku.faces.otg.leaf import Leaves, Short, entry, named, plain

Document = Mapping[str, Any]
_LACP_COUNTERS = {
    "lacp-in-pkts": "lacp_packets_rx",
    "lacp-out-pkts": "lacp_packets_tx",
    "lacp-rx-errors": "lacp_rx_errors",
}


def lacp_leaves(metrics: Sequence[Document]) -> Leaves:
    """Of the members of LAGs with LACP."""
    for metric in metrics:
        name = str(metric["lag_member_port_name"])
        member = entry("lacp", "lag-members", ("lag-member", "name", name))
        yield from named(member, name)
        for each in ("activity", "timeout", "synchronization"):
            yield member + plain("state", each), str(metric[each]).upper()
        for each in ("aggregatable", "collecting", "distributing"):
            yield member + plain("state", each), bool(metric[each])
        for each in ("system_id", "partner_id"):
            if each in metric:
                yield member + plain("state", each.replace("_", "-")), str(metric[each])
        for each in ("oper_key", "partner_key", "port_num", "partner_port_num"):
            if each in metric:
                yield member + plain("state", each.replace("_", "-")), Short(metric[each])
        for leaf, each in _LACP_COUNTERS.items():
            yield member + plain("state", "counters", leaf), int(metric[each])

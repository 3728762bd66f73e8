"""What Open vSwitch says of LACP, as OTG's metrics of a LAG's members. Asks nothing itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from keisoku.faces.otg.device.lag import Lag

Document = dict[str, Any]
_MEMBER = re.compile(r"^member: ([^\s:]+):.*$", re.MULTILINE)
_FIELD = re.compile(r"^ +([^:\n]+): *(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class MemberState:
    """What is known of a member."""

    actor: frozenset[str] = frozenset()
    """Bits of its state that are set (IEEE 802.1AX §6.4.2.3)."""
    carries: bool = False
    """Whether frames go through it."""
    values: Mapping[str, str] | None = None
    """By Open vSwitch's names."""
    counts: Mapping[str, str] | None = None


def member_states(shown: str, statistics: str) -> dict[str, MemberState]:
    """Of each member by its interface, from `lacp/show` and `lacp/show-stats`."""
    counts = _members(statistics)
    found = {}
    for name, values in _members(shown).items():
        # A member whose link is lost keeps what it last said, so this alone does not tell that it carries frames.
        actor = frozenset(values.get("actor state", "").split())
        carries = values.get("may_enable") == "true" and "distributing" in actor
        found[name] = MemberState(actor, carries, values, counts.get(name))
    return found


def _members(text: str) -> dict[str, dict[str, str]]:
    names = _MEMBER.findall(text)
    parts = _MEMBER.split(text)[2::2]
    return {name: dict(_FIELD.findall(part)) for name, part in zip(names, parts, strict=True)}


def lacp_metric(lag: Lag, port: str, state: MemberState) -> Document:
    """The metric of a member; its counters are zero and its partner is absent as long as there is none."""
    assert lag.lacp is not None, "it speaks LACP"
    counts, values = state.counts or {}, state.values or {}
    is_used = state.carries
    metric: Document = {
        "lag_name": lag.name,
        "lag_member_port_name": port,
        "lacp_packets_rx": int(counts.get("RX PDUs", 0)),
        "lacp_packets_tx": int(counts.get("TX PDUs", 0)),
        "lacp_rx_errors": int(counts.get("RX Bad PDUs", 0)),
        "activity": "active" if lag.lacp.active else "passive",
        "timeout": "short" if lag.lacp.fast else "long",
        "synchronization": "in_sync" if is_used or _is_said(state, "synchronized") else "out_sync",
        "aggregatable": "aggregation" in state.actor,
        "collecting": is_used or _is_said(state, "collecting"),
        "distributing": is_used,
    }
    for name, key, is_number in (
        ("system_id", "actor sys_id", False),
        ("oper_key", "actor key", True),
        ("port_num", "actor port_id", True),
        ("partner_id", "partner sys_id", False),
        ("partner_key", "partner key", True),
        ("partner_port_num", "partner port_id", True),
    ):
        if key in values and not (name.startswith("partner") and "defaulted" in state.actor):
            metric[name] = int(values[key]) if is_number else values[key]
    return metric


def _is_said(state: MemberState, bit: str) -> bool:
    return bit in state.actor and not state.actor & {"expired", "defaulted"}

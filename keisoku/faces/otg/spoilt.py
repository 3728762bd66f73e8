"""Why a session's last traffic is invalid for the device. No I/O, no clock."""

from __future__ import annotations

from keisoku.faces.otg.session import TrafficSession
from keisoku.subjects.device.record.validity import INTERRUPTED, reasons


def spoilt(session: TrafficSession) -> list[str]:
    """Because of the tester or its host; empty if it is valid, and without traffic. A stop does not make a flow without
    an end invalid."""
    if session.trial is None or session.facts is None:
        return []
    load, facts = session.trial, session.facts
    if load.switches:
        # Flows that were never started were not intended; interruptions of others were intended by the script.
        pairs = zip(load.flows, load.switches, strict=True)
        load = load.model_copy(update={"flows": tuple(flow for flow, switch in pairs if not switch.waits)})
    if session.switched:
        facts = facts.model_copy(update={"interrupted": True})
    return [reason for reason in reasons(load, facts) if reason != INTERRUPTED]

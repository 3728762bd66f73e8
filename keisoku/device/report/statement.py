"""How sure the figures are and where they come from: calibration, uncertainty, context, plan.

Only says what records, results and context hold; what they do not hold it names as missing.
"""

from __future__ import annotations

from collections.abc import Mapping

from keisoku.device.report.device import Device
from keisoku.report.page import flattened

SIMULATED = "In simulated time the instrument contributes exactly nothing."
NOT_INCLUDED = (
    "Not included: how the device behaves at other times, temperatures and configurations, and what else "
    "the host did. Runs on shared processors scatter more from run to run than within one."
)


def stamps(device: Device) -> list[str]:
    """Where both time stamps of a frame were taken, one sentence for each way that occurred."""
    ways = {(record.facts.transmit_stamp, record.facts.receive_stamp): None for record in device.run.records}
    return [f"Sent: {transmit}. Received: {receive}." for transmit, receive in ways]


def calibration(device: Device) -> list[tuple[str, str]]:
    """What the tester itself was found to add, as the context states it; empty if it was not calibrated."""
    found = device.run.context.get("calibration")
    if not found:
        return []
    return flattened(found) if isinstance(found, Mapping) else [("calibration", str(found))]

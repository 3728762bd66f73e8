"""Statements about the figures: timestamps and calibration.

They contain only what records, results and context hold; what these lack is named as missing.
"""

from __future__ import annotations

from collections.abc import Mapping

from keisoku.device.report.device import Device
from keisoku.report.page import flattened

SIMULATED = "In simulated time the instrument contributes exactly nothing."
NOT_INCLUDED = (
    "Not included: the device's behaviour at other times, temperatures and configurations, and other "
    "activity of the host. Results on shared processors scatter more from run to run than within a run."
)


def stamps(device: Device) -> list[str]:
    """Where both timestamps of a frame were taken, one sentence for each variant that occurred."""
    ways = {(record.facts.transmit_stamp, record.facts.receive_stamp): None for record in device.run.records}
    return [f"Sent: {transmit}. Received: {receive}." for transmit, receive in ways]


def calibration(device: Device) -> list[tuple[str, str]]:
    """The tester's own latency from the context; empty if it was not calibrated."""
    found = device.run.context.get("calibration")
    if not found:
        return []
    return flattened(found) if isinstance(found, Mapping) else [("calibration", str(found))]

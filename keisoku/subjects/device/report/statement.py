"""Statements about the figures: timestamps and calibration.

They contain only what records, results and context hold; what these lack is named as missing.
"""

from __future__ import annotations

from collections.abc import Mapping

from keisoku.ground.host.look import HostLook
from keisoku.ground.report import digits
from keisoku.ground.report.page import flattened
from keisoku.language import phrase, recorded
from keisoku.subjects.device.plot.device import Device

SIMULATED = phrase("In simulated time the instrument contributes exactly nothing.")
NOT_INCLUDED = phrase(
    "Not included: the device's behaviour at other times, temperatures and configurations, and other "
    "activity of the host. Results on shared processors scatter more from run to run than within a run."
)


def stamps(device: Device) -> list[str]:
    """Where both timestamps of a frame were taken, one sentence for each variant that occurred."""
    ways = {(record.facts.transmit_stamp, record.facts.receive_stamp): None for record in device.run.records}
    return [
        phrase("Sent: {transmit}. Received: {receive}.", transmit=recorded(transmit), receive=recorded(receive))
        for transmit, receive in ways
    ]


def host(device: Device) -> str:
    """What a look at the host saw before the run, and what followed for its trials; empty if there was none."""
    found = device.run.context.get("host_look")
    if not found:
        return ""
    longest_ns = max((record.trial.duration_ns for record in device.run.records), default=None)
    return phrase("Before the run: {found}.", found=HostLook.model_validate(found).sentence(longest_ns))


def calibration(device: Device) -> list[tuple[str, str]]:
    """The tester's own latency from the context; empty if it was not calibrated."""
    found = device.run.context.get("calibration")
    if not found:
        return []
    if not isinstance(found, Mapping):
        return [(phrase("calibration"), str(found))]
    rest = dict(found)
    rows = [(phrase("measured at"), str(rest.pop("made_at")))] if "made_at" in rest else []
    rows += flattened(rest.pop("valid_for", {}))
    length, tolerance = rest.pop("cable_m", None), rest.pop("cable_tolerance_m", 0.0)
    rows.append((phrase("length of the cable"), f"{length} ± {tolerance} m" if length else phrase("not known")))
    if bias := rest.pop("bias_ns", None):
        least, most = (digits.count(round(each)) for each in bias)
        budgets = phrase("{least} ns to {most} ns; its uncertainty is in the error budgets", least=least, most=most)
        rows.append((phrase("subtracted, by size and load"), budgets))
    return rows + flattened(rest)

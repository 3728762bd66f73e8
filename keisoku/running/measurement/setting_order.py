"""In which order settings are offered, and in which groups, wherever a person chooses them. It holds names only."""

from __future__ import annotations

from collections.abc import Mapping

FIRST = ("dut", "tx", "rx", "frame_bytes", "rate_fps", "trial_s", "profile", "within_s", "require")
"""Of a device's procedures, those that people need first, in that order."""
OWN, RECORDS = "This measurement", "Records and output"
SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Device and ports": (
        "dut", "tx", "rx", "receiver", "clock", "engine", "gateway", "address", "mtu", "ports", "pattern", "force",
    ),
    "Frames": (
        "frame_bytes", "headers", "vlan", "dscp", "modify", "modifiers", "pacing", "streams", "filters", "networks",
    ),
    "Trials and figures": (
        "profile", "waits_s", "seed", "calibration", "cable_tolerance_m", "stamps", "repeat", "require", "within_s",
    ),
    RECORDS: ("frames", "frames_every", "why_lost", "why_late", "capture", "snap_bytes", "about"),
}  # fmt: skip
"""What is in none of them is the measurement's own (`OWN`)."""

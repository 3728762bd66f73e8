"""Captures of ports in pcapng files: made, searched for test frames, and read to be sent again.

A capture is evidence beside a record; no figure is ever computed from one.
"""

from keisoku.capture.capture import Capture, CaptureCounts
from keisoku.capture.find import Found, PortFrames, Sighting, find
from keisoku.capture.port import CapturePort
from keisoku.capture.replay import Replay, replay

__all__ = ["Capture", "CaptureCounts", "CapturePort", "Found", "PortFrames", "Replay", "Sighting", "find", "replay"]

"""Opens a reference by its name. The one place that knows all kinds."""

from __future__ import annotations

from keisoku.errors import KeisokuError
from keisoku.subjects.clock.host_clocks import HostClocks, counter
from keisoku.subjects.clock.reference.http import date_server
from keisoku.subjects.clock.reference.kinds import KERNEL, Chosen, Reference, automatic, is_real, parse
from keisoku.subjects.clock.reference.local import TRIES, hardware_clock, kernel_clock, pulse
from keisoku.subjects.clock.reference.ntp import ntp_server
from keisoku.subjects.clock.reference.ptp.reference import ptp_master


def choose(text: str, host: HostClocks) -> Chosen:
    """The reference that the text names; `auto` is the best one of this machine. Raises PlanError if there is none."""
    chosen = parse(text)
    return automatic(host, counter(host)[1]) if chosen.kind == "auto" else chosen


def open_reference(chosen: Chosen, host: HostClocks, pause_s: float, tries: int = TRIES) -> Reference:
    """Raises EngineError if it does not answer."""
    if chosen.kind in KERNEL:
        return kernel_clock(chosen, is_real(chosen, counter(host)[1]), tries)
    if chosen.kind == "phc":
        return hardware_clock(chosen)
    if chosen.kind == "pps":
        return pulse(chosen)
    if chosen.kind == "ptp":
        return ptp_master(chosen, pause_s)
    if chosen.kind == "ntp":
        return ntp_server(chosen, pause_s)
    if chosen.kind == "http":
        return date_server(chosen)
    raise KeisokuError(f"reference: {chosen.name} cannot be opened")

"""Timestamps of cards, their clocks, and captures."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np

from drivers.bed import Bed, refusal
from drivers.case import case
from keisoku.errors import EngineError, PlanError
from keisoku.subjects.clock.reference import phc
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.plan_testbed import open_engine
from keisoku.subjects.device.testbed.host_port_list import list_ports

_OF_DRIVERS = {
    "none": "the driver offers no hardware timestamps",
    "PTP": "the hardware timestamps PTP messages only",
    "all": "the driver offers hardware timestamps to sockets only",
}
"""Refusals of engines with an XDP program. A packet socket of a driver that offers to stamp all is not refused so."""


@case()
def hardware_stamps(bed: Bed) -> None:
    """Hardware timestamps that the card does not take are refused, whether the driver says so before or not."""

    def run() -> None:
        with bed.opened(bed.sender, bed.engine, stamps="hardware") as engine:
            bed.carry(engine, bed.trial())

    bed.shown = refusal(run, PlanError, EngineError)
    stamps, expected = bed.driver.stamps, "the driver accepted hardware timestamps but stamped none of 100"
    if stamps != "all" or bed.engine != "packet":
        expected = _OF_DRIVERS[stamps]
    assert expected in bed.shown, bed.shown


@case()
def best_stamps(bed: Bed) -> None:
    """Where the choice of timestamps is left to keisoku, hardware that takes none is found by a check before the run
    and replaced, and the run says so."""
    plan = {"methods": ["trial"], "tx": f"{bed.sender}:{bed.port(0)}", "rx": f"{bed.engine}:{bed.port(1)}"}
    said: list[str] = []
    with open_engine(parse(plan | {"frame_bytes": (128,)}), said.append) as engine:
        trial = bed.trial()
        facts = bed.carry(engine, trial)
        bed.complete(trial, facts)
        replaced = engine.context().get("stamps_replaced", [])
    if bed.driver.stamps != "all" or bed.engine != "packet":
        assert said == replaced == [], said
        return
    [bed.shown] = said
    start = f"{bed.port(1)}: the kernel's timestamps instead of the hardware's, because the driver accepted"
    assert bed.shown.startswith(start) and replaced == said, said
    assert facts.receivers[0].stamped is None and "of the kernel" in facts.receive_stamp, facts.receivers


@case()
def software_stamps(bed: Bed) -> None:
    """Each arrival has a software timestamp after its departure, and the record says where it was taken."""
    with bed.opened(bed.sender, bed.engine, stamps="software") as engine:
        trial = bed.trial()
        facts = bed.carry(engine, trial)
        bed.complete(trial, facts)
    latency = facts.tracked.latency
    assert latency is not None and latency.count == 100 and latency.min_ns > 0, latency
    bed.shown = facts.receive_stamp
    program = "native" if bed.driver.native_xdp else "generic"
    assert ("of the kernel" if bed.engine == "packet" else program) in bed.shown, bed.shown


@case(each_engine=False)
def transmit_stamps(bed: Bed) -> None:
    """The driver's transmit timestamps are asked for a sample of the frames, and never come before the frame's own."""
    with bed.opened("packet", "packet") as engine:
        trial = bed.trial(frames=200)
        facts = bed.carry(engine, trial)
        bed.complete(trial, facts)
    found = facts.sent.driver_delay
    assert found is not None and found.asked_frames > 0, found
    assert found.delay is None or found.delay.min_ns >= 0, found
    bed.shown = f"{0 if found.delay is None else found.delay.count} of {found.asked_frames} asked"
    offer = {port.name: port for port in list_ports()}[bed.port(0)].stamps
    assert (found.delay is not None and found.delay.count > 0) == offer.tx_software, (found, offer)


@case(each_engine=False, lacking=lambda driver: "" if driver.clock else "the card has no clock")
def hardware_clock(bed: Bed) -> None:
    """The PTP clock is read between two readings of the host's clock and runs forward, and its true rate against the
    host's is found."""
    index = {port.name: port for port in list_ports()}[bed.port(1)].stamps.phc_index
    assert index is not None
    times, own = [], []
    for _ in range(5):
        for reading in phc.readings(index):
            assert reading.before_ns <= reading.after_ns
            times.append((reading.before_ns + reading.after_ns) / 2)
            own.append(reading.other_ns)
    assert all(later > earlier for earlier, later in pairwise(own)), "the clock stands or runs back"
    slope = float(np.polyfit(np.array(times) - times[0], np.array(own) - own[0], 1)[0])
    bed.shown = f"ptp{index} runs at {slope:.3f} of the host's rate"
    assert bed.driver.clock is not None
    # The emulated processor's time and the emulated card's differ by less than this on any host.
    assert 0.8 < slope / bed.driver.clock < 1.25, bed.shown


@case()
def capture(bed: Bed) -> None:
    """A capture has every frame of both ports once."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "frames.pcapng")
        with bed.opened(bed.sender, bed.engine, capture=path) as engine:
            trial = bed.trial()
            bed.complete(trial, bed.carry(engine, trial))
        from scapy.utils import PcapNgReader

        with PcapNgReader(str(path)) as reader:
            lengths = [len(bytes(packet)) for packet in reader]
    assert lengths.count(124) == 200, f"{len(lengths)} frames, {lengths.count(124)} of the trial"

"""Who lost the frames: what `--why-lost` says of the tester's own card, of the cable and of a device between."""

from __future__ import annotations

import subprocess

from drivers.bed import Bed, ip, refusal
from drivers.case import case
from drivers.driver import Driver
from keisoku.errors import EngineError
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.report.lost_places import LostFrames, by, lost_frames, sentence_of

_OTHER = "e1000e"
"""The driver of the second card of a device between."""
_DEVICE = "between"
_ATTEMPTS = 6


def _refuses_no_frame(driver: Driver) -> str:
    if not driver.native_xdp:
        return "the driver sends no XDP frames"
    return "QEMU's card takes all frames" if driver.name == "vmxnet3" else ""


@case(each_engine=False, lacking=_refuses_no_frame)
def lost_at_a_full_ring(bed: Bed) -> None:
    """`--why-lost`: each frame for which the tester's own card had no room is told at the tester's port, and none as
    lost by the device."""
    bed.ethtool("-G", bed.port(0), "tx", "128")
    bed.until_carrier()
    with bed.opened("xdp", "packet", why_lost=True) as engine:
        trial = bed.trial(frames=4000, rate=1e6)
        # Where interrupts of the card come to another CPU than the sender's, it may take all frames of a trial.
        for _ in range(_ATTEMPTS):
            facts = bed.carry(engine, trial)
            if facts.tracked.lost_frames:
                break
    found = _told(bed, trial, facts)
    refused = sum(one.sent.refused_frames or 0 for one in facts.transmitters)
    assert len(found.places) == 1, (refused, bed.shown, bed.against(trial, facts))
    (place,) = found.places
    assert place.frames == found.lost_frames == refused > 0 and place.place.of_tester, bed.shown
    assert by(place.place).endswith(f"at the tester's port {bed.port(0)}"), bed.shown


@case(each_engine=False)
def lost_without_a_carrier(bed: Bed) -> None:
    """`--why-lost`: frames that were sent into a cable that was pulled out were not seen dropped, and the tester's port
    that lost its carrier is named beside."""
    with bed.opened("packet", "packet", why_lost=True) as engine:
        trial = bed.trial(frames=20_000)
        facts = bed.carry(engine, trial, lambda: bed.cut(1))
    found = _told(bed, trial, facts)
    assert found.lost_frames == found.not_seen > 0, bed.shown
    assert bed.shown.endswith(f"; {bed.port(1)} lost the carrier meanwhile."), bed.shown


@case(each_engine=False)
def lost_with_the_module(bed: Bed) -> None:
    """`--why-lost`: a run in which the tester's own driver is unloaded ends in a sentence that names the port, and no
    frame counts as lost by the device."""

    def run() -> None:
        with bed.opened("packet", "packet", why_lost=True) as engine:
            unload = ["modprobe", "-r", bed.driver.name]
            bed.carry(engine, bed.trial(frames=20_000), lambda: subprocess.run(unload, check=True))

    bed.shown = refusal(run, EngineError)
    assert any(bed.shown.startswith(f"{bed.port(end)}: the interface is gone") for end in range(2)), bed.shown


@case(each_engine=False, lacking=lambda driver: "" if driver.name == "igb" else "one device of two drivers says it")
def lost_by_a_device_between(bed: Bed) -> None:
    """`--why-lost`: a bridge of two real cards of this host loses every third frame by a rule, each of which has its
    place, until its card is unplugged, behind which all are not seen dropped."""
    other = Bed(_OTHER, None, bed.ask)
    other.restore()
    ip("netns", "add", _DEVICE)
    inner = (bed.port(1), other.port(0))
    try:
        for port in inner:
            ip("link", "set", port, "netns", _DEVICE)
        ip("-n", _DEVICE, "link", "add", "br0", "type", "bridge")
        for port in inner:
            ip("-n", _DEVICE, "link", "set", port, "master", "br0", "up")
        ip("-n", _DEVICE, "link", "set", "br0", "up")
        rule = "type filter hook forward priority 0; udp dport 7 numgen inc mod 3 == 0 counter drop;"
        _nft(f"table bridge t {{ chain c {{ {rule} }}; }}")
        other.until_carrier_of(1)
        with bed.opened("packet", "packet", why_lost=True, rx=f"packet:{other.port(1)}", stamps="software") as engine:
            first, second = bed.trial(frames=300), bed.trial(frames=2000)
            whole = _told(bed, first, bed.carry(engine, first))
            by_rule = _counted()
            half = _told(bed, second, bed.carry(engine, second, lambda: bed.unplug(1)))
        in_all = _counted()
    finally:
        # With the namespace they would come back only later; one may be unplugged.
        for port in inner:
            subprocess.run(["ip", "-n", _DEVICE, "link", "set", port, "netns", "1"], check=False)
        ip("netns", "del", _DEVICE)
    (place,) = whole.places
    assert place.frames == whole.lost_frames == by_rule > 0, (by_rule, whole)
    assert by(place.place).startswith("by nft rule ") and by(place.place).endswith(f"at {inner[1]} in {_DEVICE}"), place
    (place,) = half.places
    assert place.frames == in_all - by_rule > 0 and half.not_seen > 0, (by_rule, in_all, half)


def _told(bed: Bed, trial: Trial, facts: Facts) -> LostFrames:
    """What is said of the lost frames of a trial; the table shows its sentence."""
    assert facts.drops is not None and not facts.drops.unread and not facts.drops.absent, facts.drops
    record = TrialRecord(
        index=1, method="trial", trial=trial, facts=facts, started_at="", engine_seconds=0.0, invalid_because=[]
    )
    found = lost_frames([record])
    assert found is not None
    assert found.not_seen + sum(one.frames for one in found.places) == found.lost_frames == facts.tracked.lost_frames
    bed.shown = sentence_of(found, in_lab=False)
    return found


def _nft(*words: str) -> str:
    command = ["ip", "netns", "exec", _DEVICE, "nft", *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _counted() -> int:
    return int(_nft("list", "ruleset").partition("counter packets ")[2].split()[0])

"""Links and cards that go away, before, in and after a trial."""

from __future__ import annotations

import subprocess

from drivers.bed import Bed, ip, refusal, until
from drivers.case import case
from keisoku.errors import EngineError, PlanError


@case()
def no_carrier_before(bed: Bed) -> None:
    """A port without a carrier is refused before anything is sent."""
    bed.set_link(1, False)
    bed.shown = refusal(lambda: bed.opened(bed.sender, bed.engine).__enter__(), PlanError)
    assert f"{bed.port(1)} has no carrier; connect the cable" in bed.shown, bed.shown


@case()
def carrier_lost_in_a_trial(bed: Bed) -> None:
    """A carrier that is lost in a trial ends it at once, is named, and is the only reason against it."""
    with bed.opened(bed.sender, bed.engine) as engine:
        trial = bed.trial(frames=20_000)
        facts = bed.carry(engine, trial, lambda: bed.cut(1))
    assert facts.sent.offered_frames < 20_000, "the trial went on"
    told = bed.against(trial, facts)
    assert len(told) == 1, told
    assert told[0].startswith(f"{bed.port(1)} lost its carrier"), told
    bed.shown = told[0]


@case()
def carrier_lost_after_a_trial(bed: Bed) -> None:
    """A carrier that is lost between trials ends the run in one sentence; when it is back, trials go on."""
    with bed.opened(bed.sender, bed.engine) as engine:
        trial = bed.trial(frames=40)
        bed.complete(trial, bed.carry(engine, trial))
        bed.set_link(1, False)
        bed.shown = refusal(lambda: bed.carry(engine, trial), EngineError)
        assert bed.shown.startswith(f"{bed.port(1)}: no carrier for 10 s"), bed.shown
        bed.set_link(1, True)
        bed.complete(trial, bed.carry(engine, trial))


@case()
def unplugged_in_a_trial(bed: Bed) -> None:
    """A card that is unplugged in a trial is named."""
    bed.shown = _gone(bed, lambda: bed.unplug(1))


@case()
def module_unloaded_in_a_trial(bed: Bed) -> None:
    """A driver's module that is unloaded in a trial is named."""
    bed.shown = _gone(bed, lambda: subprocess.run(["modprobe", "-r", bed.driver.name], check=True) and None)


@case()
def renamed(bed: Bed) -> None:
    """An interface that is renamed in a run is named with both names."""
    with bed.opened(bed.sender, bed.engine) as engine:
        trial = bed.trial(frames=40)
        bed.complete(trial, bed.carry(engine, trial))
        ip("link", "set", bed.port(1), "down")
        ip("link", "set", bed.port(1), "name", "lan0")
        ip("link", "set", "lan0", "up")
        bed.shown = refusal(lambda: bed.carry(engine, trial), EngineError)
    assert bed.shown.startswith(f"{bed.port(1)}: the interface was renamed to lan0 in the run"), bed.shown


@case()
def set_down(bed: Bed) -> None:
    """An interface that somebody sets down in a run is named with the remedy."""
    with bed.opened(bed.sender, bed.engine) as engine:
        trial = bed.trial(frames=40)
        bed.complete(trial, bed.carry(engine, trial))
        ip("link", "set", bed.port(1), "down")
        bed.shown = refusal(lambda: bed.carry(engine, trial), EngineError)
    assert bed.shown.startswith(f"{bed.port(1)}: the interface was set down in the run"), bed.shown


@case(each_engine=False)
def wrong_speed_and_duplex(bed: Bed) -> None:
    """A half-duplex link is refused, where the driver lets that be set."""
    name = bed.port(0)
    if not bed.ethtool("-s", name, "autoneg", "off", "speed", "100", "duplex", "half"):
        bed.ethtool("-s", name, "speed", "100", "duplex", "half")
    until(lambda: bed.carrier(0), "the carrier")
    shows = bed.ethtool_shows(name)
    bed.shown = "the driver or its emulated card stays at full duplex"
    try:
        if "Duplex: Half" not in shows:
            return
        told = refusal(lambda: bed.opened("packet", "packet").__enter__(), PlanError)
        assert f"{name} is half duplex" in told, told
        bed.shown = told
    finally:
        bed.ethtool("-s", name, "autoneg", "on")
        if bed.driver.speed_mbps is None:
            # The driver keeps a speed that it is told, until it is loaded again.
            subprocess.run(["modprobe", "-r", bed.driver.name], check=True)
            bed.restore()
        bed.until_carrier()


def _gone(bed: Bed, how: object) -> str:
    assert callable(how)

    def run() -> None:
        with bed.opened(bed.sender, bed.engine) as engine:
            bed.carry(engine, bed.trial(frames=20_000), how)

    told = refusal(run, EngineError)
    assert any(told.startswith(f"{bed.port(end)}: the interface is gone") for end in range(2)), told
    return told

"""Settings of ports: offloads, filters, MTU."""

from __future__ import annotations

from drivers.bed import Bed, ip, refusal
from drivers.case import case
from keisoku.errors import EngineError, PlanError

_TAGGED = "Ether()/Dot1Q(vlan=7)/IP()/UDP()"


@case()
def vlan_tags(bed: Bed) -> None:
    """Tagged frames arrive whole, whether the card takes out and puts in tags or not."""
    changed = []
    for setting in ("on", "off"):
        for offload in ("rxvlan", "txvlan"):
            for end in range(2):
                changed.append(bed.ethtool("-K", bed.port(end), offload, setting))
        bed.until_carrier()
        with bed.opened(bed.sender, bed.engine, headers=_TAGGED) as engine:
            trial = bed.trial()
            bed.complete(trial, bed.carry(engine, trial))
    bed.shown = f"{sum(changed)} of {len(changed)} settings possible"


@case()
def checksum_offloads(bed: Bed) -> None:
    """Checksums are those of the frames that were made, with the card's checksum offloads on and off."""
    for setting in ("on", "off"):
        for end in range(2):
            for offload in ("rx", "tx"):
                bed.ethtool("-K", bed.port(end), offload, setting)
        bed.until_carrier()
        with bed.opened(bed.sender, bed.engine) as engine:
            trial = bed.trial()
            bed.complete(trial, bed.carry(engine, trial))


@case()
def promiscuous(bed: Bed) -> None:
    """Frames for addresses of other hosts arrive, and the port is as it was before afterwards."""
    assert bed.promiscuity(1) == 0
    with bed.opened(bed.sender, bed.engine, modify=("Ether.dst=increment(02:00:00:00:01:00, count=20)",)) as engine:
        trial = bed.trial()
        bed.complete(trial, bed.carry(engine, trial))
    assert bed.promiscuity(1) == 0


@case()
def jumbo(bed: Bed) -> None:
    """Frames of 9018 bytes arrive whole, or the trial says that the tester's own port dropped them; a driver that
    cannot have XDP programs at this MTU, or send such frames by XDP, is refused in one sentence."""
    for end in range(2):
        ip("link", "set", bed.port(end), "mtu", "9000")
    bed.until_carrier()
    try:
        with bed.opened(bed.sender, bed.engine, sizes=(1519, 9018)) as engine:
            trial = bed.trial(frames=60, frame_bytes=5000, sizes=(1519, 4096, 9018))
            facts = bed.carry(engine, trial)
        dropped = [reason for reason in bed.against(trial, facts) if f"{bed.port(1)} itself dropped" in reason]
        if not dropped:
            bed.complete(trial, facts)
        bed.shown = dropped[0] if dropped else "9018 bytes"
    except (EngineError, PlanError) as error:
        bed.shown = str(error)
        assert bed.engine != "packet", bed.shown
        assert "MTU" in bed.shown or "sends frames of at most" in bed.shown, bed.shown


@case()
def mtu_lowered(bed: Bed) -> None:
    """An MTU that is lowered in a run ends it in one sentence, and frames above it are refused before."""
    with bed.opened(bed.sender, bed.engine, sizes=(1518,)) as engine:
        trial = bed.trial(frame_bytes=1518)
        bed.complete(trial, bed.carry(engine, trial))
        ip("link", "set", bed.port(0), "mtu", "1000")
        bed.until_carrier()
        told = refusal(lambda: bed.carry(engine, trial), EngineError)
    assert told.startswith(f"{bed.port(0)}: the MTU was lowered from 1500 to 1000 in the run"), told
    with_1518 = refusal(lambda: bed.opened(bed.sender, bed.engine, sizes=(1518,)).__enter__(), PlanError)
    assert f"are too large for {bed.port(0)}, whose MTU of 1000 allows 1018" in with_1518, with_1518
    bed.shown = told


@case()
def mtu_changed_in_a_trial(bed: Bed) -> None:
    """An MTU that changes while a trial runs is said; its losses are not the device's."""
    with bed.opened(bed.sender, bed.engine) as engine:
        trial = bed.trial(frames=2000)
        try:
            facts = bed.carry(engine, trial, lambda: ip("link", "set", bed.port(0), "mtu", "1400"))
        except EngineError as error:
            bed.shown = str(error)
            return
    told = bed.against(trial, facts)
    assert any(f"the MTU of {bed.port(0)} was changed from 1500 to 1400" in one for one in told), told
    bed.shown = "; ".join(told)

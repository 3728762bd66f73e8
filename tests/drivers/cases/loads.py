"""Frames that are sent and received: every one is counted once."""

from __future__ import annotations

import re

import numpy as np

from drivers.bed import Bed, Rows, refusal
from drivers.case import case
from keisoku.errors import EngineError

_STREAMS = 16
_SPREAD = 512
"""Streams over two queues: the hash is linear in the bits of the ports and its key is random, so that the nine bits in
which they differ choose one queue for all in 1 of 512 boots; four bits did in 1 of 16."""


@case()
def transmit(bed: Bed) -> None:
    """The engine sends and `packet` receives every frame; a driver without native XDP is refused as a sender in one
    sentence."""
    if bed.engine == "xdp" and not bed.driver.native_xdp:
        bed.shown = refusal(lambda: _one_way(bed, bed.engine, "packet"), EngineError)
        expected = f"{bed.port(0)}: the driver has no native XDP, so it sends no XDP frames; use `packet:{bed.port(0)}`"
        assert bed.shown == expected, bed.shown
        return
    _one_way(bed, bed.engine, "packet")


@case()
def receive(bed: Bed) -> None:
    """`packet` sends and the engine receives every frame, and no frame that the engine's own program took is called a
    drop."""
    _one_way(bed, "packet", bed.engine)


@case()
def first_trial(bed: Bed) -> None:
    """The first trial after the ports are opened loses nothing, although attaching a program resets some links."""
    for _ in range(3):
        _one_way(bed, bed.sender, bed.engine, frames=20)


@case()
def bidirectional(bed: Bed) -> None:
    """Both ports send and receive at once."""
    with bed.opened(bed.sender, bed.sender, pattern="bidirectional") as engine:
        trial = bed.trial(both_ways=True)
        bed.complete(trial, bed.carry(engine, trial))


@case()
def all_sizes(bed: Bed) -> None:
    """Frames of every size from 64 to 1518 bytes arrive whole."""
    sizes = tuple(range(64, 1519))
    with bed.opened(bed.sender, bed.engine, sizes=(64, 1518)) as engine:
        trial = bed.trial(frames=len(sizes), frame_bytes=791, sizes=sizes, rate=1000.0)
        bed.complete(trial, bed.carry(engine, trial))


@case()
def many_streams(bed: Bed) -> None:
    """16 streams, which differ by their ports, are told apart."""
    with bed.opened(bed.sender, bed.engine, streams=_STREAMS) as engine:
        trial = bed.streams_trial(_STREAMS * 10)
        facts = bed.carry(engine, trial)
        bed.arrived(trial, facts)
    assert len(facts.streams) == _STREAMS
    for stream in facts.streams:
        assert stream.tracked.forwarded_frames == stream.offered_frames > 0, stream


@case(lacking=lambda driver: driver.one_queue)
def several_queues(bed: Bed) -> None:
    """With two receive queues, over which RSS spreads the streams, all rows are in the order of their stamps and no
    frame is called reordered."""
    for end in range(2):
        bed.ethtool("-L", bed.port(end), "combined", "2")
    # The streams differ by their UDP ports; igb hashes addresses alone unless it is told to.
    assert bed.ethtool("-N", bed.port(1), "rx-flow-hash", "udp4", "sdfn"), "the driver does not hash ports"
    bed.until_carrier()
    before = _queue_packets(bed)
    rows = Rows()
    with bed.opened(bed.sender, bed.engine, streams=_SPREAD) as engine:
        trial = bed.streams_trial(_SPREAD)
        facts = bed.carry(engine, trial, rows=rows)
        bed.arrived(trial, facts)
    used = sum(now > then for now, then in zip(_queue_packets(bed), before, strict=False))
    times = rows.array()["receive_ns"]
    assert len(times) == facts.sent.offered_frames
    assert bool(np.all(np.diff(times) >= 0)), "rows are not in the order of their stamps"
    bed.shown = f"{used} queues used"
    assert used == 2, f"RSS used {used} queues"


@case()
def full_ring(bed: Bed) -> None:
    """A load far above what the card can send is never taken for loss by the device: each frame is accounted, or the
    trial says what was full."""
    bed.ethtool("-G", bed.port(0), "tx", "128")
    bed.until_carrier()
    with bed.opened(bed.sender, bed.engine) as engine:
        trial = bed.trial(frames=4000, rate=1e6)
        facts = bed.carry(engine, trial)
    tracked, sent = facts.tracked, facts.sent
    assert tracked.forwarded_frames + tracked.lost_frames + tracked.corrupt.count == sent.offered_frames
    told = bed.against(trial, facts)
    bed.shown = f"{tracked.lost_frames} of {sent.offered_frames} lost; {'; '.join(told) or 'nothing was full'}"
    assert tracked.lost_frames == 0 or told, f"{bed.shown}: {tracked.lost[:4]}, {facts.counters}, {facts.links}"


def _one_way(bed: Bed, tx: str, rx: str, frames: int = 100) -> None:
    with bed.opened(tx, rx) as engine:
        trial = bed.trial(frames)
        bed.complete(trial, bed.carry(engine, trial))


def _queue_packets(bed: Bed) -> list[int]:
    """Received frames of each queue, where the driver counts them by queue (igb)."""
    counts = re.findall(r"rx_queue_\d+_packets: (\d+)", bed.ethtool_shows("-S", bed.port(1)))
    return [int(count) for count in counts]

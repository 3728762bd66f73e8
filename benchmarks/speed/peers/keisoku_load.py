"""The only file of the comparison that drives keisoku: one load from one end to the other, in the background."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.plan_testbed import open_engine
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import NS_PER_S, Phases, Trial
from peers.pair import End

Driver: TypeAlias = Literal["xdp", "afxdp", "packet", "auto"]
BEYOND_ANY_PORT_FPS = 10e6
"""Asked for where the question is how much there can be."""
_LOOK_S = 0.01


class Load:
    """A load that is over; `facts` are keisoku's own account of it."""

    facts: Facts
    remarks: list[str]
    """What was said of the choice of engines."""

    def __init__(self) -> None:
        self.remarks = []

    @property
    def offered_fps(self) -> float:
        """From the first to the last frame that left."""
        sent = self.facts.sent
        return (sent.offered_frames - 1) * NS_PER_S / max(1, sent.last_sent_ns - sent.first_sent_ns)

    @property
    def lost_frames(self) -> int:
        """Frames missing at the far end, by identity."""
        return self.facts.tracked.lost_frames

    @property
    def tester_dropped_frames(self) -> int:
        """Frames that arrived but found keisoku's own ring full: none may be, or the figure says nothing."""
        return self.facts.tester_dropped_frames


@contextmanager
def keisoku_load(
    near: End,
    far: End,
    frames_per_second: float | None,
    seconds: float,
    receiver: Driver = "xdp",
    sender: Driver = "xdp",
) -> Iterator[Load]:
    """64-byte IPv4/UDP frames, each stamped, signed, checked and tracked; yields once they flow.

    None for the rate: as many as can be. `auto`: what the self-test chooses. Leaving the context ends the load.
    """
    ends = {"tx": f"{sender}:{near.interface}@{near.namespace}", "rx": f"{receiver}:{far.interface}@{far.namespace}"}
    trial = Trial(
        purpose="benchmark",
        frame_bytes=64,
        frames_per_second=frames_per_second or BEYOND_ANY_PORT_FPS,
        duration_ns=round(seconds * NS_PER_S),
        phases=Phases(learning=True, learning_wait_ns=0, drain_ns=NS_PER_S // 10, rest_ns=0),
    )
    plan = Plan(methods=("throughput",), frame_bytes=(64,), headers="ipv4", **ends)
    load = Load()
    with open_engine(plan, load.remarks.append) as engine:
        engine.start(trial, stream=1, seed=1)
        while not (progress := engine.wait(_LOOK_S)).finished and not progress.offered_frames:
            pass
        yield load
        engine.wait(seconds + 5)
        load.facts, _ = engine.finish()

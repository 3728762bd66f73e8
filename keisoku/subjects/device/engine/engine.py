"""The interface between methods and engines, at the level of a trial.

An FPGA cannot be driven frame by frame, so an engine is given a whole trial and returns facts.
Time passes only inside engines. Nothing here knows which engines there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from keisoku.frozen import Frozen
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.gaps import Gap
from keisoku.subjects.device.record.trial import Trial


class StreamProgress(Frozen):
    """State of one flow in a trial whose flows are started and stopped one by one."""

    state: Literal["waiting", "going", "paused", "ended"]
    """The flow has ended when its last frame has left."""
    offered_frames: int
    received_frames: int
    """Every arrival."""
    forwarded_frames: int
    arrived_frames: tuple[int, ...] = ()
    """Of those received, how many at the port that it is meant for and at each of those of `Flow.among`; empty without
    such ports."""


def progress_of(found: Sequence[tuple[str, int, int, int, Sequence[int]]]) -> tuple[StreamProgress, ...]:
    """Converts the core's states of streams: state, frames offered, received and forwarded of each, and where."""
    names = StreamProgress.model_fields
    return tuple(StreamProgress.model_validate(dict(zip(names, one, strict=True))) for one in found)


class Progress(Frozen):
    """State of the running trial."""

    offered_frames: int
    forwarded_frames: int
    finished: bool
    elapsed_s: float
    """Engine time that has passed, the trial's phases included."""
    expected_s: float
    """Engine time that the whole trial takes."""
    streams: tuple[StreamProgress, ...] = ()
    """In the order of the trial's flows; empty where they are not started and stopped one by one, and before the load
    begins."""

    def forwarded_fps(self, before: Progress | None) -> float | None:
        """Frames/s that came out since an earlier state (None: since the trial began); None if no time has passed."""
        took_s = self.elapsed_s - (0.0 if before is None else before.elapsed_s)
        frames = self.forwarded_frames - (0 if before is None else before.forwarded_frames)
        return frames / took_s if took_s > 0 else None


class FrameSink(Protocol):
    """Receives a row for each arrival while a trial runs (`keisoku/subjects/device/record/frames.py`)."""

    def append(self, entries: bytes) -> None:
        """Rows in the core's layout; called from a thread of the engine."""
        ...


class Engine(Protocol):
    """Carries out one trial at a time. The calls may come from different threads."""

    @property
    def capabilities(self) -> Capabilities:
        """What this engine can do on its ports."""
        ...

    def start(self, trial: Trial, stream: int, seed: int, frames: FrameSink | None = None) -> None:
        """Begins a trial and returns at once; the engine carries out the trial's phases as well.

        `stream` (16 bits) is the number of its first stream and distinguishes its frames from those of other trials.
        `frames` is given a row for each arrival. Raises PlanError for what
        the engine cannot do, EngineError if a port fails.
        """
        ...

    def wait(self, seconds: float) -> Progress:
        """Live counters, after at most `seconds` of the host's time; at once when the trial is over."""
        ...

    def switch(self, flows: Sequence[int], state: Literal["going", "paused", "ended"]) -> bool:
        """Starts, pauses or ends flows of the running trial, by index; false if the trial is over.

        Takes up to 0.1 s where frames are prepared in advance. Raises EngineError if the engine cannot switch single
        flows.
        """
        ...

    def load_begun_ns(self) -> int | None:
        """When the first frame of the running load was due, in ns of CLOCK_MONOTONIC; None if it has not begun, or if
        the engine's clock is another one."""
        ...

    def longest_gaps(self) -> Sequence[Gap | None]:
        """Of each flow of the running load the longest gap until now that frames have followed; empty if the engine
        does not tell, or no load runs."""
        ...

    def stop(self) -> None:
        """Ends the load early; the facts then say `interrupted`."""
        ...

    def finish(self) -> tuple[Facts, float]:
        """Waits for the end; returns the facts, and the engine's time for the trial with all phases, in seconds."""
        ...

    def close(self) -> None:
        """Stops what runs and leaves the host as it was found. May be called twice."""
        ...

    def context(self) -> dict[str, object]:
        """Ports and devices, as the record must state them; JSON values only."""
        ...

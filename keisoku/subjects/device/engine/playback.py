"""Sends recorded frames unchanged from a port with their own timing, and counts what the ports saw.

It measures no device: recorded frames have no signature of this trial, so arrivals are counted but not identified.
"""

from __future__ import annotations

import json
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass

import numpy as np

from keisoku._core import Wire
from keisoku.errors import PlanError
from keisoku.subjects.device.capture.replay import Replay
from keisoku.subjects.device.engine.port_capture import PortCapture
from keisoku.subjects.device.engine.port_counters import read_all
from keisoku.subjects.device.engine.wired_port import WiredPort
from keisoku.subjects.device.record.facts import Facts, Receiver, Transmitter
from keisoku.subjects.device.record.interference import PortCounters
from keisoku.subjects.device.record.trial import NS_PER_S, Gaps, Phases, Stream, Trial

_STREAM = 1
_FCS_BYTES = 4
_LOOK_S = 0.05
PATIENCE_NS = NS_PER_S
"""A delayed sender gives up so long after the last frame was due: late frames are reported, not left out."""
DRAIN_NS = NS_PER_S // 2
"""How long the receiving port waits for what is still on its way."""


@dataclass(frozen=True)
class Played:
    """The outcome of a replay. Times are ns since the first frame was due."""

    intended_frames: int
    due_ns: int
    """When the last frame was due."""
    transmitter: Transmitter
    receiver: Receiver
    """Its `foreign_frames` are all frames that arrived, from any sender."""
    counters: dict[int, PortCounters]
    """What the kernel counted during the replay: 0 is the sending port, 1 the receiving one if it is another."""
    interrupted: bool

    @property
    def complete(self) -> bool:
        """True if every frame was sent, and the driver is not known to have refused any."""
        return self.transmitter.sent.left_frames == self.intended_frames

    @property
    def frames_per_second(self) -> float | None:
        """Achieved rate, from the first frame to the last; None for a single frame."""
        sent = self.transmitter.sent
        span_ns = sent.last_sent_ns - sent.first_sent_ns
        return (sent.offered_frames - 1) * NS_PER_S / span_ns if span_ns > 0 else None


def play(
    recording: Replay,
    transmit: WiredPort,
    receive: WiredPort | None = None,
    *,
    times: int = 1,
    between_ns: int | None = None,
    capture: PortCapture | None = None,
) -> Played:
    """Send the recording `times` times; without `receive` the sending port counts what comes back to it.

    Ctrl-C ends it: what was sent until then is counted, and the outcome is `interrupted`.

    `between_ns` is from the last frame of one time to the first of the next; None: the mean gap of the recording.
    Raises PlanError for an invalid number of times, EngineError if a port cannot be opened or fails.
    """
    if times < 1:
        raise PlanError("times", f"{times} is no number of repetitions", "give 1 or more")
    ports = [transmit] if receive is None else [transmit, receive]
    receiving = len(ports) - 1
    trial, stream = _load(recording, times, between_ns, receiving)
    table = (recording.frames, recording.lengths.tobytes(), 0, False, 0)
    places = json.dumps([port.place(capture.kept_bytes if capture else 0) for port in ports])
    with ExitStack() as stack:
        counters = [stack.enter_context(closing(port.open_counters())) for port in ports]
        wire = stack.enter_context(closing(Wire(places, [0], [receiving])))
        if capture is not None:
            stack.callback(capture.close)
            stack.callback(wire.stop)
            seen = enumerate(ports)
            capture.begin(wire, [port.captured(number == 0, number == receiving) for number, port in seen])
        before = read_all(counters, dict(wire.taken_frames()))
        # Recorded frames have the addresses of other hosts.
        wire.start(trial.load([stream], _STREAM, promiscuous=[receiving]), [table])
        try:
            while not wire.progress()[2]:  # finish() would delay Ctrl-C
                time.sleep(_LOOK_S)
        except KeyboardInterrupt:
            wire.stop()
        facts = Facts.model_validate_json(wire.finish())
        after = read_all(counters, dict(wire.taken_frames()))
    changes = {number: after[number].since(before[number]) for number in range(len(ports))}
    (transmitter,), (receiver,) = facts.transmitters, facts.receivers
    return Played(stream.frames, trial.duration_ns - PATIENCE_NS, transmitter, receiver, changes, facts.interrupted)


def _load(recording: Replay, times: int, between_ns: int | None, receiving: int) -> tuple[Trial, Stream]:
    count = len(recording.lengths)
    if between_ns is None:
        between_ns = round(recording.duration_ns / (count - 1)) if count > 1 else 0
    # The core's gap follows its frame; a recording's gap precedes it.
    gaps = np.append(recording.gaps_ns[1:], np.uint64(between_ns))
    frames = times * count
    due_ns = times * recording.duration_ns + (times - 1) * between_ns
    sizes = (recording.lengths.astype(np.int64) + _FCS_BYTES).tolist()
    rate = frames * NS_PER_S / max(due_ns, frames)
    trial = Trial(
        purpose="replay",
        frame_bytes=round(sum(sizes) / count),
        frames_per_second=rate,
        duration_ns=due_ns + PATIENCE_NS,
        phases=Phases(learning=False, learning_wait_ns=0, drain_ns=DRAIN_NS, rest_ns=0),
    )
    pacing = Gaps(gaps_ns=tuple(gaps.tolist()))
    stream = Stream(
        transmit=0, receive=receiving, frame_bytes=tuple(sizes), frames_per_second=rate, pacing=pacing, frames=frames
    )
    return trial, stream

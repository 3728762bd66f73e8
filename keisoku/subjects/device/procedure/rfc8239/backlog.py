"""How many frames wait at an output of the DUT, from the latencies of the frames that left it.

It uses trial records only, and never decides whether a trial may be used.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass

from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.rfc8239 import FullRate, flows_trial, reliably
from keisoku.subjects.device.record.facts import StreamFacts
from keisoku.subjects.device.record.trial import NS_PER_S, Constant, Flow, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import why_invalid

NOT_EMPTY = phrase("the output was not empty when the load began: wait longer between trials")
_ALONE_FRAMES = 16
_ALONE_SHARE = 0.01
_GRAIN = 0.05
"""Share of a frame's service time that rounding of timestamps may add to a wait of a whole number of frames."""


@dataclass(frozen=True)
class Unqueued:
    """Latencies of flows that meet no queue, by transmitting and receiving port, in ns."""

    least_ns: dict[tuple[int, int], float]
    scatter_ns: float
    """Scatter of latencies without a queue, which limits how well a wait is known."""


@dataclass(frozen=True)
class Backlog:
    """What an output held at most during a trial."""

    service_ns: float
    """From one frame's departure to the next while others wait."""
    wait_ns: float
    """Longest latency less the least."""
    counted_frames: float
    """Forwarded frames less those that had left when the last one was sent: the queue by counts alone."""
    lost_frames: int
    max_latency_ns: float
    head_start_ns: float
    """Shortest wait of any frame; that of the first frame, if it finds the output empty."""

    @property
    def frames(self) -> int:
        """The largest number of frames that it held, including the one being sent."""
        return self.frames_of(self.wait_ns)

    @property
    def began_empty(self) -> bool:
        """False if frames of an earlier trial, or of others, were in the buffer when the load began."""
        return self.head_start_ns < self.service_ns

    def frames_of(self, wait_ns: float) -> int:
        """Number of frames held if the newest one waits so long.

        That frame waits for k - 2 others and for what is left of the one being sent, hence between k - 2 and k - 1
        service times: the number is the next one up.
        """
        return 1 + max(0, math.ceil(wait_ns / self.service_ns - _GRAIN))


def unqueued(
    inputs: MethodInput, frame_bytes: int, full: FullRate, flows: Sequence[Flow]
) -> Generator[Trial, TrialRecord, Unqueued | str]:
    """Each flow's latency while nothing else is sent, one flow after the other; or why there is none."""
    each_s = _ALONE_FRAMES / (_ALONE_SHARE * full.fps)
    each_ns = math.ceil(each_s * NS_PER_S)
    alone = [
        flow.model_copy(
            update={
                "share": _ALONE_SHARE,
                "start_ns": place * each_ns,
                "duration_ns": each_ns,
                "pacing": Constant(),
            }
        )
        for place, flow in enumerate(flows)
    ]
    purpose = phrase("each flow alone, {frame_bytes} byte", frame_bytes=frame_bytes)
    record = yield from reliably(flows_trial(inputs, purpose, frame_bytes, full, len(flows) * each_s, alone))
    known = {
        (stream.transmit, stream.receive): stream.tracked.latency
        for stream in record.facts.streams
        if stream.tracked.latency is not None
    }
    if not record.valid:
        return join_texts("; ", why_invalid(record))
    if len(known) < len({(flow.transmit, flow.receive) for flow in flows}):
        return phrase("a flow that is sent alone does not arrive")
    scatter = max(latency.max_ns - latency.min_ns for latency in known.values())
    return Unqueued({way: latency.min_ns for way, latency in known.items()}, scatter)


def backlog(record: TrialRecord, output: int, alone: Unqueued) -> Backlog | None:
    """What the output held, assuming that it was busy from the first frame to the last; None if too few frames left
    it."""
    streams = [stream for stream in record.facts.streams if stream.receive == output]
    forwarded = sum(stream.tracked.forwarded_frames for stream in streams)
    receiver = next(receiver for receiver in record.facts.receivers if receiver.port == output)
    sending = {stream.transmit for stream in streams}
    senders = [transmitter.sent for transmitter in record.facts.transmitters if transmitter.port in sending]
    first_ns, last_ns = min(sent.first_sent_ns for sent in senders), max(sent.last_sent_ns for sent in senders)
    if forwarded < 2 or receiver.last_received_ns is None:
        return None
    opened_ns = first_ns + min(_least_ns(stream, alone) for stream in streams)
    service_ns = (receiver.last_received_ns - opened_ns) / (forwarded - 1)
    latencies = [(stream, stream.tracked.latency) for stream in streams if stream.tracked.latency is not None]
    wait_ns = max(latency.max_ns - _least_ns(stream, alone) for stream, latency in latencies)
    if service_ns <= 0:
        return None
    return Backlog(
        service_ns=service_ns,
        wait_ns=wait_ns,
        counted_frames=forwarded - (last_ns - first_ns) / service_ns,
        lost_frames=sum(stream.tracked.lost_frames for stream in streams),
        max_latency_ns=max(latency.max_ns for _, latency in latencies),
        head_start_ns=min(
            latency.min_ns - alone.least_ns[stream.transmit, stream.receive] for stream, latency in latencies
        ),
    )


def frames_held(held: Sequence[Backlog], alone: Unqueued) -> Quantity:
    """How many frames an output can hold, from repetitions in which it was full.

    The buffer may be larger by almost one frame than the most that it held. Latencies that scatter without a queue make
    each count wrong by their scatter; one that comes out too small in one repetition is right in another.
    """
    counts = [one.frames for one in held]
    mean = sum(counts) / len(counts)
    scatter = alone.scatter_ns / min(one.service_ns for one in held)
    return Quantity(
        value=mean,
        unit="frames",
        interval=Interval(lower=max(0.0, min(mean, max(counts) - 2 * scatter)), upper=max(counts) + 1 + scatter / 2),
    )


def _least_ns(stream: StreamFacts, alone: Unqueued) -> float:
    own = stream.tracked.latency
    least = alone.least_ns[stream.transmit, stream.receive]
    return least if own is None else min(least, own.min_ns)

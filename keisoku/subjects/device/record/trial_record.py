"""`TrialRecord`: a trial, its outcome and their context.

Its few properties are definitions of the RFCs; everything else belongs to `analysis`.
"""

from __future__ import annotations

from functools import cached_property

from keisoku.frozen import Frozen
from keisoku.subjects.device.record.counts import Sent
from keisoku.subjects.device.record.facts import Facts, Transmitter
from keisoku.subjects.device.record.trial import NS_PER_S, Trial

INTERRUPTED_SHARE = 0.2
"""The largest share of a load's time in which the host may stop a sender. Between two stops it sends at the intended
rate, and all frames are sent: the load then lasts longer."""


class TrialRecord(Frozen):
    """A finished trial as it is stored: intention, facts, and whether they may be used."""

    index: int
    method: str
    trial: Trial
    facts: Facts
    started_at: str
    """UTC, ISO 8601."""
    engine_seconds: float
    """Time that passed inside the engine, waits included; virtual for simulated devices."""
    invalid_because: list[str]
    """Why this trial is invalid for the DUT; empty if it is valid."""

    @property
    def valid(self) -> bool:
        """False if the tester failed to offer or to count the frames of the trial."""
        return not self.invalid_because

    @property
    def senders(self) -> list[Transmitter]:
        """The ports that had frames to send: an engine may also report ports without any."""
        return [one for one in self.facts.transmitters if self.trial.frames_of(one.port)]

    @cached_property
    def offered_fps(self) -> float:
        """Offered load of a port in frames/s (RFC 2285 §3.5.2), from first to last timestamp without the time in which
        the host stopped the sender, or the mean where bursts end before the trial does; the mean of several ports.

        A sender that was stopped too long for a valid trial offered what it sent in all of the time: what it sent
        between two stops is no load."""
        rates = [_offered_fps(sender.sent, self.trial) for sender in self.senders]
        return sum(rates) / len(rates)

    @property
    def load_fps(self) -> float:
        """Offered load in frames/s that the scatter of two timestamps does not raise above the intended one."""
        return min(self.offered_fps, self.trial.frames_per_second)

    @property
    def intended_frames(self) -> int:
        """Frames that all ports together were to send."""
        return sum(self.trial.frames_of(transmitter.port) for transmitter in self.facts.transmitters)

    @property
    def offered_share(self) -> float:
        """Offered frames as a share of those intended; for a load that was stopped because of loss, of those until
        then."""
        sent = self.facts.sent
        elapsed = min(1.0, sent.going_ns / self.trial.duration_ns) if self.facts.stopped_for_loss else 1.0
        return sent.offered_frames / max(1.0, self.intended_frames * elapsed)

    @property
    def loss_ratio(self) -> float:
        """RFC 2544 §26.3: (offered - forwarded) / offered; corrupt frames count as not forwarded.

        A frame that goes to several ports counts at each of them. For a load that was stopped because of loss it is the
        ratio until then, not that of the whole trial.
        """
        expected = self.facts.expected_frames
        return (expected - self.facts.tracked.forwarded_frames) / expected if expected else 0.0


def _offered_fps(sent: Sent, trial: Trial) -> float:
    if not sent.offered_frames:
        return 0.0
    span_ns = sent.sending_ns
    if sent.interrupted_share > INTERRUPTED_SHARE or sent_briefly(trial, sent):
        whole_ns = max(sent.last_sent_ns, trial.duration_ns)
        return min(trial.frames_per_second, sent.left_frames * NS_PER_S / whole_ns)
    if sent.offered_frames < 2 or span_ns <= 0:
        return trial.frames_per_second
    if sent.refused_frames:
        return sent.left_frames * NS_PER_S / span_ns
    gap_ns = span_ns / (sent.offered_frames - 1)
    # After a burst there is a pause, so the last frame leaves long before the end: RFC 2544 §21 speaks of the mean.
    if trial.duration_ns - sent.going_ns > 2 * gap_ns and sent.offered_frames >= trial.frames:
        return sent.offered_frames * NS_PER_S / trial.duration_ns
    return NS_PER_S / gap_ns


def sent_briefly(trial: Trial, sent: Sent) -> bool:
    """Whether a sender that should send all that it can sent in less than half of the time, which shows little of what
    it can offer: a host that starves it may keep it from sending until the trial is over."""
    if not trial.flat_out or sent.offered_frames >= trial.frames:
        return False
    return 2 * sent.sending_ns < trial.duration_ns

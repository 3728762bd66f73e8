"""Facts of a trial with one stream from port 0 to port 1, put together from its parts."""

from __future__ import annotations

from keisoku.subjects.device.record.counts import Sent, Tracked
from keisoku.subjects.device.record.facts import Facts, Receiver, StreamFacts, Transmitter


def facts_of(
    sent: Sent,
    tracked: Tracked,
    *,
    dropped: int = 0,
    interrupted: bool = False,
    stamps: tuple[str, str] = ("", ""),
) -> Facts:
    stream = StreamFacts(stream=1, transmit=0, receive=1, offered_frames=sent.offered_frames, tracked=tracked)
    receiver = Receiver(
        port=1,
        foreign_frames=0,
        misdirected_frames=0,
        tester_dropped_frames=dropped,
        last_received_ns=None,
        stamp=stamps[1],
    )
    return Facts(
        streams=[stream],
        transmitters=[Transmitter(port=0, sent=sent, stamp=stamps[0])],
        receivers=[receiver],
        interference=None,
        interrupted=interrupted,
    )

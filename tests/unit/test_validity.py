"""A trial that the tester spoiled never counts as loss of the DUT (invariant 2)."""

from typing import Any

import pytest
from support.one_stream import facts_of

from keisoku.device.record.counts import Buckets, Ranges, Sent, Tracked
from keisoku.device.record.trial import Facts, Trial
from keisoku.device.record.validity import reasons

TRIAL = Trial(purpose="test", frame_bytes=64, frames_per_second=10_000, duration_ns=10_000_000_000)
NONE = Ranges(count=0, ranges=[], complete=True)


def facts(
    offered: int = 100_000, forwarded: int = 100_000, lost: int = 0, last_ns: int = 0, stopped_ns: int = 0, **more: Any
) -> Facts:
    sent = Sent(
        offered_frames=offered, first_sent_ns=0, last_sent_ns=last_ns or 9_999_900_000, lag_max_ns=0,
        postponed_ns=stopped_ns, interrupted_ns=stopped_ns, interruptions=stopped_ns // 5_000_000, gaps=Buckets(),
    )  # fmt: skip
    tracked = Tracked(
        received_frames=forwarded, forwarded_frames=forwarded, lost_frames=lost, corrupt=NONE, corrupt_arrivals=0,
        duplicated=NONE, reordered=NONE, foreign_frames=0, lost=[], lost_kept_as="list", latency=None,
        tagged_latency_ns=None, series=[],
    )  # fmt: skip
    return facts_of(sent, tracked, **more)


@pytest.mark.parametrize(
    "good",
    [
        facts(),
        facts(forwarded=90_000, lost=10_000),
        facts(offered=99_600, forwarded=99_600),
        facts(last_ns=10_040_000_000),
        facts(last_ns=10_525_000_000, stopped_ns=525_000_000),
    ],
)
def test_a_trial_in_which_the_tester_did_its_part_is_valid(good: Facts) -> None:
    assert reasons(TRIAL, good) == []


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (facts(offered=99_400, forwarded=99_400), "the tester offered 99400 of 100000 frames"),
        (facts(last_ns=10_060_000_000), "the tester needed 0.6 % longer than intended"),
        (
            facts(last_ns=13_000_000_000, stopped_ns=3_000_000_000),
            "the host stopped the sender 600 times, for 23 % of its time",
        ),
        (facts(dropped=3), "the tester itself dropped 3 received frames"),
        (facts(interrupted=True), "the trial was interrupted"),
        (facts(forwarded=99_000, lost=10), "counts do not add up: 100000 offered, 99010 accounted for"),
    ],
)
def test_a_trial_that_the_tester_spoiled_says_why(bad: Facts, reason: str) -> None:
    assert reasons(TRIAL, bad) == [reason]

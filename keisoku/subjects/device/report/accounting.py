"""The account of every trial: frames intended, their outcome, and whether the counts are consistent.

It adds and compares counts; an inconsistent trial is shown, never corrected.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from keisoku.language import join_texts, phrase
from keisoku.subjects.device.record.trial_record import TrialRecord


@dataclass(frozen=True)
class Account:
    """One trial's balance."""

    record: TrialRecord
    sent_balance: int
    """offered − (forwarded + lost + corrupt): zero if every frame is accounted for at each port that it goes to."""
    received_balance: int
    """received − (forwarded + duplicated + corrupt arrivals + foreign)."""
    gap_balance: int
    """lost − the sum over the listed gaps."""

    @property
    def adds_up(self) -> bool:
        """True if all three balances are zero."""
        return self.sent_balance == self.received_balance == self.gap_balance == 0

    @property
    def fault(self) -> str:
        """The balances that are not zero, in words; empty if all are."""
        faults = (
            (self.sent_balance, phrase("offered − forwarded − lost − corrupt")),
            (self.received_balance, phrase("received − forwarded − duplicated − corrupt arrivals − foreign")),
            (self.gap_balance, phrase("lost − listed gaps")),
        )
        return join_texts("; ", [join_texts("", [name, f" = {balance}"]) for balance, name in faults if balance])


def account(record: TrialRecord) -> Account:
    """The balance of one trial (`core/src/account/tracking.rs` guarantees that it is zero)."""
    tracked = record.facts.tracked
    sent = record.facts.expected_frames
    explained = tracked.forwarded_frames + tracked.duplicated.count + tracked.corrupt_arrivals
    return Account(
        record=record,
        sent_balance=sent - (tracked.forwarded_frames + tracked.lost_frames + tracked.corrupt.count),
        received_balance=tracked.received_frames - (explained + tracked.foreign_frames),
        gap_balance=tracked.lost_frames - int(tracked.lost.counts.sum()),
    )


def accounts(records: Iterable[TrialRecord]) -> list[Account]:
    """The balance of every trial, in the order they were run."""
    return [account(record) for record in sorted(records, key=lambda record: record.index)]

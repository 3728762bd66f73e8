"""Which flows move when a member is lost and when it returns: with resilient hashing only those of that member."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from math import ceil, isfinite

from keisoku.ground.run.result import Row
from keisoku.ground.statistics.quantity import Interval, Quantity, count
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.device.analysis.outage import Between, Impact, Reach, reaches
from keisoku.subjects.device.procedure.balance.tester import Tester
from keisoku.subjects.device.record.event import Event
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import why_invalid

EVENT = phrase("Event")
"""Header of the column of cases."""


def moving_rows(tester: Tester, modify: Sequence[str], flows: int) -> Generator[Trial, TrialRecord, list[Row]]:
    """A row for each event and its undoing: 'flows', 'moved', 'moved_needlessly' (though their member stayed, or to
    another one than that which returned), and 'interruption' (ns, the longest of a flow)."""
    settings = tester.settings
    events = settings.happening(tester.inputs.capabilities)
    # Whole frames of each flow: with many flows, what is rounded would be more than the tester may leave out.
    frames = ceil(settings.length_s(events) * tester.load_fps / flows)
    trial = tester.trial([tester.flow(modify, flows)], frames * flows / tester.load_fps)
    record = yield from tester.carried(trial.model_copy(update={"events": events, "links_may_fail": True}))
    if not record.valid:
        remark = join_texts("; ", why_invalid(record))
        return [Row(frame_bytes=tester.size, case=events[0].called, group=EVENT, figures={}, remark=remark)]
    found = [reach for reach in reaches(record) if reach.event is not None]
    lost = [_lost_member(reach.impacts) for reach in found if not _event(record, reach).undo]
    # What one command undoes of several events is not known.
    returned = lost[0] if len(lost) == 1 else None
    members = iter(lost)
    return [
        _row(tester.size, record, reach, returned if _event(record, reach).undo else next(members)) for reach in found
    ]


def _event(record: TrialRecord, reach: Reach) -> Event:
    assert reach.event is not None
    return record.trial.events[reach.event]


def _lost_member(impacts: Sequence[Impact]) -> int | None:
    """The port by which flows left before and none after; None if that is not one."""
    gone = {impact.port_before for impact in impacts} - {impact.port_after for impact in impacts}
    return gone.pop() if len(gone) == 1 else None


def _row(size: int, record: TrialRecord, reach: Reach, member: int | None) -> Row:
    event, impacts = _event(record, reach), reach.impacts
    moved = [impact for impact in impacts if impact.port_before != impact.port_after]
    figures = {"flows": count(len(impacts)), "moved": count(len(moved))}
    said = phrase("no member is known to have been lost")
    if member is not None:
        stayed = [impact for impact in moved if (impact.port_after if event.undo else impact.port_before) != member]
        figures["moved_needlessly"] = count(len(stayed))
        said = _said(len(stayed), event.undo) if moved else phrase("no flow moved")
    if reach.affected:
        longest = max((impact.interruption for impact in reach.affected), key=lambda time: time.likely)
        figures["interruption"] = _time(longest)
    case = event.called + (" undone" if event.undo else "")
    return Row(frame_bytes=size, case=case, group=EVENT, figures=figures, trial=record.index, remark=said)


def _said(moved: int, undo: bool) -> str:
    if not moved:
        return (
            phrase("only flows of the member that returned moved")
            if undo
            else phrase("only flows of the lost member moved")
        )
    if undo:
        return plural(
            "{count} flow moved to another member than that which returned",
            "{count} flows moved to another member than that which returned",
            count=moved,
        )
    return plural(
        "{count} flow moved though its member stayed", "{count} flows moved though their member stayed", count=moved
    )


def _time(time: Between) -> Quantity:
    if not isfinite(time.highest):
        return Quantity(value=time.lowest, unit="ns", bound="at least")
    ends = Interval(lower=time.lowest, upper=time.highest, confidence=1.0)
    return Quantity(value=time.likely, unit="ns", interval=ends, covers="resolution")

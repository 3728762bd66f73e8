"""What a running measurement says, as short lines: for files, pipes, and `--plain`.

It observes all progress: of trials, of shares (`came_to`) and of sentences (`tell`, `warn`). It
writes to standard error only; results go to standard output.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Self

from keisoku.faces.cli.folding import fold
from keisoku.faces.cli.interruption import check
from keisoku.ground.observer import Observer
from keisoku.language import join_texts, phrase, plural
from keisoku.units import time_text

if TYPE_CHECKING:
    from keisoku.ground.run.directory import RunDirectory
    from keisoku.running.campaign.log import Standing
    from keisoku.subjects.device.engine.engine import Progress
    from keisoku.subjects.device.forecast.forecast import Forecast
    from keisoku.subjects.device.record.trial import Trial
    from keisoku.subjects.device.record.trial_record import TrialRecord

WIDTH = 100
"""Characters of the longest line."""
_BEYOND_ANY_PORT_FPS = 100e6
"""Where a search begins on a link that has no rate."""
_SELDOM_S = 10.0
"""A share is not printed more often, so that a log of four minutes has some twenty lines."""


@dataclass
class Row:
    """One size of one procedure, as far as it was measured."""

    method: str
    frame_bytes: int
    state: str = phrase("waits")
    last: str = ""
    """What the last valid trial found."""
    valid: int = 0
    repeated: int = 0
    """Trials that were not valid, which a method repeats."""

    @property
    def name(self) -> str:
        """As in a line."""
        return join_texts(" ", [self.method, f"{self.frame_bytes} byte"])

    @property
    def trials(self) -> str:
        """Its counts."""
        return _counted(self.valid, self.repeated) if self.repeated else phrase("{count} valid", count=self.valid)


class Rows:
    """The rows in the order of the plan, and which of them is measured now."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, int], Row] = {}
        self.now: Row | None = None

    def planned(self, methods: Sequence[str], sizes: Sequence[int]) -> None:
        """These will be measured, as far as it is known beforehand."""
        for method in methods:
            for size in sizes:
                self._row(method, size)

    def started(self, method: str, trial: Trial) -> Row | None:
        """A trial of a row begins; returns the row that is over by that, if one is."""
        row = self._row(method, trial.frame_bytes)
        before, self.now = self.now, row
        most = trial.frames_per_second >= _BEYOND_ANY_PORT_FPS
        row.state = (
            phrase("trying all that the tester can send")
            if most
            else phrase("trying {rate}", rate=rate(trial.frames_per_second))
        )
        if row.last:
            row.state = phrase("{now} after {last}", now=row.state, last=row.last)
        if before is None or before is row:
            return None
        before.state = phrase("done")
        return before

    def finished(self, record: TrialRecord) -> None:
        """A trial is over."""
        row = self._row(record.method, record.trial.frame_bytes)
        if not record.valid:
            row.repeated += 1
            row.state = phrase("repeats: {why}", why=join_texts("; ", record.invalid_because))
            return
        row.valid += 1
        if record.trial.on_cable:  # it shows the tester, and not the device
            return
        lost = record.facts.tracked.lost_frames
        # What was offered is less than what was asked for, where the tester can send no more.
        at = rate(record.load_fps if record.senders else record.trial.frames_per_second)
        row.last = phrase("loss at {rate}", rate=at) if lost else phrase("no loss at {rate}", rate=at)
        row.state = row.last

    def _row(self, method: str, frame_bytes: int) -> Row:
        return self.found.setdefault((method, frame_bytes), Row(method, frame_bytes))

    def ended(self) -> None:
        """Nothing is measured any more."""
        if self.now is not None:
            self.now.state = phrase("done") if self.now.last else phrase("ended")
            self.now = None

    @property
    def trials(self) -> str:
        """Counts of all rows."""
        valid, repeated = (sum(getattr(row, name) for row in self.found.values()) for name in ("valid", "repeated"))
        return _counted(valid, repeated)


class Lines(Observer):
    """Prints lines of at most 100 characters: sentences, a row when it begins and ends, and with -v every trial.

    Use as a context manager.
    """

    def __init__(self, verbose: bool = False) -> None:
        self.rows, self.verbose = Rows(), verbose
        self.standings: Sequence[Standing] = ()
        """Of a campaign's cells."""
        self._expected: tuple[Forecast, float] | None = None
        self._since_s = monotonic()
        self._share: tuple[float, float, str] | None = None
        self._said_s: float | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._end_row()

    def _end_row(self) -> None:
        row = self.rows.now
        if row is not None:
            self.rows.ended()
            self._print(_over(row))

    def tell(self, line: str) -> None:
        """A sentence of the measurement: its plan, and then what is done now."""
        self._print(line)

    def warn(self, line: str) -> None:
        """A sentence that the user must not miss."""
        self._print(line)

    def begun(self, directory: RunDirectory) -> None:
        """The plan is told, and measuring begins."""
        if self.note:
            self._print(self.note)

    def planned(self, methods: Sequence[str], sizes: Sequence[int]) -> None:
        """Rows that will be measured, in place of those of the run before."""
        self._end_row()
        self.rows = Rows()
        self.rows.planned(methods, sizes)

    def expects(self, remaining: Forecast | None) -> None:
        """From now on this is left to measure."""
        self._expected = None if remaining is None else (remaining, monotonic())

    def stands(self, standings: Sequence[Standing]) -> None:
        """A line for each cell of a campaign of which a run begins, or ends badly."""
        self._end_row()
        before, self.standings = self.standings, standings
        for old, new in zip(before, standings, strict=bool(before)):
            if new.now and not old.now:
                self._print(join_texts(": ", [new.cell.name, standing(new)]))

    def came_to(self, done: float, whole: float, said: str) -> None:
        """`done` of `whole`, in one unit, and the same in words."""
        check()
        new = self._share is None or (said, whole) != (self._share[2], self._share[1])
        now_s = monotonic()
        self._share = (done, whole, said)
        if self._said_s is None or (new and now_s - self._said_s >= 1.0) or now_s - self._said_s >= _SELDOM_S:
            self._said_s = now_s
            left = self.remaining()
            self._print(join_texts(": ", [f"{self.percent():.0f} %", _with_left(said or phrase("measuring"), left)]))

    def trial_started(self, index: int, method: str, trial: Trial) -> None:
        """A line for a new row."""
        now = self.rows.now
        over = self.rows.started(method, trial)
        if over is not None:
            self._print(_over(over))
        if self.rows.now is not now:
            left = self.remaining()
            assert self.rows.now is not None, "a trial of it has begun"
            self._print(join_texts(": ", [self.rows.now.name, _with_left(self.rows.now.state, left)]))

    def trial_progress(self, progress: Progress) -> None:
        """Nothing is said before the trial ended."""

    def trial_finished(self, record: TrialRecord) -> None:
        """With -v a line."""
        check()
        self.rows.finished(record)
        if self.verbose:
            self._print(trial_text(record))

    def percent(self) -> float:
        """How much of the whole is done."""
        if self._share is not None:
            done, whole, _ = self._share
            return 100 * min(max(done / whole, 0.0), 1.0) if whole > 0 else 0.0
        if self._expected is None:
            return 0.0
        passed_s = monotonic() - self._since_s
        remaining, at_s = self._expected
        left_s = remaining.after(monotonic() - at_s).most_s
        return 100 * passed_s / (passed_s + left_s) if passed_s + left_s > 0 else 100.0

    def remaining(self) -> str:
        """Time that remains, in words; empty where it is not known, as in virtual time."""
        # What is expected of one run of many is not what is left of the whole.
        if self._expected is not None and self._share is None and not self.standings:
            remaining, at_s = self._expected
            return str(remaining.after(monotonic() - at_s))
        passed_s, share = monotonic() - self._since_s, self.percent() / 100
        if self._share is None or share < 0.02 or passed_s < 1.0:
            return ""
        return phrase("about {time}", time=time_text(passed_s * (1 - share) / share))

    def _print(self, said: str) -> None:
        print(fold(said, sys.stderr, indent="  ", most=WIDTH), file=sys.stderr, flush=True)


def standing(of: Standing) -> str:
    """How far a cell of a campaign has come."""
    said = phrase("{finished} of {wanted} runs finished", finished=of.finished, wanted=of.wanted)
    return (
        plural("{said}, {count} attempt failed", "{said}, {count} attempts failed", said=said, count=of.failed)
        if of.failed
        else said
    )


def _counted(valid: int, repeated: int) -> str:
    return phrase("{valid} valid, {repeated} repeated", valid=valid, repeated=repeated)


def _over(row: Row) -> str:
    """What is said of a row at its end."""
    return join_texts("", [row.name, ": ", row.state, " (", row.trials, ")"])


def _with_left(said: str, left: str) -> str:
    return phrase("{said} ({time} left)", said=said, time=left) if left else said


def trial_text(record: TrialRecord) -> str:
    """A finished trial."""
    tracked = record.facts.tracked
    verdict = f"invalid: {'; '.join(record.invalid_because)}" if not record.valid else f"lost {tracked.lost_frames:,}"
    if record.facts.stopped_for_loss:
        verdict += ", stopped at this loss"
    return (
        f"{record.index:4} {record.method}: {record.trial.purpose}, {rate(record.trial.frames_per_second)}:"
        f" offered {record.facts.sent.offered_frames:,}, forwarded {tracked.forwarded_frames:,}, {verdict}"
    )


def rate(frames_per_second: float) -> str:
    """A load for a reader who looks for a moment: '0.614 Mf/s'."""
    for factor, unit in ((1e6, "Mf/s"), (1e3, "kf/s")):
        if frames_per_second >= 0.1 * factor:
            return f"{frames_per_second / factor:.3g} {unit}"
    return f"{frames_per_second:.3g} f/s"

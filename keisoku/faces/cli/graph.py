"""The last moments of a measurement in columns of letters, for a terminal: rate, loss and latency, each to its scale.

Counts and figures are those that the engine and the records of trials have: here they are only put together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len

from keisoku.faces.cli.progress import rate
from keisoku.ground.report import digits
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import phrase, translated

if TYPE_CHECKING:
    from keisoku.subjects.device.engine.engine import Progress
    from keisoku.subjects.device.record.trial_record import TrialRecord

LINES = 3
"""So many lines of the screen it takes."""
MOST = 60
"""Moments that are kept."""
_LEAST = 8
"""Fewer columns show nothing."""
_PARTS = "▁▂▃▄▅▆▇█"
_NS_PER_S = 1e9


@dataclass(frozen=True)
class Moment:
    """What came out of the device in a moment; None: not known while its trial runs."""

    frames_per_second: float
    lost_percent: float | None = None
    """Of its whole trial."""
    latency_ns: float | None = None
    """Mean of its frames."""


class Graph:
    """The newest moment is at the right. Those of the running trial are of its live counters; when it is over, what was
    recorded of it takes their place."""

    def __init__(self) -> None:
        # Whoever draws is another thread: these lists are replaced, and never changed.
        self._over: list[Moment] = []
        self._going: list[Moment] = []
        self._before: Progress | None = None

    @property
    def moments(self) -> list[Moment]:
        """The last ones, in the order of time."""
        return [*self._over, *self._going][-MOST:]

    def counted(self, progress: Progress) -> None:
        """Of the time since the last counters, if frames were sent in it."""
        before, self._before = self._before, progress
        sent = progress.offered_frames - (0 if before is None else before.offered_frames)
        if sent > 0 and (forwarded := progress.forwarded_fps(before)) is not None:
            self._going = [*self._going, Moment(forwarded)][-MOST:]

    def recorded(self, record: TrialRecord) -> None:
        """The trial is over; it keeps the columns that it had, at least one."""
        self._over, self._going = [*self._over, *_recorded(record, max(1, len(self._going)))][-MOST:], []
        self._before = None

    def lines(self, width: int) -> list[str]:
        """Three lines of at most `width` letters; none before there are two moments, or where they do not fit."""
        moments = self.moments
        shown: list[tuple[str, list[float | None], Callable[[float], str]]] = [
            (phrase("forwarded"), [one.frames_per_second for one in moments], rate),
            (phrase("lost"), [one.lost_percent for one in moments], lambda percent: f"{percent:.3g} %"),
            (phrase("latency"), [one.latency_ns for one in moments], _time),
        ]
        heads = [translated(title) for title, *_ in shown]
        ends = [_ends(values, text) for _, values, text in shown]
        room = min(MOST, width - max(map(cell_len, heads)) - max(map(cell_len, ends)) - 2)
        if len(moments) < 2 or room < _LEAST:
            return []
        widest = max(map(cell_len, heads))
        return [
            f"{head}{' ' * (widest - cell_len(head))} {_columns(values[-room:])} {end}".rstrip()
            for head, (_, values, _), end in zip(heads, shown, ends, strict=True)
        ]


def _recorded(record: TrialRecord, many: int) -> list[Moment]:
    """A trial in so many moments of about the same length; intervals after the end of its load are left out."""
    trial, tracked = record.trial, record.facts.tracked
    offered = record.facts.expected_frames
    lost = 100 * tracked.lost_frames / offered if offered else None
    series = [one for one in tracked.series if one.start_ns < trial.duration_ns]
    found = []
    for number in range(min(many, len(series))):
        part = series[number * len(series) // many : (number + 1) * len(series) // many] or [series[-1]]
        end_ns = min(part[-1].start_ns + trial.interval_ns, trial.duration_ns)
        frames = sum(one.forwarded_frames for one in part)
        known = [(one.latency.mean_ns, one.forwarded_frames) for one in part if one.latency and one.forwarded_frames]
        of_known = sum(count for _, count in known)
        latency_ns = sum(mean * count for mean, count in known) / of_known if of_known else None
        found.append(Moment(frames * _NS_PER_S / max(1, end_ns - part[0].start_ns), lost, latency_ns))
    return found


def _columns(values: Sequence[float | None]) -> str:
    """From zero to the greatest of them; a blank where a value is not known."""
    most = max((value for value in values if value is not None), default=0.0)
    return "".join(" " if value is None else _part(value / most if most > 0 else 0.0) for value in values)


def _part(share: float) -> str:
    return _PARTS[min(int(max(share, 0.0) * len(_PARTS)), len(_PARTS) - 1)]


def _ends(values: Sequence[float | None], text: Callable[[float], str]) -> str:
    """The last value and the greatest one; empty if none is known."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    return translated(phrase("{last}, at most {most}", last=text(known[-1]), most=text(max(known))))


def _time(latency_ns: float) -> str:
    return digits.value_text(Quantity(value=float(f"{latency_ns:.3g}"), unit="ns"))

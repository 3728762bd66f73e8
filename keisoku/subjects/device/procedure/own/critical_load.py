"""The critical load: where half of all trials are clean, how widely that limit is spread, and how often trials lapse.

A throughput is one load; a device in software has a curve, the probability of a clean trial against load. Trials of one
short duration are put where they tell most about this curve (`device/analysis/clean_curve.py`), so that its
place and its steepness are learnt together. Whether a trial is used is decided by its validity alone.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from keisoku.ground.run.result import Result, Row
from keisoku.ground.run.settings import Settings
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method import deviations
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.search import RETRIES, TESTER_MARGIN, beyond_tester, ceiling_fps
from keisoku.subjects.device.plan.rate import Load
from keisoku.subjects.device.procedure.own.critical_load_plot import critical_load_plot
from keisoku.subjects.device.record.trial import NS_PER_S, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import disturbances, why_invalid

if TYPE_CHECKING:
    from keisoku.subjects.device.analysis.clean_curve import CleanCurve, Estimate


class CriticalLoadSettings(Settings):
    """The load at which half of all short trials lose no frame, and how widely the device's limit is spread."""

    trial_s: float = Field(0.5, gt=0)
    """Length of each trial; the result holds for trials of this length."""
    resolution_percent: float = Field(1.0, gt=0, le=50)
    """The search ends when half the width of the critical load's 95 % interval is at most this share of it."""
    trials: int = Field(30, ge=5)
    """Smallest number of trials at each size."""
    limit_s: float = Field(120.0, gt=0)
    """Seconds of load at each size after which the search ends, however wide the interval is."""
    maximum_fps: Load | None = None
    """Highest load (default: that of the link or the tester)."""
    minimum_fps: Load | None = None
    """Lowest load (default: 1/10000 of the highest)."""
    ceiling_percent: float = Field(99.98, gt=0, le=100)
    """Highest load as a share of the link's maximum; below 100 % because clocks may differ by ±100 ppm."""
    stop_at_loss: bool = True
    """End a trial at its first lost frame, because it is then not clean."""


LEAST_SHARE = 1e-4
"""Share of the highest load: the lowest load that is tried if none is given."""
LEAST_FRAMES = 10
"""A trial of so few frames is the shortest one that says anything."""
AIMS = (0.5, 0.75, 0.5, 0.25)
"""The next trial's probability to be clean, in turn: the middle tells where the curve is, its flanks how steep. Further
out the flanks would tell more of the steepness, but a curve of another shape would bias its middle."""
STEP = 5
"""The end is considered after so many trials. A search that may end at any moment ends when chance has made its
interval too narrow."""
CERTAIN = 0.975
"""Probability with which the critical load is known to be beyond an end of the range."""
SHARES = (90, 80, 70, 60, 50, 40, 30, 20, 10)
"""Shares of clean trials, in percent, whose loads are given."""
NARROWEST = 1 / 20
"""Smallest spread that is distinguished, as a share of the resolution."""
SPOILED_TRIALS = 20
"""So many invalid trials in a row end the search."""
CURVE = phrase("Clean trials")
"""Group of the rows of the curve."""


def critical_load(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """One row a size: 'critical_load' (frames/s), 'spread' (% of it), 'lapses' (%), 'trials'; and one for each share of
    clean trials: 'load' (frames/s).

    All have 95 % credible intervals. A critical load beyond the highest or lowest load is a bound.
    """
    settings = inputs.plan.settings_of(CriticalLoadSettings)
    rows, curves, remarks = [], [], deviations.ceiling(settings.ceiling_percent)
    for size in inputs.plan.frame_bytes:
        found = _Estimation(inputs, size)
        yield from found.proceed()
        rows.append(found.row())
        curves += found.curve_rows()
        remarks += [phrase("{size} byte: {text}", size=size, text=text) for text in found.remarks()]
    plan = inputs.plan
    return Result(
        measurement="critical_load",
        rows=rows + curves,
        deviations=[
            phrase(
                "draft-vpolak-bmwg-plrsearch-03, Critical Load: it is the load at which half of the "
                "trials of {trial_s:g} s are clean, not that of a given average loss ratio",
                trial_s=settings.trial_s,
            ),
            *deviations.rfc2544(plan, inputs.capabilities.simulated),
        ],
        remarks=remarks,
    )


class _Estimation:
    """The trials of one size, and what they tell."""

    def __init__(self, inputs: MethodInput, frame_bytes: int) -> None:
        self.inputs, self.frame_bytes = inputs, frame_bytes
        self.settings = inputs.plan.settings_of(CriticalLoadSettings)
        self.most_fps = ceiling_fps(inputs, frame_bytes, self.settings.ceiling_percent, self.settings.maximum_fps)
        least_fps = max(self.most_fps * LEAST_SHARE, LEAST_FRAMES / self.settings.trial_s)
        given_fps = inputs.fps(self.settings.minimum_fps, frame_bytes)
        self.least_fps = min(given_fps or least_fps, self.most_fps)
        self.curve: CleanCurve | None = None
        self.last: TrialRecord | None = None
        self.spent_s, self.limited_by_tester = 0.0, False
        self.left_out, self.reason = 0, ""

    def proceed(self) -> Generator[Trial, TrialRecord, None]:
        """Carries out trials until the interval is narrow enough, the time is over, or the tester is disturbed."""
        spoiled = shortfalls = 0
        while spoiled < SPOILED_TRIALS and self.spent_s < self.settings.limit_s and not self._known():
            fps = self.curve.load_fps(AIMS[len(self.curve.trials) % len(AIMS)]) if self.curve else self.most_fps
            record = yield self._trial(fps)
            stopped = record.facts.stopped_for_loss
            self.spent_s += (record.facts.sent.last_sent_ns if stopped else record.trial.duration_ns) / NS_PER_S
            if record.valid:
                self._learn(record)
                spoiled = shortfalls = 0
                continue
            spoiled, self.left_out, self.reason = spoiled + 1, self.left_out + 1, join_texts("; ", why_invalid(record))
            if disturbances(record.trial, record.facts):
                continue  # It says nothing about what the tester can offer either.
            shortfalls += 1
            if beyond_tester(record) or shortfalls == RETRIES:
                self._lower(min(fps, record.offered_fps))
                shortfalls = 0

    def _lower(self, offered_fps: float) -> None:
        self.most_fps, self.limited_by_tester = max(self.least_fps, TESTER_MARGIN * offered_fps), True
        if self.curve:
            self.curve.limit(self.most_fps)

    def _trial(self, fps: float) -> Trial:
        purpose = phrase("critical load {frame_bytes} byte", frame_bytes=self.frame_bytes)
        # The first one's loss ratio shows where to look, so it is not ended early.
        stop = 0 if self.settings.stop_at_loss and self.curve else None
        return self.inputs.trial(purpose, self.frame_bytes, fps, self.settings.trial_s, stop)

    def _learn(self, record: TrialRecord) -> None:
        if self.curve is None:
            hint_fps = record.offered_fps * (1 - record.loss_ratio) if 0 < record.loss_ratio < 1 else None
            narrowest = NARROWEST * self.settings.resolution_percent / 100
            from keisoku.subjects.device.analysis.clean_curve import CleanCurve  # with SciPy

            self.curve = CleanCurve(self.least_fps, self.most_fps, narrowest, hint_fps)
        clean = record.facts.tracked.forwarded_frames == record.facts.sent.offered_frames
        self.curve.add(record.offered_fps, clean)
        self.last = record

    def _known(self) -> bool:
        curve = self.curve
        if curve is None or len(curve.trials) < self.settings.trials or len(curve.trials) % STEP:
            return False
        return self._beyond != "" or _half_width(curve.critical_fps()) <= self.settings.resolution_percent / 100

    @property
    def _beyond(self) -> Literal["", "at least", "at most"]:
        """On which side of the loads that can be tried the critical load is."""
        if self.curve is None:
            return ""
        if self.curve.above(self.most_fps) > CERTAIN:
            return "at least"
        return "at most" if self.curve.above(self.least_fps) < 1 - CERTAIN else ""

    def row(self) -> Row:
        """The critical load and what else is known of the curve."""
        curve, beyond = self.curve, self._beyond
        if curve is None:
            remark = phrase("given up: every trial was invalid, the last because {reason}", reason=self.reason)
            return Row(frame_bytes=self.frame_bytes, figures={}, remark=remark)
        trials = Quantity(value=len(curve.trials), unit="trials", uncertainty=0.0)
        index, remark = self.last.index if self.last else None, ""
        if beyond:
            end_fps = self.most_fps if beyond == "at least" else self.least_fps
            figures = {"critical_load": Quantity(value=end_fps, unit="frames/s", bound=beyond), "trials": trials}
            remark = (
                phrase("beyond the highest load that was tried")
                if beyond == "at least"
                else phrase("beyond the lowest load that was tried")
            )
            if beyond == "at least" and self.limited_by_tester:
                remark = phrase("limited by the tester")
        else:
            spread = curve.spread()
            narrow = spread.lower < 2 * float(curve.spreads[0])
            figures = {
                "critical_load": _quantity(curve.critical_fps(), "frames/s"),
                "spread": Quantity(value=100 * spread.upper, unit="%", bound="at most")
                if narrow
                else _quantity(spread, "%", 100),
                "lapses": _quantity(curve.lapses(), "%", 100),
                "trials": trials,
            }
        return Row(frame_bytes=self.frame_bytes, figures=figures, trial=index, remark=remark)

    def curve_rows(self) -> list[Row]:
        """One row for each of `SHARES`."""
        if self.curve is None or self._beyond:
            return []
        return [
            Row(
                frame_bytes=self.frame_bytes,
                group=CURVE,
                case=f"{percent} %",
                at=Quantity(value=percent, unit="%", uncertainty=0.0),
                figures={"load": _quantity(self.curve.clean_fps(percent / 100), "frames/s")},
            )
            for percent in SHARES
        ]

    def remarks(self) -> list[str]:
        """What a reader must know besides."""
        found = []
        if self.curve and not self._beyond and not self._known():
            width = 100 * _half_width(self.curve.critical_fps())
            found.append(
                phrase(
                    "the search ended after {seconds:.3g} s of load with an interval of ± {width:.2g} % "
                    "instead of {wanted:g} %",
                    seconds=self.spent_s,
                    width=width,
                    wanted=self.settings.resolution_percent,
                )
            )
        if self.left_out:
            found.append(
                plural(
                    "{count} invalid trial was left out", "{count} invalid trials were left out", count=self.left_out
                )
            )
        if self.limited_by_tester:
            found.append(
                phrase(
                    "no load above {most_fps:,.0f} frames/s was tried, which is the tester's limit",
                    most_fps=self.most_fps,
                )
            )
        return found


def _half_width(found: Estimate) -> float:
    return (found.upper - found.lower) / 2 / found.median


def _quantity(found: Estimate, unit: str, scale: float = 1.0) -> Quantity:
    interval = Interval(lower=scale * found.lower, upper=scale * found.upper)
    return Quantity(value=scale * found.median, unit=unit, interval=interval)


PROCEDURE = Procedure(
    name="critical_load",
    title=phrase("Critical load"),
    standard=phrase("after PLRsearch"),
    summary="The load at which half of all short trials lose no frame, and how widely that limit is spread.",
    settings=CriticalLoadSettings,
    packages=("scipy",),
    of_cpu=True,
    generator=critical_load,
    figure="critical_load",
    units={"frames/s": "critical_load load", "%": "spread lapses", "trials": "trials"},
    example="keisoku critical-load --dut lab:bridge --size 64 --duration 0.2s --waits 0.05s",
    plots=(critical_load_plot,),
)

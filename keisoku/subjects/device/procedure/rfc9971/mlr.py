"""NDR and PDR by MLRsearch (RFC 9971): for each goal the bounds of the load that meets it.

A controller asks for trials and classifies loads; this file turns its questions into trials. Where one bad trial
decides, a trial ends as soon as it is bad; if the tester cannot offer the highest load, the search restarts below it. A
trial that the host disturbed is tried again and says nothing about what the tester can offer.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method import deviations
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.search import (
    DISTURBED_LOADS,
    DISTURBED_TRIES,
    RETRIES,
    SPOILED_LOADS,
    STEP_DOWN,
    beyond_tester,
    ceiling_fps,
    reached_fps,
)
from keisoku.subjects.device.procedure.rfc9971.descent import descent
from keisoku.subjects.device.procedure.rfc9971.search_goal import Bounds, Goal, Question, Search, TrialResult
from keisoku.subjects.device.procedure.rfc9971.settings import PRESETS, MlrSettings
from keisoku.subjects.device.record.trial import NS_PER_S, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import TOLERANCE, disturbances

LEAST_SHARE = 1e-4
"""Share of the highest load: the lowest load that is tried if none is given."""
MOST_TRIALS = 1000
"""Limit for one goal: far more trials than any search that ends needs."""


@dataclass
class _Found:
    """The outcome of one goal."""

    goal: Goal
    bounds: Bounds = field(default_factory=lambda: Bounds(None, None, 0.0))
    records: list[TrialRecord] = field(default_factory=list)
    """Trials carried out for it; others are reused from earlier goals."""
    given_up: str = ""
    limited_by_tester: bool = False

    @property
    def name(self) -> str:
        """Its usual name: NDR or PDR."""
        return (
            "NDR"
            if self.goal.loss_ratio == 0
            else phrase("PDR {loss_ratio:g} %", loss_ratio=100 * self.goal.loss_ratio)
        )


def mlr(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """One row a size and goal: 'throughput' (conditional, frames/s), 'lower_bound', 'upper_bound', 'seconds', 'trials'.

    The uncertainty of the throughput is the distance of the bounds, and where one is missing the throughput is a bound
    itself (RFC 9971: an irregular result); 'seconds' are the engine's time with all waits.
    """
    settings = inputs.plan.settings_of(MlrSettings)
    preset = settings.preset()
    rows, remarks = [], deviations.ceiling(settings.ceiling_percent)
    for size in inputs.plan.frame_bytes:
        search = _Search(inputs, size)
        for percent in settings.loss_percent:
            found = yield from search.bounds(Goal(percent / 100, preset, settings.width_percent / 100))
            rows.append(_row(search, found))
            if found.given_up:
                remarks.append(
                    phrase("{size} byte, {name}: {given_up}", size=size, name=found.name, given_up=found.given_up)
                )
            elif found.limited_by_tester:
                remarks.append(
                    phrase(
                        "{size} byte, {name}: the highest load was limited by the tester, not by the link",
                        size=size,
                        name=found.name,
                    )
                )
    remarks += _applied(settings)
    plan = inputs.plan
    return Result(
        measurement="mlr",
        rows=rows,
        deviations=deviations_of(settings) + deviations.rfc2544(plan, inputs.capabilities.simulated),
        remarks=remarks,
    )


def _applied(settings: MlrSettings) -> list[str]:
    """What RFC 9971 requires a report to state: the goals' attributes, and what durations, ratios and loads mean."""
    preset = settings.preset()
    found = [
        phrase(
            "each goal (RFC 9971 §4.6): final trial duration {trial_s:g} s, duration sum "
            "{sum_s:g} s, exceed ratio {exceed_percent:g} %, initial trial duration "
            "{initial_s:g} s, width {width_percent:g} % (upper less lower bound, relative to the "
            "upper one)",
            trial_s=preset.trial_s,
            sum_s=preset.sum_s,
            exceed_percent=preset.exceed_percent,
            initial_s=preset.initial_s,
            width_percent=settings.width_percent,
        ),
        phrase("loads and throughputs are of one sending port; loss ratios are of the frames of all ports"),
    ]
    if settings.stop_at_loss and preset.exceed_percent == 0:
        found.append(
            phrase(
                "a trial ended as soon as it had lost more frames than its goal allows, and its "
                "effective duration (RFC 9971 §4.5.8) is the time until then; all other trials ran "
                "in full"
            )
        )
    return found


def deviations_of(settings: MlrSettings) -> list[str]:
    """Deviations of the goals from RFC 2544's (RFC 9971 §4.10.2), and of trials from RFC 9971's."""
    preset = settings.preset()
    found = [
        phrase(
            "RFC 9971 §4.5.5: frames that the tester did not offer are not counted as lost; a "
            "trial in which it offered less than {tolerance:g} % of those intended is invalid "
            "instead",
            tolerance=100 * (1 - TOLERANCE),
        )
    ]
    if preset.trial_s < 60:
        found.append(
            phrase("RFC 2544 §24: the final trials last {trial_s:g} s instead of at least 60 s", trial_s=preset.trial_s)
        )
    if preset.exceed_percent > 0:
        found.append(
            phrase(
                "RFC 2544 §26.1: of the {sum_s:g} s that classify a load, {exceed_percent:g} % may "
                "be trials that lose more than the goal allows",
                sum_s=preset.sum_s,
                exceed_percent=preset.exceed_percent,
            )
        )
    losses = [f"{percent:g} %" for percent in settings.loss_percent if percent > 0]
    if losses:
        found.append(
            phrase(
                "RFC 2544 §26.1: a loss of {losses} is allowed where the case is PDR; NDR allows none",
                losses=join_texts(", ", losses),
            )
        )
    return found


class _Search:
    """All goals of one size; a trial of one goal that answers a question of the next is not carried out again."""

    def __init__(self, inputs: MethodInput, frame_bytes: int) -> None:
        self.inputs, self.frame_bytes, self.settings = inputs, frame_bytes, inputs.plan.settings_of(MlrSettings)
        self.known: list[TrialRecord] = []
        self.senders = len({transmit for transmit, _ in inputs.plan.pairs()})

    def bounds(self, goal: Goal) -> Generator[Trial, TrialRecord, _Found]:
        settings, found = self.settings, _Found(goal)
        most_fps = ceiling_fps(self.inputs, self.frame_bytes, settings.ceiling_percent, settings.maximum_fps)
        least_fps = self.inputs.fps(settings.minimum_fps, self.frame_bytes) or most_fps * LEAST_SHARE
        disturbed = 0
        for _ in range(SPOILED_LOADS):
            if most_fps <= least_fps:
                break
            spoiled = yield from self._controlled(found, least_fps, most_fps)
            if spoiled is None:
                return found
            if spoiled.valid:
                found.given_up = plural(
                    "given up: no bounds were found in {count} trial",
                    "given up: no bounds were found in {count} trials",
                    count=len(found.records),
                )
                return found
            most_fps, found.limited_by_tester = reached_fps(spoiled), True
            if disturbances(spoiled.trial, spoiled.facts):  # It says nothing about what the tester can offer.
                disturbed += 1
                if disturbed == DISTURBED_LOADS or any(record.valid for record in found.records):
                    found.given_up = phrase(
                        "given up: the last trial is invalid because {invalid_because}",
                        invalid_because=join_texts("; ", spoiled.invalid_because),
                    )
                    return found
                most_fps = min(most_fps, spoiled.trial.frames_per_second / STEP_DOWN)
        found.given_up = phrase("given up: the tester fell short of every highest load that was tried")
        return found

    def _controlled(
        self, found: _Found, least_fps: float, most_fps: float
    ) -> Generator[Trial, TrialRecord, TrialRecord | None]:
        """Runs a search until it ends, the tester cannot offer a load, or there are too many trials."""
        unused = list(self.known)
        with closing(self._controller(found.goal, least_fps, most_fps)) as controller:
            try:
                question = next(controller)
                while True:
                    record = self._recall(unused, found.goal, question)
                    if record is None:
                        record = yield from self._measured(found, question)
                        if not record.valid or len(found.records) >= MOST_TRIALS:
                            return record
                        self.known.append(record)
                    question = controller.send(_answer(record, question))
            except StopIteration as stop:
                found.bounds = stop.value
                return None

    def _controller(self, goal: Goal, least_fps: float, most_fps: float) -> Search:
        if self.settings.controller == "descent" and goal.loss_ratio == 0 and goal.one_bad_trial_decides:
            return descent(goal, least_fps, most_fps)
        from keisoku.subjects.device.procedure.rfc9971.controller import (
            mlrsearch,  # the package takes a quarter of a second to load
        )

        return mlrsearch(goal, least_fps, most_fps)

    def _measured(self, found: _Found, question: Question) -> Generator[Trial, TrialRecord, TrialRecord]:
        trial = self._trial(found, question)
        shortfalls = 0
        for _ in range(DISTURBED_TRIES):
            record = yield trial
            found.records.append(record)
            disturbed = disturbances(record.trial, record.facts)
            shortfalls += not record.valid and not disturbed
            if record.valid or shortfalls == RETRIES or (beyond_tester(record) and not disturbed):
                break
        return record

    def _trial(self, found: _Found, question: Question) -> Trial:
        """The trial may end when it is decided, unless its loss ratio is needed."""
        goal = found.goal
        trial = self.inputs.trial(
            phrase("{name} {frame_bytes} byte", name=found.name, frame_bytes=self.frame_bytes),
            self.frame_bytes,
            question.fps,
            question.seconds,
        )
        if question.for_rate or not (self.settings.stop_at_loss and goal.one_bad_trial_decides):
            return trial
        return trial.model_copy(update={"stop_after_lost": int(goal.loss_ratio * trial.frames * self.senders)})

    def _recall(self, unused: list[TrialRecord], goal: Goal, question: Question) -> TrialRecord | None:
        """A trial that was carried out before and answers the question; each is used once."""
        for record in unused:
            trial = record.trial
            if trial.frames_per_second != question.fps or trial.duration_ns < round(question.seconds * NS_PER_S):
                continue
            decided = goal.one_bad_trial_decides and not question.for_rate
            decided &= _answer(record, question).loss_ratio > goal.loss_ratio
            if decided or not record.facts.stopped_for_loss:
                unused.remove(record)
                return record
        return None


def _answer(record: TrialRecord, question: Question) -> TrialResult:
    sent, stopped = record.facts.sent, record.facts.stopped_for_loss
    # Trials have whole ns: one that is short by a fraction of one would be asked for again and again.
    seconds = max(question.seconds, record.trial.duration_ns / NS_PER_S)
    return TrialResult(
        seconds=seconds,
        spent_s=sent.going_ns / NS_PER_S if stopped else seconds,
        frames=record.intended_frames if stopped else sent.offered_frames,
        # RFC 2544 §26.1: equality of counts; corrupt frames were not forwarded either.
        lost_frames=sent.offered_frames - record.facts.tracked.forwarded_frames,
    )


def _irregular(text: str) -> str:
    """RFC 9971 §4.8.4.2: what does not meet all requirements of a result "MUST be clearly marked"."""
    return phrase("{text} (an irregular result, RFC 9971 §4.8.4.2)", text=text)


def _row(search: _Search, found: _Found) -> Row:
    bounds, figures = found.bounds, {}
    lower_fps, upper_fps = bounds.lower_fps, bounds.upper_fps
    remark = found.given_up
    if lower_fps is not None and upper_fps is not None:
        figures["throughput"] = Quantity(
            value=bounds.conditional_fps, unit="frames/s", uncertainty=upper_fps - lower_fps, covers="resolution"
        )
    elif lower_fps is not None:
        figures["throughput"] = Quantity(value=bounds.conditional_fps, unit="frames/s", bound="at least")
        remark = _irregular(phrase("the highest load met the goal"))
    elif not remark:
        remark = _irregular(phrase("no load met the goal"))
        if upper_fps is not None:
            figures["throughput"] = Quantity(value=upper_fps, unit="frames/s", bound="at most")
    for name, fps in (("lower_bound", lower_fps), ("upper_bound", upper_fps)):
        if fps is not None:
            figures[name] = Quantity(value=fps, unit="frames/s", uncertainty=0.0)
    seconds = sum(record.engine_seconds for record in found.records)
    figures["seconds"] = Quantity(value=seconds, unit="s")
    figures["trials"] = Quantity(value=len(found.records), unit="trials", uncertainty=0.0)
    deciding = [
        one for one in search.known if one.trial.frames_per_second == lower_fps and not one.facts.stopped_for_loss
    ]
    longest = max(deciding, key=lambda one: one.trial.duration_ns, default=None)
    return Row(
        frame_bytes=search.frame_bytes,
        case=found.name,
        figures=figures,
        trial=longest.index if longest else None,
        remark=remark,
    )


def _usual(given: Mapping[str, Any]) -> dict[str, Any]:
    """The length of trials is that of the preset."""
    goals = given.get("goals", MlrSettings().goals)
    return {"trial_s": PRESETS[goals].trial_s if goals in PRESETS else None}


PROCEDURE = Procedure(
    name="mlr",
    title=phrase("NDR and PDR"),
    standard=phrase("RFC 9971 (MLRsearch)"),
    summary="The highest loads without loss (NDR) and with a given small loss (PDR), by MLRsearch.",
    settings=MlrSettings,
    of_cpu=True,
    generator=mlr,
    figure="throughput",
    units={"frames/s": "throughput lower_bound upper_bound", "s": "seconds", "trials": "trials"},
    example="keisoku mlr --dut lab:bridge --size 64 --goals csit --waits 0.1s",
    usual=_usual,
    is_steady=True,
)

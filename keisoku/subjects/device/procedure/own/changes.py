"""What a device changes in the headers of frames: every frame that arrives is compared with the one that is expected.

It measures no load limit; frames that are lost are counted as in any trial.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from pydantic import Field, field_validator

from keisoku.errors import PlanError
from keisoku.ground.frame.separated import separated
from keisoku.ground.report import digits
from keisoku.ground.run.result import Result, Row
from keisoku.ground.run.settings import Settings
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.device.analysis.changes import Finding, findings, merged, totals, usual
from keisoku.subjects.device.analysis.loss_ratio import share
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.plan.rate import NO_RATE, Load
from keisoku.subjects.device.procedure.own.changes_plot import CHANGE, changes_plot
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.record.trial_record import TrialRecord


class ChangesSettings(Settings):
    """One load at each size; the headers of every frame that arrives are compared with those that are expected."""

    trial_s: float = Field(10.0, gt=0)
    """Length of each trial."""
    rate_fps: Load | None = None
    """Load of each sending port (default: 99.98 % of the link's maximum)."""
    expect: tuple[str, ...] = ()
    """What the device is to change, such as 'IP.ttl=-1', 'IP.dst=10.0.0.1' or 'pop=Dot1Q'; it is added to what is known
    of the device, and a field that is named here is not taken from there."""
    learn_s: float | None = Field(None, gt=0)
    """Length of a first trial: what the device does there to most frames of a stream is then expected as well (default:
    no such trial)."""

    @field_validator("expect", mode="before")
    @classmethod
    def _whole(cls, value: Any) -> Any:
        """A comma between parentheses belongs to one change: 'push=Dot1Q(vlan=5, prio=1)'."""
        parts = [value] if isinstance(value, str) else list(value) if isinstance(value, list | tuple) else value
        if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
            return value
        return separated(",".join(parts)) if parts else ()


_CEILING = 0.9998
"""Share of the link's maximum: clocks differ by up to ±100 ppm (RFC 8239 §2)."""
MOST_ROWS = 100
"""Rows of changes at one size; all of them are in the table `changes` of the run."""
_MOST_SAID = 3


def change_rows(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """A row for each size: 'compared' and 'changed' (frames), 'changed_share' (%), 'lost' and 'foreign' (frames). Then
    a row for each change of each stream, with 'frames', and 'first' and 'last' (s), when the first and the last of
    them arrived.

    Counts are exact. Raises PlanError without a rate.
    """
    settings, plan = inputs.plan.settings_of(ChangesSettings), inputs.plan
    rows, said, remarks = list[Row](), list[str](), list[str]()
    for size in plan.frame_bytes:
        line_fps = inputs.line_fps(size)
        rate = inputs.fps(settings.rate_fps, size) or (line_fps and line_fps * _CEILING)
        if not rate:
            raise PlanError("changes.rate_fps", NO_RATE, "give one, such as --rate 50kpps")
        asked: dict[str, object] = {"changes": "every" if plan.frames else "changed", "expected": settings.expect}
        if settings.learn_s is not None:
            first = inputs.trial(phrase("learning, {size} byte", size=size), size, rate, settings.learn_s)
            record = yield first.model_copy(update=asked)
            learnt = _learnt(record)
            asked["learnt"] = learnt
            remarks += _as_learnt(size, learnt, len(plan.frame_bytes) > 1)
        record = yield inputs.trial(f"{size} byte", size, rate, settings.trial_s).model_copy(update=asked)
        own, verdict = _rows(inputs, record)
        rows += own
        said.append(
            phrase("{size} byte: {verdict}", size=size, verdict=verdict) if len(plan.frame_bytes) > 1 else verdict
        )
        remarks += [one for one in _expected(record) if one not in remarks]
    return Result(measurement="changes", rows=rows, remarks=remarks, sentence=join_texts("; ", said))


def _rows(inputs: MethodInput, record: TrialRecord) -> tuple[list[Row], str]:
    size, facts = record.trial.frame_bytes, record.facts
    if not record.valid:
        why = join_texts("; ", record.invalid_because)
        return [Row(frame_bytes=size, figures={}, trial=record.index, remark=why)], phrase(
            "not measured: {why}", why=why
        )
    compared, changed, further = totals(facts)
    found = findings(facts)
    lost, foreign = facts.tracked.lost_frames, sum(receiver.foreign_frames for receiver in facts.receivers)
    figures = {
        "compared": _frames(compared),
        "changed": _frames(changed),
        "lost": _frames(lost),
        "foreign": _frames(foreign),
    }
    if compared:
        figures["changed_share"] = share(changed, compared)
    remark = (
        plural(
            "{count} frame was changed in more ways than are kept, and is only counted",
            "{count} frames were changed in more ways than are kept, and are only counted",
            count=digits.count(further),
        )
        if further
        else ""
    )
    whole = Row(frame_bytes=size, figures=figures, trial=record.index, remark=remark)
    listed = [_row(size, one, inputs, len(facts.streams) > 1) for one in found[:MOST_ROWS]]
    if left := found[MOST_ROWS:]:
        frames = sum(one.frames for one in left)
        case = plural("{count} further change", "{count} further changes", count=len(left))
        listed.append(Row(frame_bytes=size, case=case, group=CHANGE, figures={"frames": _frames(frames)}))
    said = verdict(compared, changed, further, found, len(facts.streams))
    if lost and foreign:
        cut = plural(
            "{count} frame was lost, and {foreign} arrived without a signature, as frames that the device truncated "
            "or fragmented do",
            "{count} frames were lost, and {foreign} arrived without a signature, as frames that the device "
            "truncated or fragmented do",
            count=digits.count(lost),
            foreign=digits.count(foreign),
        )
        said = join_texts("; ", [said, cut])
    return [whole, *listed], said


def verdict(compared: int, changed: int, further: int, found: Sequence[Finding], streams: int) -> str:
    """'1,204 of 2,000,000 frames changed otherwise than expected: 1,204 × IP.dscp 46 to 0, all of stream 3'."""
    if not compared:
        return phrase("no frame arrived that could be compared")
    if not changed:
        return phrase("none of {compared} frames changed otherwise than expected", compared=digits.count(compared))
    parts = []
    texts = merged(found)
    for text, frames, own in texts[:_MOST_SAID]:
        part = f"{digits.count(frames)} × {text}"
        if streams > 1 and len(own) == 1:
            part += phrase(", all of stream {own}", own=own[0] + 1)
        parts.append(part)
    left = sum(frames for _, frames, _ in texts[_MOST_SAID:]) + further
    if left:
        parts.append(phrase("{left} × other changes", left=digits.count(left)))
    counts = phrase("{changed} of {compared} frames", changed=digits.count(changed), compared=digits.count(compared))
    return phrase("{counts} changed otherwise than expected: {parts}", counts=counts, parts=join_texts("; ", parts))


def _row(size: int, one: Finding, inputs: MethodInput, several: bool) -> Row:
    case = phrase("stream {stream}: {text}", stream=one.stream + 1, text=one.text) if several else one.text
    capabilities = inputs.capabilities
    # A time in virtual time is known as finely as its stamps; what real stamps are off by in a trial is not measured.
    error_s = capabilities.resolution_ns / 1e9 if capabilities.simulated else None
    times = {"first": one.first_ns, "last": one.last_ns}
    figures = {"frames": _frames(one.frames)} | {
        name: Quantity(value=time_ns / 1e9, unit="s", uncertainty=error_s) for name, time_ns in times.items()
    }
    return Row(frame_bytes=size, case=case, group=CHANGE, figures=figures)


def _frames(count: int) -> Quantity:
    return Quantity(value=count, unit="frames", uncertainty=0.0)


def _learnt(record: TrialRecord) -> tuple[tuple[str, ...], ...]:
    """What to expect of each stream, beside what was expected before."""
    own = (stream.changes for stream in record.facts.streams)
    return tuple(tuple(one.text for one in usual(changes)) if changes else () for changes in own)


def _as_learnt(size: int, learnt: Sequence[tuple[str, ...]], several_sizes: bool) -> list[str]:
    where = phrase(" at {size} byte", size=size) if several_sizes else ""
    found: dict[tuple[str, ...], list[int]] = {}
    for stream, texts in enumerate(learnt, start=1):
        found.setdefault(texts, []).append(stream)
    said = []
    for texts, streams in found.items():
        whose = "" if len(found) == 1 else phrase(" of stream {streams}", streams=join_texts(", ", map(str, streams)))
        what = ", ".join(texts) or "nothing"
        said.append(
            phrase(
                "learnt{where}: the device changes {what} in most frames{whose}", where=where, what=what, whose=whose
            )
        )
    return said


def _expected(record: TrialRecord) -> list[str]:
    texts = dict.fromkeys(stream.changes.expected for stream in record.facts.streams if stream.changes)
    return [phrase("expected: {own}", own=", ".join(own) if own else "no change") for own in texts]


def _check(plan: Plan, capabilities: Capabilities) -> None:
    """Raises PlanError for streams of mixed sizes."""
    if any(content.frame_bytes for content in plan.contents()):
        raise PlanError("mix", "changes compares frames of one size in a trial", "list sizes with --size instead")


PROCEDURE = Procedure(
    name="changes",
    title=phrase("Changed headers"),
    standard=phrase("every frame against the one that is expected"),
    summary="What the device changes in the headers of every frame: which field, from what to what, in which frames.",
    settings=ChangesSettings,
    generator=change_rows,
    figure="changed",
    units={"frames": "compared changed lost foreign frames", "%": "changed_share", "s": "first last"},
    example="keisoku changes --dut lab:router --size 64 --rate 50kpps --duration 2s --waits 0.1s",
    sizes="64",
    watches_headers=True,
    rows_when_simulated=True,
    needs=("compare",),
    over_two_hosts="counts",
    check=_check,
    plots=(changes_plot,),
)

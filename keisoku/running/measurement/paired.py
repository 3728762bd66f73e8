"""`keisoku ab`: two sides of one measurement, run in turn in pairs until it can be said whether B differs from A.

Each run of a side is complete, in a directory of its own (`pair-001/a`). Which side is first is drawn in blocks of two
pairs, once each way, so that a steady drift of the host cancels; both sides of a pair have one seed, so that they get
the same frames at the same times. When to stop is decided in `keisoku/ground/statistics/paired.py`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from keisoku.errors import EngineError, PlanError
from keisoku.ground.entry import Findings, Measurement, Work
from keisoku.ground.report.part import Part, plain_part
from keisoku.ground.run.criterion import ANY_UNIT
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.result import Result
from keisoku.ground.run.settings import RunSettings, parsed
from keisoku.language import join_texts, phrase, plural
from keisoku.running.measurement.baseline import check_this_machine, kept_runs, remarks_on
from keisoku.running.measurement.dry_run import outlined
from keisoku.running.measurement.paired_result import (
    NAME,
    TOLD,
    compared,
    judged,
    nothing_in_common,
    only_bounds,
    plots,
    sentence_of,
)
from keisoku.running.measurement.paired_settings import RUNS_AGAINST, WITHIN_S, PairedSettings
from keisoku.running.measurement.plan_values import Find
from keisoku.running.measurement.side_runs import (
    LATEST,
    RUNS,
    SideRuns,
    finished,
    order,
    prepare,
    results,
    table_of_pairs,
    used,
)
from keisoku.units import time_text

TITLE = phrase("Paired comparison")
_SIDES = ("a", "b")
_RESULTS = TypeAdapter(list[list[Result]])


def _measure(find: Find, work: Work[PairedSettings]) -> None:
    """Pairs, until every figure is judged or the budget is used up."""
    settings = work.settings
    entry = find(settings.of)
    named = _SIDES if settings.against is None else ("b",)
    sides = {side: _side_of(entry, settings, side) for side in named}
    kept: list[list[Result]] = []
    if settings.against is not None:
        known = None if work.resumed is None else work.resumed.facts.get("against")
        if known is None:
            kept = kept_runs(settings.against, entry, sides["b"])
            check_this_machine(settings.against)
        else:
            kept = _RESULTS.validate_python(known["results"])
    done = finished(work.directory) if work.directory is not None else []
    runs = {(line["pair"], line["side"]): results(entry, work.directory, line) for line in done if work.directory}
    with closing(SideRuns(work, entry, tuple(sides.values()), settings.seed)) as carried_out:
        _measure_pairs(work, entry, sides, kept, done, runs, carried_out)


def _measure_pairs(
    work: Work[PairedSettings],
    entry: Measurement[Any],
    sides: Mapping[str, RunSettings],
    kept: list[list[Result]],
    done: list[dict[str, Any]],
    runs: dict[tuple[int, str], list[Result]],
    carried_out: SideRuns,
) -> None:
    settings = work.settings
    pair, since, checked = 0, time.monotonic(), False
    first = 1
    while True:
        pair += 1
        for side in order(settings.seed, pair) if settings.against is None else ("b",):
            if (pair, side) in runs:
                continue
            if not checked:
                _check(entry, sides, settings)
                checked = True
            earlier = [runs[each, side] for each in range(max(first, pair - LATEST), pair)]
            near = entry.among(entry.near(sides[side], _first(runs, first, kept)), earlier)
            share = next(reversed(_used(settings, done)), 0.0)
            line, found = _run(work, near, pair, side, share, since, carried_out)
            since = time.monotonic()
            done.append(line)
            runs[pair, side] = found
            if settings.against is not None and pair == 1:
                assert work.directory is not None
                work.directory.know(**_kept_as_facts(settings.against, kept))
        shares = _used(settings, done)[:pair]
        a = kept or [runs.get((each, "a"), []) for each in range(1, pair + 1)]
        b = [runs[each, "b"] for each in range(1, pair + 1)]
        judgements = judged(entry, settings, a, b, shares)
        many = len({each.of.measurement for each in judgements}) > 1
        said = "; ".join(sentence_of(each, settings, many) for each in judgements)
        if len(judgements) > TOLD:
            said = plural(
                "{count} of {figures} figures is decided",
                "{count} of {figures} figures are decided",
                count=sum(each.said.ended for each in judgements),
                figures=len(judgements),
            )
        work.observer.tell(phrase("pair {pair}: {said}", pair=pair, said=said or phrase("nothing was measured so far")))
        decided = bool(judgements) and all(each.said.ended for each in judgements)
        if decided or shares[-1] >= 1 or nothing_in_common(settings, a, b):
            return
        if first == 1 and not kept and only_bounds(judgements, entry.stand_ins(settings.b)):
            sides, first = {side: entry.instead(of) for side, of in sides.items()}, pair + 1


def _analyse(find: Find, directory: RunDirectory) -> Findings:
    """The comparison from the runs that are finished. Raises PlanError if no pair is."""
    settings = parsed(PairedSettings, directory.plan)
    entry = find(settings.of)
    done = finished(directory)
    runs = {(line["pair"], line["side"]): results(entry, directory, line) for line in done}
    shares = _used(settings, done)
    if not shares:
        raise PlanError("run", f"{directory.path} holds no finished pair", "continue it with 'keisoku run --resume'")
    pairs = range(1, len(shares) + 1)
    remarks: list[str] = []
    if settings.against is None:
        a = [runs[pair, "a"] for pair in pairs]
    else:
        a = _RESULTS.validate_python(directory.facts["against"]["results"])
        remarks = remarks_on(directory.facts["against"]["context"], directory.context, str(settings.against))
    b = [runs[pair, "b"] for pair in pairs]
    found = judged(entry, settings, a, b, shares)
    return Findings([compared(settings, found, a, b, remarks)], plots(settings, found))


def _side_of(entry: Measurement[Any], settings: PairedSettings, side: str) -> RunSettings:
    found: RunSettings = parsed(entry.settings, settings.a if side == "a" else settings.b)
    return found


def _check(entry: Measurement[Any], sides: Mapping[str, RunSettings], settings: PairedSettings) -> None:
    """Raises PlanError or EngineError, before anything is measured, if a side is not possible.

    The command before a side's runs may make what they measure, so it has its chance.
    """
    for side, of in sides.items():
        try:
            try:
                entry.check(of)
            except (PlanError, EngineError):
                if not _prepared(settings, side):
                    raise
                entry.check(of)
        except PlanError as error:
            raise PlanError(f"{error.field} of side {side.upper()}", error.problem, error.remedy) from error


def _prepared(settings: PairedSettings, side: str) -> bool:
    """Carries out the command before a run of a side, if there is one. Raises EngineError if it fails."""
    command = settings.before_a if side == "a" else settings.before_b
    if command is None:
        return False
    prepare(f"--before-{side}", command)
    return True


def _run(
    work: Work[PairedSettings],
    of: RunSettings,
    pair: int,
    side: str,
    share: float,
    since: float,
    carried_out: SideRuns,
) -> tuple[dict[str, Any], list[Result]]:
    """One run of a side, and the line that is kept of it. Raises EngineError if its command fails.

    `since` is when the run before it was kept: its time is all that passed from then on.
    """
    _prepared(work.settings, side)
    said = phrase("pair {pair}, {side}", pair=pair, side=side.upper())
    place = f"pair-{pair:03d}/{side}"
    found = carried_out.run(of, pair, place, share, said)
    line = {"pair": pair, "side": side, "run": place, "seconds": round(time.monotonic() - since, 3)}
    assert work.directory is not None, "a part that is measured has begun the whole"
    work.directory.append_line(RUNS, json.dumps(line).encode())
    return line, found


def _first(runs: Mapping[tuple[int, str], list[Result]], first: int, kept: list[list[Result]]) -> list[Result]:
    """What all runs begin near: the results of the first pair, as far as there are any, or the kept ones. The same for
    both sides, so that neither side's search depends on how its own runs have gone so far, and what is known of the
    tester is one figure for both."""
    if kept:
        return [result for results in kept for result in results]
    return [result for side in _SIDES for result in runs.get((first, side), [])]


def _used(settings: PairedSettings, done: list[dict[str, Any]]) -> list[float]:
    """The share of the budget that was used up after each complete pair."""
    most, within_s = settings.pairs, settings.within_s
    if most is None and within_s is None:
        most, within_s = (None, WITHIN_S) if settings.against is None else (RUNS_AGAINST, None)
    return used(done, 2 if settings.against is None else 1, most, within_s)


def _kept_as_facts(path: Path, kept: list[list[Result]]) -> dict[str, Any]:
    """What is known of the kept run, so that this run can be analysed without it."""
    context = RunDirectory.open(path).context
    return {"against": {"results": _RESULTS.dump_python(kept, mode="json"), "context": context}}


def _tables(find: Find, directory: RunDirectory) -> Mapping[str, Callable[[], Any] | str | PlanError]:
    """`pairs`: the figures of every run, with its pair and side."""

    def table() -> Any:
        return table_of_pairs(find(str(directory.plan["of"])), directory, "side", lambda line: str(line["side"]))

    return {"pairs": table}


def _outlined(find: Find, settings: PairedSettings) -> list[str]:
    """What a run of each side does, and when the comparison ends."""
    entry, said = find(settings.of), []
    for side in _SIDES if settings.against is None else ("b",):
        own = outlined(entry, _side_of(entry, settings, side))
        said += [phrase("a run of side {side}: {what}", side=side.upper(), what=line) for line in own]
    limits = [] if settings.pairs is None else [plural("{count} pair", "{count} pairs", count=settings.pairs)]
    if settings.within_s is not None or not limits:
        limits.append(time_text(settings.within_s or WITHIN_S))
    ends = join_texts(", ", limits)
    return [*said, phrase("pairs of runs in turn, until the answer is certain: at most {limits}", limits=ends)]


def _part(runs: Sequence[tuple[RunDirectory, Findings]]) -> Part:
    """With both sides beside the change."""
    found = [(directory, findings.results, findings.plots) for directory, findings in runs]
    return plain_part(found, TITLE, NAME, "change", beside=("a", "b"))


def of_runs(find: Find) -> Measurement[PairedSettings]:
    """The entry, which measures by runs of the entries that `find` gives."""
    return Measurement(
        name=NAME,
        title=TITLE,
        settings=PairedSettings,
        measure=partial(_measure, find),
        analyse=partial(_analyse, find),
        summary="Compares two devices, settings or builds by pairs of complete runs, and says whether B is worse than "
        "A.",
        figure="change",
        units={"%": "change worse_by", "": "pairs", ANY_UNIT: "a b"},
        part=_part,
        tables=partial(_tables, find),
        resumes=True,
        outlined=partial(_outlined, find),
        ends_in_time=True,
        named=lambda settings: f"ab-{'-'.join(settings.b.get('methods', [settings.of]))}",
    )

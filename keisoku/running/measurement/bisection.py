"""`keisoku bisect`: which commit changed a figure, from pairs of runs of a commit and of one end of the history.

Both runs of a pair follow each other, so that a drift of the host cancels. Which commit is measured next, and when the
answer is certain, is decided in `keisoku/ground/statistics/bisection.py`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from typing import Any

from keisoku.errors import EngineError, PlanError
from keisoku.ground.entry import Findings, Measurement, Work
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.result import Result
from keisoku.ground.run.settings import RunSettings, parsed
from keisoku.language import phrase
from keisoku.running.measurement.bisected import Bisected, bisected
from keisoku.running.measurement.bisection_result import NAME, plots, result_of, said_so_far
from keisoku.running.measurement.bisection_settings import BisectionSettings
from keisoku.running.measurement.commit_builds import Builds
from keisoku.running.measurement.commit_history import Commit, Repository
from keisoku.running.measurement.dry_run import outlined
from keisoku.running.measurement.paired_settings import WITHIN_S
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

SKIPPED = "skipped.jsonl"
"""A line for each commit that cannot be measured, with the cause."""
Runs = dict[tuple[int, int], list[Result]]
"""The results of each run by its pair and the place of its commit."""


def _measure(find: Find, work: Work[BisectionSettings]) -> None:
    """Pairs, until the answer is certain or the budget is used up."""
    repository = Repository(work.settings.folder.absolute())
    good, bad = (repository.commit(name.upper(), getattr(work.settings, name)) for name in ("good", "bad"))
    commits = repository.between(good, bad)
    # What is kept names the commits themselves: a branch may stand elsewhere when the run goes on.
    given = {"folder": repository.folder, "good": good, "bad": bad}
    work.settings = work.settings.model_copy(update=given)
    if repository.is_changed:
        work.observer.warn(phrase("changes that are not committed are not built"))
    entry = find(work.settings.of)
    side: RunSettings = parsed(entry.settings, work.settings.plan)
    with (
        closing(Builds(repository, work.settings.build)) as builds,
        closing(SideRuns(work, entry, [side], work.settings.seed)) as carried_out,
    ):
        _Bisection(work, entry, side, commits, builds, carried_out).until_certain()


class _Bisection:
    """The pairs of one history."""

    def __init__(
        self,
        work: Work[BisectionSettings],
        entry: Measurement[Any],
        side: RunSettings,
        commits: list[Commit],
        builds: Builds,
        carried_out: SideRuns,
    ) -> None:
        self._work, self._entry, self._side, self._commits = work, entry, side, commits
        self._builds, self._carried_out = builds, carried_out
        directory = work.directory
        self._done = finished(directory) if directory is not None else []
        self._skipped = _skipped(directory) if directory is not None else {}
        self._runs: Runs = _runs(entry, directory) if directory is not None else {}
        self._checked = False

    def until_certain(self) -> None:
        """Measures. Raises EngineError if an end of the history cannot be built, loaded or measured."""
        for place in (0, len(self._commits) - 1):
            if why := self._built(place):
                raise EngineError(f"--build: {self._commits[place]} cannot be built: {why}")
        while True:
            found = self._found()
            share = _used(self._work.settings, self._done)
            if self._done:
                self._work.observer.tell(said_so_far(found))
            if found.ended or share >= 1:
                return
            self._pair(*found.belief.next(), share)
            self._skip_without_figures()

    def _found(self) -> Bisected:
        return bisected(self._entry, self._work.settings, self._commits, self._runs, self._skipped)

    def _pair(self, place: int, against_bad: bool, share: float) -> None:
        """One pair, or the news that the commit cannot be measured."""
        end = len(self._commits) - 1 if against_bad else 0
        if why := self._built(place):
            self._skip(place, phrase("it cannot be built ({why})", why=why))
            return
        pair, both = self._next_pair({end, place}), {"a": end, "b": place}
        failed: EngineError | None = None
        for side in order(self._work.settings.seed, pair):
            if (pair, both[side]) in self._runs:
                continue
            try:
                self._run(pair, both[side], share)
            except EngineError as error:
                if side == "a" or place == len(self._commits) - 1:
                    raise  # an end could be measured before, so this host is the cause
                failed = error
        if failed is not None:
            self._skip(place, phrase("it cannot be measured ({why})", why=failed))

    def _next_pair(self, places: set[int]) -> int:
        """Its number: that of an interrupted one of these commits, or a new one."""
        last = max((pair for pair, _ in self._runs), default=0)
        begun = {place for pair, place in self._runs if pair == last}
        return last if len(begun) == 1 and begun < places else last + 1

    def _skip_without_figures(self) -> None:
        """A commit of which several runs had no figure is skipped."""
        found = self._found()
        for place, cause in found.without_figures.items():
            if place not in self._skipped:
                self._skip(place, phrase("it cannot be measured ({why})", why=cause))

    def _built(self, place: int) -> str:
        commit = self._commits[place]
        if not self._builds.is_kept(commit):
            self._work.observer.tell(phrase("building {commit}", commit=commit))
        return self._builds.make(commit)

    def _skip(self, place: int, why: str) -> None:
        self._skipped[place] = why
        self._work.observer.warn(phrase("{commit} is skipped: {why}", commit=self._commits[place], why=why))
        assert self._work.directory is not None, "the ends were measured before"
        self._work.directory.append_line(SKIPPED, json.dumps({"place": place, "why": why}).encode())

    def _run(self, pair: int, place: int, share: float) -> None:
        """One run of a commit. Raises EngineError if it cannot be loaded or measured."""
        settings, commit, began_s = self._work.settings, self._commits[place], time.monotonic()
        prepare("--load", settings.load, settings.folder, **self._builds.environment(commit))
        if not self._checked:
            self._entry.check(self._side)
            self._checked = True
        first = [result for (of, _), found in self._runs.items() if of == 1 for result in found]
        earlier = [found for (_, of), found in self._runs.items() if of == place][-LATEST:]
        near = self._entry.among(self._entry.near(self._side, first), earlier)
        said = phrase("pair {pair}, {side}", pair=pair, side=commit.short)
        name = f"pair-{pair:03d}/{commit.short}"
        self._runs[pair, place] = self._carried_out.run(near, pair, name, share, said)
        line = {"pair": pair, "place": place, "run": name, "seconds": round(time.monotonic() - began_s, 3)}
        assert self._work.directory is not None, "a part that is measured has begun the whole"
        self._work.directory.append_line(RUNS, json.dumps(line).encode())
        self._done.append(line)
        if "commits" not in self._work.directory.facts:
            self._work.directory.know(commits=[[each.name, each.subject] for each in self._commits])


def _analyse(find: Find, directory: RunDirectory) -> Findings:
    """The answer from the runs that are finished. Raises PlanError if no pair is."""
    settings = parsed(BisectionSettings, directory.plan)
    entry = find(settings.of)
    commits = [Commit(*each) for each in directory.facts.get("commits", [])]
    found = bisected(entry, settings, commits, _runs(entry, directory), _skipped(directory)) if commits else None
    if found is None or not found.pairs:
        raise PlanError("run", f"{directory.path} holds no finished pair", "continue it with 'keisoku run --resume'")
    return Findings([result_of(found)], plots(found))


def _used(settings: BisectionSettings, done: list[dict[str, Any]]) -> float:
    """The share of the budget that was used up, never more than 1."""
    most, within_s = settings.pairs, settings.within_s
    if most is None and within_s is None:
        within_s = WITHIN_S
    return next(reversed(used(done, 1, None if most is None else 2 * most, within_s)), 0.0)


def _runs(entry: Measurement[Any], directory: RunDirectory) -> Runs:
    return {(line["pair"], line["place"]): results(entry, directory, line) for line in finished(directory)}


def _skipped(directory: RunDirectory) -> dict[int, str]:
    return {line["place"]: line["why"] for line in map(json.loads, directory.lines(SKIPPED))}


def _tables(find: Find, directory: RunDirectory) -> Mapping[str, Callable[[], Any] | str | PlanError]:
    """`pairs`: the figures of every run, with its pair and commit."""

    def commit(line: Mapping[str, Any]) -> str:
        return str(directory.facts["commits"][line["place"]][0])

    def table() -> Any:
        return table_of_pairs(find(str(directory.plan["of"])), directory, "commit", commit)

    return {"pairs": table}


def _outlined(find: Find, settings: BisectionSettings) -> list[str]:
    """What a run of a commit does, and how many commits there are."""
    repository, entry = Repository(settings.folder.absolute()), find(settings.of)
    commits = repository.between(
        *(repository.commit(name.upper(), getattr(settings, name)) for name in ("good", "bad"))
    )
    own = outlined(entry, parsed(entry.settings, settings.plan))
    count = phrase("{count} commits, of which pairs are measured until the answer is certain", count=len(commits))
    return [*(phrase("a run of a commit: {what}", what=line) for line in own), count]


def of_runs(find: Find) -> Measurement[BisectionSettings]:
    """The entry, which measures by runs of the entries that `find` gives."""
    return Measurement(
        name=NAME,
        title=phrase("Bisection"),
        settings=BisectionSettings,
        measure=partial(_measure, find),
        analyse=partial(_analyse, find),
        summary="Finds the commit between GOOD and BAD that changed a figure, and says how sure that is.",
        figure="probability",
        units={"%": "change probability", "": "pairs"},
        tables=partial(_tables, find),
        resumes=True,
        outlined=partial(_outlined, find),
        ends_in_time=True,
    )

"""Names of runs for reports: what was measured, different for each run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.result import Result
from keisoku.language import join_texts


def names_of(runs: Sequence[RunDirectory], results: Sequence[Sequence[Result]]) -> list[str]:
    """The device's name, as the user or else the run or its plan gave it, the title of the result, or what was measured
    from where to where; where two are alike with the engine, or with when they began."""
    contexts = [run.context for run in runs]
    titles = [next((each.title for each in found if each.title), "") for found in results]
    return distinct(
        [
            run.about.get("device") or context.get("device") or run.plan.get("dut") or title or _measured(run)
            for run, context, title in zip(runs, contexts, titles, strict=True)
        ],
        [str(run.context.get("engine") or run.context.get("started_at") or "") for run in runs],
    )


def _measured(run: RunDirectory) -> str:
    """'stream tcp, 192.0.2.1': the measurement, and the far end that its settings name."""
    ends = [str(run.plan[key]) for key in ("host", "server", "url", "dut", "tx", "rx") if run.plan.get(key)]
    return ", ".join([run.measurement, *ends])


def distinct(names: Sequence[str], engines: Sequence[str]) -> list[str]:
    """The names; where some are equal, with the engine, and with a number where that is not enough."""
    if len(set(names)) < len(names):
        names = [
            join_texts(" · ", [name, engine]) if engine else name for name, engine in zip(names, engines, strict=True)
        ]
    alike, seen = Counter(names), Counter[str]()
    found = []
    for name in names:
        seen[name] += 1
        found.append(join_texts("", [name, f" ({seen[name]})"]) if alike[name] > 1 else name)
    return found

"""Result of a governor's run: what it did, and which state of the system it inferred.

States are inferred again from what was observed. Truth, where a system knew it, is only counted against them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from keisoku.ground.run.result import Flag, Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase, plural, recorded
from keisoku.subjects.system.figure_of_merit import FIGURES
from keisoku.subjects.system.govern.governor import Phase
from keisoku.subjects.system.govern.inference import Inference, Inferred
from keisoku.subjects.system.interval_log import KeptInterval, not_as_asked
from keisoku.subjects.system.objective import GOALS
from keisoku.subjects.system.search.candidate import limit_text
from keisoku.subjects.system.settings import GovernSettings
from keisoku.subjects.system.state import SAID, State

NAME = "system govern"
HELD, STATES, CLIENTS = phrase("Held from"), phrase("State"), phrase("Client")
_MOST_ROWS = 50
"""Periods of holding that are shown; a day has hundreds."""


def believed(intervals: Sequence[KeptInterval]) -> tuple[Inference, list[Inferred]]:
    """What is believed after all intervals, and of the whole system after each."""
    inference = Inference()
    wholes: list[Inferred] = []
    for kept in intervals:
        inference.observe(kept.observation)
        wholes.append(inference.whole)
    return inference, wholes


def analyse(
    settings: GovernSettings, intervals: Sequence[KeptInterval], inference: Inference, wholes: Sequence[Inferred]
) -> Result:
    """`inference` and `wholes` are what `believed` gives."""
    periods = _periods(intervals, wholes, settings)
    goal = GOALS[settings.objective]
    return Result(
        measurement=NAME,
        title=phrase(
            "{system}: governed at {clients} for {goal}",
            system=settings.system,
            clients=join_texts(", ", settings.client),
            goal=goal,
        ),
        rows=[*periods[:_MOST_ROWS], *_states(intervals, wholes), *_clients(inference)],
        flags=[*_flags(intervals), *not_as_asked(intervals, settings.client)],
        remarks=_remarks(intervals, wholes, len(periods)),
        sentence=_flags(intervals)[0].text,
    )


def _periods(intervals: Sequence[KeptInterval], wholes: Sequence[Inferred], settings: GovernSettings) -> list[Row]:
    """A row for each time that a limit was held without interruption."""
    merit, objective = FIGURES[settings.objective], settings.weighted_objective
    starts = np.concatenate([[0.0], np.cumsum([kept.observation.seconds for kept in intervals])])
    rows = []
    for key, grouped in groupby(range(len(intervals)), lambda i: (intervals[i].purpose, intervals[i].why)):
        mine = list(grouped)
        used = [i for i in mine if intervals[i].used]
        if key[0] != Phase.HOLD or not used:
            continue
        scores = [objective.score(intervals[i].observation) for i in used]
        state = Counter(wholes[i].state for i in mine).most_common(1)[0][0]
        figures = {
            "duration": Quantity(value=1e9 * float(starts[mine[-1] + 1] - starts[mine[0]]), unit="ns", uncertainty=0.0),
            merit.name: merit.mean(scores),
        }
        remark = join_texts(
            "", [limit_text(intervals[mine[0]].commanded_bps), ": ", recorded(key[1]), "; ", SAID[state]]
        )
        at = Quantity(value=1e9 * float(starts[mine[0]]), unit="ns", uncertainty=0.0)
        rows.append(Row(case=f"{starts[mine[0]]:,.0f} s", figures=figures, at=at, group=HELD, remark=remark))
    return rows


def _states(intervals: Sequence[KeptInterval], wholes: Sequence[Inferred]) -> list[Row]:
    """How long each state was inferred, and how often correctly where the true state was known."""
    rows = []
    for state in State:
        mine = [kept for kept, whole in zip(intervals, wholes, strict=True) if whole.state is state]
        if not mine:
            continue
        seconds = sum(kept.observation.seconds for kept in mine)
        figures = {"believed_for": Quantity(value=1e9 * seconds, unit="ns", uncertainty=0.0)}
        if known := [kept for kept in mine if kept.truth is not None]:
            right = 100 * sum(kept.truth is state for kept in known) / len(known)
            figures["right"] = Quantity(value=right, unit="%", uncertainty=0.0, covers="observed")
        last = max(i for i, whole in enumerate(wholes) if whole.state is state)
        rows.append(
            Row(case=SAID[state], figures=figures, group=STATES, remark=phrase("at last: {why}", why=wholes[last].why))
        )
    return rows


def _clients(inference: Inference) -> list[Row]:
    """What limited each client in the last interval, and the reason for the inference."""
    return [
        Row(case=name, figures={}, group=CLIENTS, remark=join_texts(": ", [SAID[one.state], one.why]))
        for name, one in inference.clients.items()
    ]


def _flags(intervals: Sequence[KeptInterval]) -> list[Flag]:
    last = intervals[-1]
    if last.purpose == Phase.HOLD:
        return [
            Flag(
                name="held",
                text=phrase(
                    "At the end {limit} was held: {why}.", limit=limit_text(last.commanded_bps), why=recorded(last.why)
                ),
            )
        ]
    return [Flag(name="searching", text=phrase("The run ended while the governor observed or searched."))]


def _remarks(intervals: Sequence[KeptInterval], wholes: Sequence[Inferred], periods: int) -> list[str]:
    total = sum(kept.observation.seconds for kept in intervals)
    held = sum(kept.observation.seconds for kept in intervals if kept.purpose == Phase.HOLD and kept.used)
    said = [
        plural(
            "Of {total:,.0f} s, {percent:.1f} % were spent holding a limit, the rest observing and searching; it was "
            "held {count} time.",
            "Of {total:,.0f} s, {percent:.1f} % were spent holding a limit, the rest observing and searching; it was "
            "held {count} times.",
            total=total,
            percent=100 * held / total,
            count=periods,
        )
    ]
    if periods > _MOST_ROWS:
        said.append(phrase("The first {count} of them are shown.", count=_MOST_ROWS))
    known = [(kept, whole) for kept, whole in zip(intervals, wholes, strict=True) if kept.truth is not None]
    if known:
        right = sum(kept.truth is whole.state for kept, whole in known)
        said.append(
            phrase(
                "The state of the whole system was inferred correctly in {right} of {count} "
                "intervals, by the simulation's own record, which the governor cannot see.",
                right=right,
                count=len(known),
            )
        )
    return said

"""Result of a search or sweep for a limit: rows, flags and remarks."""

from __future__ import annotations

import math

import numpy as np

from keisoku.analysis.quantity import Quantity
from keisoku.run.result import Flag, Result, Row
from keisoku.system.figure_of_merit import FIGURES
from keisoku.system.search.asking import Answer
from keisoku.system.search.candidate import Candidates, limit_text
from keisoku.system.search.gaussian_process import Beliefs
from keisoku.system.search.limit_curve import CurvePoint
from keisoku.system.search.search import WORTH, LimitFound, chance_of_better
from keisoku.system.settings import LimitSettings

NAME = "app limit"
ANSWER, LIMITS = "Answer", "Limit"


def analyse(
    settings: LimitSettings,
    answer: Answer | None,
    points: list[CurvePoint],
    known: Beliefs | None,
    candidates: Candidates,
) -> Result:
    """`points` are what was evaluated; `answer`: None if the run ended before there was one."""
    return Result(
        measurement=NAME,
        title=f"{settings.system}: limit of {', '.join(settings.client)} for {_goal(settings)}",
        rows=[*_answer(answer, points, known, candidates), *(_row(point, settings) for point in points)],
        flags=_flags(answer, points, settings),
        remarks=_remarks(answer, settings),
    )


def _goal(settings: LimitSettings) -> str:
    words = settings.objective.value.replace("_", " ")
    bounds = [f"p99 at most {settings.p99_s:g} s"] if settings.p99_s else []
    bounds += [f"{name} at least {floor / 1e6:g} Mb/s" for name, floor in settings.keep_bps.items()]
    return f"{words}, {', '.join(bounds)}" if bounds else words


def _row(point: CurvePoint, settings: LimitSettings) -> Row:
    merit = FIGURES[settings.objective]
    others = np.subtract(point.requests, point.governed).tolist()
    figures = {
        merit.name: merit.mean(point.scores),
        "requests": _mean(point.requests, "requests/s"),
        "limited_clients": _mean(point.governed, "requests/s"),
        "other_clients": _mean(others, "requests/s"),
        "forwarded": _mean(point.bps, "bit/s"),
        "evaluations": Quantity(value=len(point.scores), unit="", uncertainty=0.0),
    }
    broken = "a constraint was broken" if point.margins and float(np.mean(point.margins)) < 0 else ""
    rate = point.limit or settings.line_rate_bps
    return Row(
        case=limit_text(point.limit),
        figures=figures,
        at=Quantity(value=rate, unit="bit/s", uncertainty=0.0),
        group=LIMITS,
        remark=broken,
    )


def _answer(
    answer: Answer | None, points: list[CurvePoint], known: Beliefs | None, candidates: Candidates
) -> list[Row]:
    """One row: the limit that is advised, or the best candidate, and its gain."""
    if isinstance(answer, LimitFound):
        if answer.candidate is None or answer.gain is None:
            return []
        better = "" if known is None else _better(known, answer.candidate, candidates)
        two_sided = answer.gain.percent, _percent(answer.gain.mean, answer.gain.error)
        return [_best("advised" if answer.limit else "tried, not advised", answer.candidate, two_sided, better)]
    best, none = _best_point(points), points[-1]
    if answer is None or best.limit is None or none.limit is not None:
        return []
    gain = float(np.mean(best.scores) - np.mean(none.scores))
    errors = [_error(point.scores) for point in (best, none)]
    error = math.hypot(*errors) if len(best.scores) > 1 and len(none.scores) > 1 else None
    alike = [point.limit for point in points if point.limit is not None and _alike(point, best)]
    return [
        _best(
            "best of the sweep",
            best.limit,
            (100 * math.expm1(gain), None if error is None else _percent(gain, 2 * error)),
            f"{limit_text(min(alike))} to {limit_text(max(alike))} are not distinguishable from it",
        )
    ]


def _best(name: str, limit: float, gain: tuple[float, float | None], remark: str) -> Row:
    percent, error = gain
    figures = {
        "limit": Quantity(value=limit, unit="bit/s", uncertainty=0.0),
        "gain_over_no_limit": Quantity(value=percent, unit="%", uncertainty=error),
    }
    return Row(case=name, figures=figures, group=ANSWER, remark=remark)


def _better(known: Beliefs, limit: float, candidates: Candidates) -> str:
    chance = 100 * chance_of_better(known, candidates.limits.index(limit))
    return f"the chance that another limit is more than {100 * WORTH:g} % better is {chance:.2g} %"


def _flags(answer: Answer | None, points: list[CurvePoint], settings: LimitSettings) -> list[Flag]:
    if answer is None:
        return [Flag(name="interrupted", text="The run was interrupted before there was an answer.")]
    if isinstance(answer, LimitFound):
        return [_found(answer), *_broken(answer, points)]
    best = _best_point(points)
    alike = [limit_text(point.limit) for point in points if _alike(point, best)]
    which = alike[0] if len(alike) == 1 else f"{', '.join(alike[:-1])} and {alike[-1]}"
    text = f"These are not distinguishable from the best by {settings.times} evaluations each: {which}."
    return [Flag(name="best-limits", text=text)]


def _found(answer: LimitFound) -> Flag:
    if answer.limit is not None and answer.gain is not None:
        bound = 100 * math.expm1(answer.gain.lower)
        text = f"Set {limit_text(answer.limit)}: with 95 % confidence it gains at least {bound:.2g} % over no limit."
        return Flag(name="limit", text=text)
    if answer.gain is None:
        return Flag(name="no-limit", text="Set no limit: every limit that was tried is worse, or no better.")
    text = (
        f"Set no limit: {limit_text(answer.candidate)} was the best one, but its gain over no limit is not significant"
        f" (lower bound of 95 %: {100 * math.expm1(answer.gain.lower):.2g} %)."
    )
    return Flag(name="no-limit", text=text)


def _broken(answer: LimitFound, points: list[CurvePoint]) -> list[Flag]:
    margins = next((point.margins for point in points if point.limit == answer.limit), [])
    if not margins or float(np.mean(margins)) >= 0:
        return []
    text = f"The advised setting, {limit_text(answer.limit)}, breaks a constraint, and no limit keeps them better."
    return [Flag(name="constraint-broken", text=text)]


def _remarks(answer: Answer | None, settings: LimitSettings) -> list[str]:
    if isinstance(answer, LimitFound):
        tried = sum(asked.purpose != "confirm" for asked, _ in answer.evaluations)
        confirming = len(answer.evaluations) - tried
        return [
            f"The search ended after {tried} evaluations because {answer.ended}; {confirming} more confirmed.",
            f"One evaluation of {settings.interval_s:g} s scatters by {100 * answer.noise_sd:.2g} %.",
        ]
    if answer is not None:
        return ["The best of many points is partly chance: a search without --sweep confirms its gain."]
    return []


def _best_point(points: list[CurvePoint]) -> CurvePoint:
    return max(points, key=lambda point: float(np.mean(point.scores)))


def _alike(point: CurvePoint, best: CurvePoint) -> bool:
    """True if they differ by less than two standard errors of the difference."""
    apart = float(np.mean(best.scores) - np.mean(point.scores))
    return apart <= 2 * math.hypot(_error(point.scores), _error(best.scores))


def _error(scores: list[float]) -> float:
    return float(np.std(scores, ddof=1)) / math.sqrt(len(scores)) if len(scores) > 1 else 0.0


def _percent(logarithm: float, error: float) -> float:
    return 100 * math.exp(logarithm) * error


def _mean(values: list[float], unit: str) -> Quantity:
    error = None if len(values) < 2 else 2 * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return Quantity(value=float(np.mean(values)), unit=unit, uncertainty=error)

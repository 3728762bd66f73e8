"""Result of a search or sweep for a limit: rows, flags and remarks."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from keisoku.ground.run.result import Flag, Result, Row
from keisoku.ground.statistics import budget
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.ground.statistics.uncertainty import half_width_of_sum
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.system.figure_of_merit import FIGURES
from keisoku.subjects.system.objective import GOALS
from keisoku.subjects.system.search.asking import SearchResult
from keisoku.subjects.system.search.candidate import Candidates, limit_text
from keisoku.subjects.system.search.client_share import ClientShare
from keisoku.subjects.system.search.confirmation import Gain
from keisoku.subjects.system.search.gaussian_process import Beliefs
from keisoku.subjects.system.search.limit_curve import CurvePoint
from keisoku.subjects.system.search.search import SETTLES, UNLIKELY, WORTH, Compared, LimitFound, chance_of_better
from keisoku.subjects.system.settings import LimitSettings

NAME = "system limit"
ANSWER, LIMITS, CLIENTS = phrase("Answer"), phrase("Limit"), phrase("Client")
NEAR_FLOOR = 1.5
"""Multiple of the floor up to which a limit is near it."""
SKEW = 0.05
"""Half the width of an interval (natural logarithm) from which on it is not symmetrical in percent."""


def analyse(
    settings: LimitSettings,
    answer: SearchResult | None,
    points: list[CurvePoint],
    known: Beliefs | None,
    candidates: Candidates,
    shares: Sequence[ClientShare] = (),
) -> Result:
    """`points` are what was evaluated, `shares` what each client got; `answer`: None if the run ended before there was
    one."""
    return Result(
        measurement=NAME,
        title=phrase(
            "{system}: limit of {clients} for {goal}",
            system=settings.system,
            clients=join_texts(", ", settings.client),
            goal=_goal(settings),
        ),
        rows=[
            *_answer(answer, points, known, candidates),
            *(_row(point, settings) for point in points),
            *(_client(one) for one in shares),
        ],
        flags=[*_flags(answer, points, settings), *_warnings(answer, candidates, shares)],
        remarks=_remarks(answer, settings, points, known, candidates),
    )


def _goal(settings: LimitSettings) -> str:
    words = GOALS[settings.objective]
    bounds = [phrase("p99 at most {seconds:g} s", seconds=settings.p99_s)] if settings.p99_s else []
    bounds += [
        phrase("{name} at least {rate:g} Mb/s", name=name, rate=floor / 1e6)
        for name, floor in settings.keep_bps.items()
    ]
    return join_texts(", ", [words, *bounds])


def _row(point: CurvePoint, settings: LimitSettings) -> Row:
    merit = FIGURES[settings.objective]
    others = np.subtract(point.requests, point.governed).tolist()
    figures = {
        merit.name: merit.mean(point.scores),
        "requests": budget.mean(point.requests, "requests/s"),
        "limited_clients": budget.mean(point.governed, "requests/s"),
        "other_clients": budget.mean(others, "requests/s"),
        "forwarded": budget.mean(point.bps, "bit/s"),
        "evaluations": Quantity(value=len(point.scores), unit="", uncertainty=0.0),
    }
    broken = phrase("a constraint was broken") if point.margins and float(np.mean(point.margins)) < 0 else ""
    rate = point.limit or settings.line_rate_bps
    return Row(
        case=limit_text(point.limit),
        figures=figures,
        at=Quantity(value=rate, unit="bit/s", uncertainty=0.0),
        group=LIMITS,
        remark=broken,
    )


def _client(one: ClientShare) -> Row:
    figures = {
        "rate_without_limit": budget.mean(list(one.without), "bit/s"),
        "rate_under_limit": budget.mean(list(one.under), "bit/s"),
    }
    if one.share is not None:
        figures["share_kept"] = Quantity(value=100 * one.share, unit="%", uncertainty=100 * one.error or None)
    return Row(case=one.name, figures=figures, group=CLIENTS, remark=phrase("starved") if one.starved else "")


def _warnings(answer: SearchResult | None, candidates: Candidates, shares: Sequence[ClientShare]) -> list[Flag]:
    """What a user must know of a limit before setting it."""
    if not isinstance(answer, LimitFound) or answer.gain is None or answer.candidate is None:
        return []
    found = []
    if answer.limit is not None:
        starved = [
            phrase("{name} keeps {percent:.2g} %", name=one.name, percent=100 * (one.share or 0.0))
            for one in shares
            if one.starved
        ]
        if starved:
            text = phrase(
                "Under the advised limit a client gets little of what it gets without one: "
                "{starved}. If that must not be, give --keep CLIENT=RATE, --floor, or the objective "
                "sum_logs.",
                starved=join_texts(", ", starved),
            )
            found.append(Flag(name="starved", text=text))
        if answer.limit <= NEAR_FLOOR * candidates.floor_bps:
            text = phrase(
                "The advised limit is near the floor of {limit}, below which none was tried: the "
                "best one may be lower still.",
                limit=limit_text(candidates.floor_bps),
            )
            found.append(Flag(name="at-floor", text=text))
    if answer.gain.unsettled is not None:
        text = phrase(
            "The system may not have settled {settles} times --settle after a change: something "
            "still changed by {percent:+.2g} %, which the interval of the gain contains. Give a "
            "longer --settle, and look whether the load is constant.",
            settles=answer.gain.settles,
            percent=100 * math.expm1(answer.gain.unsettled),
        )
        found.append(Flag(name="not-settled", text=text))
    return found


def _answer(
    answer: SearchResult | None, points: list[CurvePoint], known: Beliefs | None, candidates: Candidates
) -> list[Row]:
    """One row: the limit that is advised, or the best candidate, and its gain."""
    if isinstance(answer, LimitFound):
        if answer.candidate is None or answer.gain is None:
            return []
        better = "" if known is None else _better(known, answer.candidate, candidates)
        name = phrase("advised") if answer.limit else phrase("tried, not advised")
        return [_best(name, answer.candidate, _gain(answer.gain), better)]
    best, none = _best_point(points), points[-1]
    if answer is None or best.limit is None or none.limit is not None:
        return []
    gain = float(np.mean(best.scores) - np.mean(none.scores))
    error = _reach(best, none) or None
    alike = [point.limit for point in points if point.limit is not None and _alike(point, best)]
    return [
        _best(
            phrase("best of the sweep"),
            best.limit,
            Quantity(
                value=100 * math.expm1(gain), unit="%", uncertainty=None if error is None else _percent(gain, error)
            ),
            phrase(
                "{low} to {high} are not distinguishable from it",
                low=limit_text(min(alike)),
                high=limit_text(max(alike)),
            ),
        )
    ]


def _gain(gain: Gain) -> Quantity:
    if gain.error < SKEW:
        return Quantity(value=gain.percent, unit="%", uncertainty=_percent(gain.mean, gain.error))
    lower, upper = (100 * math.expm1(gain.mean + side * gain.error) for side in (-1, 1))
    return Quantity(value=gain.percent, unit="%", interval=Interval(lower=lower, upper=upper))


def _best(name: str, limit: float, gain: Quantity, remark: str) -> Row:
    figures = {"limit": Quantity(value=limit, unit="bit/s", uncertainty=0.0), "gain_over_no_limit": gain}
    return Row(case=name, figures=figures, group=ANSWER, remark=remark)


def _better(known: Beliefs, limit: float, candidates: Candidates) -> str:
    chance = 100 * chance_of_better(known, candidates.limits.index(limit))
    return phrase(
        "the chance that another limit is more than {percent:g} % better is {chance:.2g} %",
        percent=100 * WORTH,
        chance=chance,
    )


def _flags(answer: SearchResult | None, points: list[CurvePoint], settings: LimitSettings) -> list[Flag]:
    if answer is None:
        return [Flag(name="interrupted", text=phrase("The run was interrupted before there was an answer."))]
    if isinstance(answer, LimitFound):
        return [_found(answer), *_broken(answer, points)]
    best = _best_point(points)
    alike = [limit_text(point.limit) for point in points if _alike(point, best)]
    which = (
        alike[0]
        if len(alike) == 1
        else phrase("{alike} and {alike2}", alike=join_texts(", ", alike[:-1]), alike2=alike[-1])
    )
    text = plural(
        "These are not distinguishable from the best by {count} evaluation each: {which}.",
        "These are not distinguishable from the best by {count} evaluations each: {which}.",
        count=settings.times,
        which=which,
    )
    return [Flag(name="best-limits", text=text)]


def _found(answer: LimitFound) -> Flag:
    if answer.limit is not None and answer.gain is not None:
        bound = 100 * math.expm1(answer.gain.lower)
        text = phrase(
            "Set {limit}: with 95 % confidence it gains at least {bound:.2g} % over no limit.",
            limit=limit_text(answer.limit),
            bound=bound,
        )
        return Flag(name="limit", text=text)
    if answer.gain is None:
        return Flag(name="no-limit", text=phrase("Set no limit: every limit that was tried is worse, or no better."))
    text = phrase(
        "Set no limit: {limit} was the best one, but its gain over no limit is not "
        "significant (lower bound of 95 %: {bound:.2g} %).",
        limit=limit_text(answer.candidate),
        bound=100 * math.expm1(answer.gain.lower),
    )
    return Flag(name="no-limit", text=text)


def _broken(answer: LimitFound, points: list[CurvePoint]) -> list[Flag]:
    margins = next((point.margins for point in points if point.limit == answer.limit), [])
    if not margins or float(np.mean(margins)) >= 0:
        return []
    text = phrase(
        "The advised setting, {limit}, breaks a constraint, and no limit keeps them better.",
        limit=limit_text(answer.limit),
    )
    return [Flag(name="constraint-broken", text=text)]


def _remarks(
    answer: SearchResult | None,
    settings: LimitSettings,
    points: list[CurvePoint],
    known: Beliefs | None,
    candidates: Candidates,
) -> list[str]:
    if isinstance(answer, LimitFound):
        tried = sum(asked.purpose not in ("confirm", "compare") for asked, _ in answer.evaluations)
        confirming = len(answer.evaluations) - tried
        return [
            plural(
                "The search ended after {count} evaluation because {why}; {confirming} more confirmed.",
                "The search ended after {count} evaluations because {why}; {confirming} more confirmed.",
                count=tried,
                why=answer.ended,
                confirming=confirming,
            ),
            phrase(
                "One evaluation of {seconds:g} s scatters by {percent:.2g} %.",
                seconds=settings.interval_s,
                percent=100 * answer.noise_sd,
            ),
            *_settling(answer),
            *(_comparison(one) for one in answer.compared),
            *_reopened(answer, known, candidates),
            *_higher(answer, points),
        ]
    if answer is not None:
        return [phrase("The best of many points is partly chance: a search without --sweep confirms its gain.")]
    return []


def _settling(answer: LimitFound) -> list[str]:
    if answer.gain is None or not answer.gain.unsure(SETTLES):
        return []
    return [
        phrase(
            "The gain depended on the settling time: it is that of {settles} times --settle, and "
            "of this limit and of no limit only what was observed then is shown.",
            settles=answer.gain.settles,
        )
    ]


def _reopened(answer: LimitFound, known: Beliefs | None, candidates: Candidates) -> list[str]:
    """What the last evaluations changed of the reason for which the search had ended."""
    if known is None or answer.candidate is None or answer.chance is None or answer.chance >= UNLIKELY:
        return []
    chance = chance_of_better(known, candidates.limits.index(answer.candidate))
    if chance < UNLIKELY:
        return []
    return [
        phrase(
            "Until then, the chance that another limit is more than {percent:g} % better was {before:.2g} %; by what "
            "the evaluations that confirmed it showed, it is {chance:.2g} %. A search with a larger --budget, or "
            "another seed, looks there.",
            percent=100 * WORTH,
            before=100 * answer.chance,
            chance=100 * chance,
        )
    ]


def _comparison(one: Compared) -> str:
    """Of two limits that were compared directly."""
    by = f"{one.gain.percent:+.2g} ± {_percent(one.gain.mean, one.gain.error):.1g} %"
    said = phrase(
        "{rival} looked better than {than}; compared directly, it is so by {by}",
        rival=limit_text(one.rival),
        than=limit_text(one.than),
        by=by,
    )
    return (
        phrase("{said}: it takes its place.", said=said)
        if one.gain.real
        else phrase("{said}, which is no significant gain.", said=said)
    )


def _higher(answer: LimitFound, points: list[CurvePoint]) -> list[str]:
    """Limits whose figure in the table is above the advised one's, though they are not advised."""
    mine = next((point for point in points if point.limit == answer.limit), None)
    if answer.limit is None or mine is None:
        return []
    level, compared = float(np.mean(mine.scores)), {each for one in answer.compared for each in (one.rival, one.than)}
    higher = [one.limit for one in points if float(np.mean(one.scores)) > level and one.limit not in compared]
    if not higher:
        return []
    return [
        phrase(
            "{higher} scored higher than the advised limit, by no more than single evaluations "
            "scatter; none of these was compared with it directly.",
            higher=join_texts(", ", map(limit_text, higher)),
        )
    ]


def _best_point(points: list[CurvePoint]) -> CurvePoint:
    return max(points, key=lambda point: float(np.mean(point.scores)))


def _alike(point: CurvePoint, best: CurvePoint) -> bool:
    """True if they are one, or the interval of their difference contains zero; single evaluations have none."""
    apart = float(np.mean(best.scores) - np.mean(point.scores))
    return point is best or apart <= _reach(point, best)


def _reach(one: CurvePoint, other: CurvePoint) -> float:
    """Half the width of the interval of 95 % of the difference of their scores; 0 where an evaluation is single."""
    reach = half_width_of_sum((one.scores, other.scores), (1.0, 1.0))
    return reach if math.isfinite(reach) else 0.0


def _percent(logarithm: float, error: float) -> float:
    return 100 * math.exp(logarithm) * error

"""Carries out any number of device procedures, and makes their results of the trials that there are.

`device/runner.py` drives the procedures; this file opens the engine, chooses the calibration and keeps the context.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from keisoku.errors import EngineError, PlanError, demand
from keisoku.ground.entry import Findings, Work
from keisoku.ground.host.look import look_at_host, span_s
from keisoku.ground.report.sentence import sentence
from keisoku.ground.run.criterion import parse as criterion
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.result import Result, place
from keisoku.ground.virtual_kernel.inside import TIME
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.bench import Bench
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.calibration.store import bias_for
from keisoku.subjects.device.engine.engine import Engine
from keisoku.subjects.device.engine.port_capture import next_free
from keisoku.subjects.device.forecast.announcement import announcement
from keisoku.subjects.device.forecast.expected import Expected, Expecting, Planning
from keisoku.subjects.device.forecast.fitting import fitted
from keisoku.subjects.device.forecast.forecast import forecast
from keisoku.subjects.device.forecast.refitting import Refitting, plans_of
from keisoku.subjects.device.method.assumption.contradiction import with_contradictions
from keisoku.subjects.device.method.evidence import agreed
from keisoku.subjects.device.plan.ability import able_part
from keisoku.subjects.device.plan.pace import LENGTHS
from keisoku.subjects.device.plan.plan import Plan, parse
from keisoku.subjects.device.plan.rate import NO_RATE
from keisoku.subjects.device.plan.uri import is_lab, is_virtual_lab
from keisoku.subjects.device.plan_testbed import open_engine, wanted_testbed
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.run import DeviceRun
from keisoku.subjects.device.record.trial import NS_PER_S
from keisoku.subjects.device.record.trial_log import TrialLog
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.report.trial_rows import trial_rows
from keisoku.subjects.device.runner import TrialObserver, Unobserved, results_of, run
from keisoku.subjects.device.table import PROCEDURES, columns_of, figures_of
from keisoku.subjects.device.testbed.opening import open_testbed
from keisoku.subjects.device.testbed.requirements import OpenedPort
from keisoku.units import time_text

if TYPE_CHECKING:
    from keisoku.ground.report.bars import Spread
    from keisoku.subjects.device.engine.stamps import Wanted as WantedStamps

_BIAS = TypeAdapter(Bias)


def measure(work: Work[Plan]) -> None:
    """Opens the engine, begins or continues the run, and carries out its procedures."""
    # The answer is computed and written afterwards, which takes about as long as the program's start on the same host.
    started_s = work.waited_s()
    plan = work.settings
    demand(package for name in plan.methods for package in PROCEDURES[name].packages)
    wanted = plan if plan.within_s is not None and work.resumed is None else None
    if work.resumed is not None and plan.capture is not None:
        plan = plan.model_copy(update={"capture": next_free(plan.capture)})
    bench: Bench | None = work.bench
    with nullcontext(bench.engine) if bench else _engine(work, plan) as engine:
        capabilities, bias = engine.capabilities, bias_for(plan, engine)
        virtual, look = capabilities.simulated, bench.look if bench else None
        plan, left_out = able_part(plan, capabilities)
        wanted = wanted and plan
        _check_criteria(plan, capabilities)
        for method, error in left_out.items():
            work.observer.warn(_left_out(method, error))

        def spent_s() -> float:
            return 0.0 if virtual else work.waited_s() + started_s

        if capabilities.on_host and bench is None:
            look = look_at_host(span_s(_least_s(plan, capabilities, bias)))
        if wanted is not None and plan.within_s is not None:
            plan = fitted(plan, capabilities, bias, plan.within_s - spent_s())
        # A run among many on one bench takes a moment, and thinking it through would take a part of that.
        if work.resumed is None and bench is None:
            if said := announcement(plan, capabilities, bias):
                work.observer.tell(said)
            for said in (text for name in plan.methods for text in PROCEDURES[name].foretells(plan, capabilities)):
                work.observer.tell(said)
        context = {"calibration": _calibration(bias), "clocks": _clocks(bias), "seed": plan.seed}
        if look is not None:
            work.observer.tell(look.sentence(_longest_trial_ns(plan)))
            context["host_look"] = look.model_dump(mode="json")
        directory = work.begin(engine.context() | context, plan)
        directory.know(
            capabilities=capabilities.model_dump(mode="json"),
            bias=_BIAS.dump_python(bias, mode="json"),
            ended="",
        )
        refitting = Refitting(wanted, plan, capabilities, bias, directory, work.observer.tell)
        observer = work.observer.details
        if not isinstance(observer, TrialObserver):
            observer = Unobserved()
        if isinstance(observer, Planning):
            observer.planned(plan.methods, plan.frame_bytes)
        if isinstance(observer, Expecting) and not virtual and bench is None:
            observer = Expected(observer, plan, capabilities, bias, TrialLog(directory).records(), refitting.plans)
        if not run(plan, engine, bias, directory, observer, spent_s, refitting.plan_of):
            assert plan.within_s is not None
            directory.know(ended=phrase("stopped after {within_s}", within_s=time_text(plan.within_s)))


def _left_out(method: str, error: PlanError) -> str:
    return phrase("{method} is left out: {why}", method=method.replace("_", "-"), why=error.problem)


def _check_criteria(plan: Plan, capabilities: Capabilities) -> None:
    """Raises PlanError for a criterion on a share of the line, where that has no rate of its own."""
    figures, columns = figures_of(plan.methods), columns_of(plan.methods)
    for text in plan.require if capabilities.link_bits_per_second is None else ():
        each = criterion(text, figures, len(figures) == 1, columns)
        if each.figure in PROCEDURES[each.measurement].of_line:
            problem = f"'{each.text}' is not known, because {NO_RATE}"
            raise PlanError("require", problem, "require frames/s or bit/s, such as 'throughput >= 500 Mbps'")


def _engine(work: Work[Plan], plan: Plan) -> AbstractContextManager[Engine]:
    return open_engine(plan, work.observer.tell, work.observer.warn, _opened(work.resumed))


def _opened(resumed: RunDirectory | None) -> list[OpenedPort]:
    """What was chosen for the ports of a run that is resumed."""
    if resumed is None:
        return []
    ports = [port for port in resumed.context.get("ports", []) if isinstance(port, dict)]
    kinds: dict[str, WantedStamps] = {"hardware": "hardware", "kernel": "software"}
    return [OpenedPort(str(port["engine"]), kinds.get((port.get("stamps") or {}).get("receive", ""))) for port in ports]


def _longest_trial_ns(plan: Plan) -> int | None:
    """As far as the plan says it: the longest part of a trial that has several."""
    lengths_s = [getattr(plan.own(name), field, None) for name in plan.methods for field in LENGTHS]
    return max((round(length_s * NS_PER_S) for length_s in lengths_s if length_s is not None), default=None)


def _least_s(plan: Plan, capabilities: Capabilities, bias: Bias) -> float | None:
    """Time that the plan takes at least; None if it is not known."""
    found = forecast(plan, capabilities, bias)
    least_s = None if found is None else found.least_s
    known = [seconds for seconds in (least_s, plan.within_s) if seconds is not None]
    return min(known, default=None)


def check(plan: Plan) -> None:
    """Opens the plan's ports, without an engine, and closes them."""
    open_testbed(wanted_testbed(plan)).close()


def possible(plan: Plan) -> bool:
    """Whether the engine on the plan's ports has the abilities that its procedures need. Raises EngineError if a port
    fails."""
    try:
        with open_engine(plan):
            return True
    except PlanError:
        return False


def seconds(plan: Plan) -> float | None:
    """Time that the plan takes at most, by what its engine can do; none in virtual time, which nobody waits for."""
    try:
        with open_engine(plan) as engine:
            if engine.capabilities.simulated:
                return 0.0
            found = forecast(plan, engine.capabilities, bias_for(plan, engine))
    except EngineError:  # a port that fails now may do later
        return None
    return None if found is None else found.most_s


def outlined(plan: Plan) -> list[str]:
    """What the plan would do on its ports, which are opened, in sentences. Raises PlanError if it cannot."""
    from keisoku.subjects.device.forecast.outline import outline  # no first frame waits for it

    said: list[str] = []
    with open_engine(plan, said.append) as engine:
        capabilities, bias = engine.capabilities, bias_for(plan, engine)
        able, left_out = able_part(plan, capabilities)
        _check_criteria(able, capabilities)
        said += [_left_out(method, error) for method, error in left_out.items()]
        if able.within_s is not None:
            able = fitted(able, capabilities, bias, able.within_s)
        return [*said, *outline(able, capabilities, bias)]


def analyse(directory: RunDirectory) -> Findings:
    """Results of all procedures whose trials are there. Raises PlanError if there are none."""
    plan = parse(directory.plan)
    records = TrialLog(directory).records()
    try:
        capabilities = Capabilities.model_validate(directory.facts["capabilities"])
        bias = _BIAS.validate_python(directory.facts["bias"])
    except (KeyError, ValueError) as error:
        if not records:
            raise _no_trial(directory) from error
        raise PlanError("run", f"{directory.path} holds no context of its measurement", "measure again") from error
    ended = directory.facts.get("ended", "")
    found_results = results_of(plan, capabilities, bias, records, ended, plans_of(directory))
    if not (records or found_results):
        raise _no_trial(directory)
    said = [*directory.context.get("stamps_replaced", []), *([TIME] if is_virtual_lab(plan.dut) else [])]
    results = [
        _told(marked(result.model_copy(update={"remarks": [*result.remarks, *said]}), records), plan, records)
        for result in with_contradictions(agreed(found_results, records), records)
    ]
    found = DeviceRun(directory.path, directory.plan, directory.context, records, results)
    files = {"trials": trial_rows(records)}
    for name in dict.fromkeys(record.method for record in records):
        files |= PROCEDURES[name].files(records)
    return Findings(results, files=files, detail=found)


def _told(result: Result, plan: Plan, records: Sequence[TrialRecord]) -> Result:
    """With its sentence, where that says more than the main figure, which is known only now."""
    procedure = PROCEDURES[result.measurement]
    more = procedure.adds(result)
    if plan.why_lost:
        from keisoku.subjects.device.report.lost_places import limits, lost_frames, sentence_of

        found = lost_frames([record for record in records if record.method == result.measurement])
        if found is not None:
            result = result.model_copy(update={"remarks": [*result.remarks, *limits(found)]})
            more = [*more, *([text] if (text := sentence_of(found, is_lab(plan.dut))) else [])]
    if plan.why_late:
        from keisoku.subjects.device.report.late_places import late_frames, late_limits, late_sentence

        late = late_frames([record for record in records if record.method == result.measurement])
        if late is not None:
            result = result.model_copy(update={"remarks": [*result.remarks, *late_limits(late)]})
            more = [*more, late_sentence(late)]
    if not more:
        return result
    return result.model_copy(update={"sentence": join_texts(" ", [sentence(result, procedure.figure), *more])})


def _no_trial(directory: RunDirectory) -> PlanError:
    remedy = f"continue it with 'keisoku run --resume {directory.path}'"
    return PlanError("run", f"{directory.path} holds no finished trial", remedy)


def marked(result: Result, records: Sequence[TrialRecord]) -> Result:
    """The result with each row marked that rests on a trial in which the tester itself fell short."""
    invalid = {record.index: join_texts("; ", record.invalid_because) for record in records if not record.valid}
    rows = [
        row.model_copy(update={"invalid": invalid[row.trial]}) if row.trial in invalid else row for row in result.rows
    ]
    own = [record for record in records if record.method == result.measurement]
    found = {
        "title": PROCEDURES[result.measurement].title,
        "rows": rows,
        "deviations": [*result.deviations, *_interrupted(own, any("loss" in row.figures for row in rows))],
    }
    return result.model_copy(update=found)


def _interrupted(records: Sequence[TrialRecord], with_losses: bool) -> list[str]:
    """Deviation of valid trials whose load the host interrupted: they are as good as ones of their calm stretches.

    `with_losses`: there are loss ratios among the figures.
    """
    loads = [record.facts.sent for record in records if record.valid and record.facts.sent.interruptions]
    if not loads:
        return []
    share = max(sent.interrupted_share for sent in loads)
    calm_ns = min(sent.going_ns / (sent.interruptions + 1) for sent in loads)
    found = [
        phrase(
            "the host stopped the sender in {count} of {trials} trials, for up to {share:.2g} % of one. Those loads "
            "lasted longer by that time, at the intended rate between the stops, which were {calm_ns:.3g} ms apart "
            "on average at least",
            count=len(loads),
            trials=len(records),
            share=100 * share,
            calm_ns=calm_ns / 1e6,
        )
    ]
    if with_losses:
        found.append(
            phrase("a device loses less after such a stop, or nothing: the interval of a loss ratio allows for it")
        )
    return found


def spread(directory: RunDirectory, results: Sequence[Result]) -> Spread | None:
    """The latencies of the trial behind the first row with a median; None without one."""
    from keisoku.ground.report.bars import Spread as Drawn  # which nobody waits for before the first frame

    rows = [row for result in results for row in result.rows if "p50" in row.figures and row.trial is not None]
    if not rows:
        return None
    record = next((one for one in TrialLog(directory).records() if one.index == rows[0].trial), None)
    latency = record.facts.tracked.latency if record is not None else None
    if latency is None:
        return None
    known = latency.histogram
    return Drawn(place(rows[0]), "ns", known.lower_ns, known.upper_ns, known.counts)


def stored_parts(directory: RunDirectory, results: Sequence[Result]) -> str | None:
    """What procedures store for later runs, such as a calibration."""
    plan, capabilities = parse(directory.plan), Capabilities.model_validate(directory.facts["capabilities"])
    said = [PROCEDURES[one.measurement].keep(plan, one, capabilities) for one in results]
    return next((text for text in said if text is not None), None)


def _calibration(bias: Bias) -> dict[str, object] | None:
    """The subtracted calibration, for the record; None if there was none."""
    if bias.calibration is None:
        return None
    return {
        "made_at": bias.calibration.made_at,
        "valid_for": bias.calibration.valid_for,
        "cable_m": bias.calibration.length_m,
        "cable_tolerance_m": bias.cable_tolerance_m,
        "sizes_byte": sorted({point.frame_bytes for point in bias.calibration.points}),
        "bias_ns": [
            min(point.bias_ns for point in bias.calibration.points),
            max(point.bias_ns for point in bias.calibration.points),
        ],
    }


def _clocks(bias: Bias) -> dict[str, object]:
    """The relation of the ports' clocks and its uncertainty, for the record."""
    clocks = bias.clocks
    rate = {"rate": bias.rate.statement, "fast_ppb": bias.rate.fast * 1e9} if bias.rate.statement else {}
    if clocks.same_clock:
        return {"same_clock": True, **rate}
    return {**rate, "same_clock": False, "uncertainty_ns": clocks.uncertainty_ns(), "drift_ppb": clocks.drift_ppb}

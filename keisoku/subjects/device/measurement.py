"""Device procedures as entries of the table of measurements: any number of them, or one by itself.

What carries them out is in `device/measuring.py`, which is loaded when something is measured: no help waits for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

from keisoku.errors import PlanError
from keisoku.ground.entry import Findings, Measurement, StandIn, Work
from keisoku.ground.observer import Observer
from keisoku.ground.report.part import Part
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.result import Result, Row
from keisoku.language import phrase
from keisoku.subjects.device.plan.pace import LENGTHS
from keisoku.subjects.device.plan.plan import Plan, plan_of
from keisoku.subjects.device.plan.settings import ThroughputSettings
from keisoku.subjects.device.plan.uri import is_lab, is_simulated, is_virtual_lab
from keisoku.subjects.device.record.queries import QUERIES
from keisoku.subjects.device.table import PROCEDURES, columns_of, figures_of, suites

if TYPE_CHECKING:
    from keisoku.ground.report.bars import Spread


def _carrier(plan: Plan) -> Any:
    """The module that carries a plan out: on this host, or in a virtual kernel that this process is not in. No help
    waits for either."""
    from keisoku.ground.virtual_kernel.inside import is_inside

    if is_virtual_lab(plan.dut) and not is_inside():
        from keisoku.subjects.device import virtual_lab

        return virtual_lab
    from keisoku.subjects.device import measuring

    return measuring


def _measure(work: Work[Plan]) -> None:
    _carrier(work.settings).measure(work)


def _analyse(directory: RunDirectory) -> Findings:
    from keisoku.subjects.device import measuring

    return measuring.analyse(directory)


def _check(plan: Plan) -> None:
    _carrier(plan).check(plan)


def _possible(plan: Plan) -> bool:
    found: bool = _carrier(plan).possible(plan)
    return found


def _seconds(plan: Plan) -> float | None:
    found: float | None = _carrier(plan).seconds(plan)
    return found


def _outlined(plan: Plan) -> list[str]:
    found: list[str] = _carrier(plan).outlined(plan)
    return found


def _kept(directory: RunDirectory, results: Sequence[Result]) -> str | None:
    from keisoku.subjects.device import measuring

    return measuring.stored_parts(directory, results)


def _spread(directory: RunDirectory, results: Sequence[Result]) -> Spread | None:
    from keisoku.subjects.device import measuring

    return measuring.spread(directory, results)


def _part(runs: Sequence[tuple[RunDirectory, Findings]]) -> Part:
    from keisoku.subjects.device.report.part import part  # templates, which nobody waits for before the first frame

    return part([findings.detail for _, findings in runs])


def _tables(directory: RunDirectory) -> Mapping[str, Callable[[], Any] | str | PlanError]:
    from keisoku.subjects.device.record.tables import tables  # with Arrow, which only queries need

    return tables(directory)


def _figures(plan: Mapping[str, Any]) -> Mapping[str, str]:
    return figures_of(plan["methods"])


def _columns(plan: Mapping[str, Any]) -> Mapping[str, Mapping[str, str]]:
    return columns_of(plan["methods"])


def _sizes(plan: Mapping[str, Any]) -> Mapping[str, Sequence[int]]:
    return {method: plan["frame_bytes"] for method in plan["methods"]}


def _stand_ins(plan: Mapping[str, Any]) -> Mapping[str, StandIn]:
    return {method: other for method in plan["methods"] if (other := PROCEDURES[method].stand_in)}


def _from_afar(values: Mapping[str, Any]) -> None:
    """Raises PlanError for settings that name files of the server or override its guards."""
    for key in ("capture", "snap_bytes", "force"):
        if values.get(key):
            raise PlanError(key, "may only be given on this host's command line", "leave it out")
    if values.get("calibration", "auto") not in ("auto", "none"):
        raise PlanError("calibration", "names a file of the server", "use auto or none")
    for key in ("dut", "tx", "rx", "ports"):
        named = values.get(key)
        for uri in named if isinstance(named, list) else [named]:
            if is_lab(str(uri)) and str(uri).partition("#")[0].endswith(".toml"):
                raise PlanError(key, "names a file of the server, with commands", "use a device of keisoku's own")
    for name in PROCEDURES:
        if isinstance(own := values.get(name), Mapping):
            PROCEDURES[name].from_afar(own)
    contents = values.get("stream")
    for each in (values, *(contents if isinstance(contents, list) else ())):
        if isinstance(each, Mapping) and str(each.get("pacing", "")).strip().startswith("gaps:"):
            raise PlanError("pacing", "names a file of the server", 'send {"kind": "gaps", "gaps_ns": […]}')


def _run_name(plan: Plan) -> str:
    """Device and procedures."""
    name = plan.dut or f"{plan.tx}-{plan.rx}"
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', Path(name).stem)}-{'-'.join(plan.methods)}"


def _again(plan: Plan, number: int, chance: Random) -> Plan:
    """The sizes in random order; procedures keep theirs, because some need the results of others."""
    sizes = tuple(chance.sample(plan.frame_bytes, len(plan.frame_bytes)))
    capture = plan.capture and plan.capture.with_stem(f"{plan.capture.stem}-{number}")
    return plan.model_copy(update={"frame_bytes": sizes, "capture": capture})


def _bench(plans: Sequence[Plan], observer: Observer) -> AbstractContextManager[Any] | None:
    from keisoku.subjects.device import bench

    return bench.in_common(plans, observer)


def _in_pairs(plan: Plan) -> Plan:
    return plan.model_copy(update={name: PROCEDURES[name].in_pairs(plan.own(name)) for name in plan.methods})


def _instead(plan: Plan) -> Plan:
    methods = dict.fromkeys(other.figure if (other := PROCEDURES[name].stand_in) else name for name in plan.methods)
    return plan if tuple(methods) == plan.methods else _in_pairs(plan.model_copy(update={"methods": tuple(methods)}))


def _among(plan: Plan, earlier: Sequence[Sequence[Result]]) -> Plan:
    own = {
        name: PROCEDURES[name].among(
            plan.own(name), [one for each in earlier for one in each if one.measurement == name]
        )
        for name in plan.methods
    }
    return plan.model_copy(update=own)


def _alike(runs: Sequence[Sequence[Result]]) -> list[list[Result]]:
    found = [list(results) for results in runs]
    for name in {result.measurement for results in runs for result in results} & PROCEDURES.keys():
        places = [
            (number, place)
            for number, results in enumerate(found)
            for place, result in enumerate(results)
            if result.measurement == name
        ]
        alike = PROCEDURES[name].alike([found[number][place] for number, place in places])
        for (number, place), result in zip(places, alike, strict=True):
            found[number][place] = result
    return found


def _incomparable(result: str, figure: str, a: Sequence[Row | None], b: Sequence[Row | None]) -> str:
    return PROCEDURES[result].incomparable(figure, a, b) if result in PROCEDURES else ""


def _near(plan: Plan, results: Sequence[Result]) -> Plan:
    """Each procedure's settings with what was found, and `_near_throughput`."""
    known = [result for result in results if result.measurement in plan.methods]
    own = {result.measurement: plan.own(result.measurement) for result in known}
    for result in known:
        own[result.measurement] = PROCEDURES[result.measurement].near(own[result.measurement], result)
    return _near_throughput(plan.model_copy(update=own), results)


def _near_throughput(plan: Plan, results: Sequence[Result]) -> Plan:
    """Searches begin at the middle, on a scale of ratios, of the throughputs that were measured at each size."""
    known: dict[int, list[float]] = {}
    for row in (row for result in results if result.measurement == "throughput" for row in result.rows):
        figure = row.figures.get("throughput")
        if figure is not None and row.frame_bytes is not None and figure.value > 0:
            known.setdefault(row.frame_bytes, []).append(figure.value)
    first = tuple((size, round(geometric_mean(values))) for size, values in sorted(known.items()))
    if not first:
        return plan
    return plan.model_copy(
        update={"throughput": plan.settings_of(ThroughputSettings).model_copy(update={"first": first})}
    )


MEASUREMENT = Measurement(
    name="device",
    title=phrase("Device"),
    settings=Plan,
    measure=_measure,
    analyse=_analyse,
    summary="Measures what a network device does to every frame.",
    part=_part,
    figures=_figures,
    columns=_columns,
    sizes=_sizes,
    stand_ins=_stand_ins,
    instead=_instead,
    resumes=True,
    seconds=_seconds,
    outlined=_outlined,
    check=_check,
    possible=_possible,
    ends_in_time=True,
    from_afar=_from_afar,
    named=_run_name,
    again=_again,
    near=_near,
    bench=_bench,
    in_pairs=_in_pairs,
    among=_among,
    alike=_alike,
    incomparable=_incomparable,
    keep=_kept,
    spread=_spread,
    tables=_tables,
    queries=QUERIES,
    same=("frame_bytes", "mix", "headers", "modify", "pacing", "streams", "stream", "pattern"),
)


@cache
def alone(name: str) -> Measurement[Plan]:
    """One procedure as an entry: its settings and the plan's as one."""
    procedure = PROCEDURES[name]
    own = procedure.settings.model_fields
    lengths = [f"--{field.removesuffix('_s')}" for field in own if field in (*LENGTHS, "search_s")]
    instead = f"give {' and '.join(lengths)}" if lengths else "leave it out"
    refused = {} if "trial_s" in own else {"trial_s": (f"trials of {name} have no one length", instead)}

    def from_afar(values: Mapping[str, Any]) -> None:
        _from_afar(values)
        procedure.from_afar(values)

    return replace(
        MEASUREMENT,
        summary=f"{procedure.summary} ({procedure.standard})",
        help=f"\b\n{procedure.example}" if procedure.example else "",
        offers=(procedure.settings, Plan),
        made=lambda given, named: plan_of((name,), given),
        waited_for=_waited_for,
        refuses=refused,
        from_afar=from_afar,
    )


@cache
def suite(document: str) -> Measurement[Plan]:
    """All procedures of a document as an entry, one after the other in one run."""
    names = suites()[document]
    title = f"{document[:3].upper()} {document[3:]}"
    listed = ", ".join(names).replace("_", "-")
    ports = max((PROCEDURES[name].least_ports for name in names), default=2)
    device = f"--dut lab:bridge --ports {','.join(map(str, range(1, ports + 1)))}" if ports > 2 else "--dut lab:bridge"
    return replace(
        MEASUREMENT,
        summary=phrase("All procedures of {title} in one run: {listed}.", title=title, listed=listed),
        help=f"\b\nkeisoku {document} {device} --profile quick",
        offers=(Plan,),
        made=lambda given, named: plan_of((document,), given),
        waited_for=_waited_for,
    )


def _waited_for(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """A person does not wait for the times of the standards, and need not wait for a simulated device."""
    alike = {"profile", "within_s"} & given.keys() or is_simulated(given.get("dut"))
    return {} if alike else {"profile": "quick"}

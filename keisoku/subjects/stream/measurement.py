"""`stream tcp` and `stream udp` as entries of the table of measurements, but for what differs between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from keisoku.errors import PlanError
from keisoku.ground.entry import Findings, Measurement, Work
from keisoku.ground.host.place import Place
from keisoku.ground.run.directory import RunDirectory
from keisoku.subjects.stream.analysis import analyse as analyse_rows
from keisoku.subjects.stream.factor import HOST
from keisoku.subjects.stream.measure import earlier_ceiling, greet, measure_streams
from keisoku.subjects.stream.outcome import cell_outcomes
from keisoku.subjects.stream.plot import stream_plots
from keisoku.subjects.stream.run import TABLE, StreamRun
from keisoku.subjects.stream.settings import MEASURED, NONE, REFINE, StreamSettings
from keisoku.subjects.stream.sizes import tcp_sizes

BETWEEN_S = 0.2
"""From the end of a trial to the start of the next, on two cores."""
_Settings = TypeVar("_Settings", bound=StreamSettings)


def stream_measurement(
    kind: type[_Settings], sizes: Callable[[Place], list[int]], title: str, summary: str, help_: str
) -> Measurement[_Settings]:
    """The entry of a protocol; `sizes` gives those of a sweep to a place."""

    def measure(work: Work[_Settings]) -> None:
        """Measures this machine's own ceiling and the path. Raises EngineError if the far end does not answer."""
        settings = filled_in(work.settings, sizes)
        earlier = None if settings.ceiling in (MEASURED, NONE) else _earlier(settings)
        greet(settings)
        run = StreamRun(work.begin({}, settings))
        if earlier:
            run.know(ceiling=earlier)
        measure_streams(settings, run, work.observer)

    def analyse(directory: RunDirectory) -> Findings:
        """From a run's rows alone, finished or not. Raises PlanError if there are none."""
        settings = kind.model_validate(directory.plan)
        outcomes = cell_outcomes(directory.rows(TABLE).to_pylist())
        result, found = analyse_rows(settings, outcomes, directory.facts)
        return Findings([result], stream_plots(settings, outcomes, found))

    def seconds(settings: _Settings) -> float:
        """With every repetition that is allowed, on this machine's bare path too; sizes are at most those of TCP."""
        cells = (len(settings.size_bytes) or len(tcp_sizes())) * len(settings.setups())
        repetitions = settings.rule.most
        if settings.ceiling == MEASURED:
            repetitions += settings.ceiling_rule.most
        return cells * repetitions * (settings.duration_s + BETWEEN_S)

    return Measurement(
        name=f"stream {kind.protocol}",
        title=title,
        settings=kind,
        seconds=seconds,
        shortens=("most_repetitions", "repetitions", "duration_s"),
        measure=measure,
        analyse=analyse,
        figure="throughput",
        units={
            "bit/s": "throughput forward reverse offered_rate intended_rate own_ceiling iperf3 keisoku",
            "s/GB": "sender_CPU receiver_CPU",
            "ns": "rtt",
            "%": "by_chance",
            "": "runs cells retransmissions ratio_of_throughput ratio offered received lost_datagrams"
            " of_those_in_network in_host in_socket reordered duplicated",
        },
        same=("streams", "direction", "duration_s"),
        summary=summary,
        help=help_,
        resumes=True,
        from_afar=_from_afar,
    )


def _from_afar(values: Mapping[str, Any]) -> None:
    """A ceiling that is neither word is the directory of a run on the server's host."""
    if values.get("ceiling", MEASURED) not in (MEASURED, NONE):
        raise PlanError("ceiling", "names a run of the server", f"use {MEASURED} or {NONE}")


def filled_in(settings: _Settings, sizes: Callable[[Place], list[int]]) -> _Settings:
    """With the sizes of a sweep, if none are given, and the server's own address among those that are compared."""
    values: dict[str, Any] = settings.model_dump(exclude_none=True)
    if not settings.size_bytes:
        values = {"refine": REFINE, **values, "size_bytes": sizes(settings.place)}
        values["factor"] = settings.factor or settings.sweep_factor
    levels = settings.factor.get(HOST, ())
    if levels and settings.address not in levels:
        values["factor"] = {**values["factor"], HOST: (settings.address, *levels)}
    return type(settings).model_validate({"refine": 0, **values})


def _earlier(settings: StreamSettings) -> dict[str, Any]:
    earlier = RunDirectory.open(Path(settings.ceiling), f"stream {settings.protocol}")
    return earlier_ceiling(settings, earlier.rows(TABLE).to_pylist(), settings.ceiling)

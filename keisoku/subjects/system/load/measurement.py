"""`system load` as an entry of the table of measurements: requests or streams of one or many clients at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from keisoku.errors import PlanError
from keisoku.ground.entry import Findings, Measurement, Work
from keisoku.ground.host.text_file import check_regular
from keisoku.ground.lab.system.lab import SystemLab
from keisoku.ground.lab.system.name import find_system, is_system
from keisoku.ground.run.directory import RunDirectory
from keisoku.language import phrase
from keisoku.subjects.system.load.analysis import NAME
from keisoku.subjects.system.load.analysis import analyse as analyse_runs
from keisoku.subjects.system.load.bulk_servers import bulk_aims
from keisoku.subjects.system.load.clients import BULK
from keisoku.subjects.system.load.latency_figures import Bucket
from keisoku.subjects.system.load.plot import bulk_plots, load_plots
from keisoku.subjects.system.load.rows import ACTIVITY, LATENCIES, RUNS, SLICES, append
from keisoku.subjects.system.load.schedule import ALONE, LoadSchedule
from keisoku.subjects.system.load.settings import LoadSettings
from keisoku.subjects.system.load.ssh_hosts import SshHosts
from keisoku.subjects.system.load.target import HTTP, TCP, Aim, lab_aims, url_aims


def measure(work: Work[LoadSettings]) -> None:
    """Carries out all runs and keeps each. Raises EngineError if a client fails."""
    settings = work.settings.filled_in()
    configuration = None if settings.ssh_config is None else Path(settings.ssh_config)
    if configuration is not None:
        check_regular("ssh_config", configuration)
    with _aims(settings) as (aims, context, servers), SshHosts(configuration) as hosts:
        schedule = schedule_of(settings, aims)
        directory = work.begin(context, settings)
        schedule.run(lambda *kept: append(directory, *kept), work.observer.tell, hosts, servers)


def schedule_of(settings: LoadSettings, aims: Sequence[Aim]) -> LoadSchedule:
    """All runs of these clients. Raises PlanError for invalid settings."""
    names = [aim.name for aim in aims]
    _check_names("client_concurrency", settings.client_concurrency, names)
    _check_names("offset_s", settings.offset_s, names)
    loads = tuple(
        aim.load(
            connections=settings.client_concurrency.get(aim.name, settings.concurrency[0]),
            per_second=settings.rate_rps,
            poisson=settings.poisson,
            keep_alive=settings.keep_alive,
            requests=settings.requests,
            seconds=settings.duration_s,
            offset_s=settings.offset_s.get(aim.name, 0.0),
            timeout_s=settings.timeout_s,
        )
        for aim in aims
    )
    return LoadSchedule(
        client=settings.with_,
        loads=loads,
        patterns=settings.pattern,
        concurrencies=settings.concurrency,
        fixed=frozenset(settings.client_concurrency),
        repetitions=settings.repetitions,
        rest_s=settings.rest_s,
        seed=settings.seed,
        each_file=_files(aims) if settings.each_file else (),
    )


def analyse(directory: RunDirectory) -> Findings:
    """From a run's rows alone, finished or not. Raises PlanError if there are none."""
    settings = LoadSettings.model_validate(directory.plan)
    runs = directory.rows(RUNS).to_pylist()
    latencies: dict[tuple[int, str], list[Bucket]] = {}
    for part in directory.batches(LATENCIES):
        for row in part.to_pylist():
            bucket = (row["lower_ns"], row["upper_ns"], row["count"])
            latencies.setdefault((row["trial"], row["client"]), []).append(bucket)
    answers: dict[tuple[int, str], list[int]] = {}
    for part in directory.batches(SLICES):
        for row in part.to_pylist():
            answers.setdefault((row["trial"], row["client"]), []).append(row["completed"])
    activity = [row for part in directory.batches(ACTIVITY) for row in part.to_pylist()]
    result = analyse_runs(settings, runs, latencies, answers, activity)
    return Findings([result], bulk_plots(result.rows) if settings.bulk else load_plots(result.rows))


@contextmanager
def _aims(settings: LoadSettings) -> Iterator[tuple[list[Aim], dict[str, object], list[str]]]:
    """The aims, the context of the run, and the namespaces of servers on this host."""
    first = settings.target[0]
    if not is_system(first):
        yield url_aims(settings.target, TCP if settings.bulk else HTTP), {}, []
        return
    if len(settings.target) > 1:
        raise PlanError("target", "there is one lab at a time", "give it alone")
    with ExitStack() as stack:
        lab = stack.enter_context(_lab(first))
        aims = stack.enter_context(bulk_aims(lab)) if settings.bulk else lab_aims(lab)
        yield aims, {"lab": lab.context()}, [server.name for server in lab.servers]


def _lab(target: str) -> SystemLab:
    """Not yet made. Raises PlanError for an impossible one."""
    return find_system(target.removeprefix("lab:"), "target")


def _check(settings: LoadSettings) -> None:
    if is_system(settings.target[0]):
        _lab(settings.target[0])


def _files(aims: Sequence[Aim]) -> tuple[str, ...]:
    """The files that all clients request."""
    files = {path for path, _ in aims[0].paths}
    if any({path for path, _ in aim.paths} != files for aim in aims):
        raise PlanError("each_file", "the clients do not request the same files", "leave it out, or load a lab")
    return tuple(path for path, _ in aims[0].paths)


def _check_names(field: str, given: Mapping[str, object], names: Collection[str]) -> None:
    if unknown := sorted(set(given) - set(names)):
        raise PlanError(field, f"there is no client '{unknown[0]}'", f"use {', '.join(names)}")


def _figures(plan: Mapping[str, Any]) -> dict[str, str]:
    return {NAME: "received" if plan.get("with_") in BULK else "requests"}


def _seconds(settings: LoadSettings) -> float | None:
    """Where each run has a length; a pattern 'alone' has as many runs as there are clients, of which a URL is one."""
    filled = settings.filled_in()
    if filled.duration_s is None or filled.each_file:
        return None
    runs = sum(len(filled.target) if pattern == ALONE else 1 for pattern in filled.pattern)
    each_s = filled.duration_s + filled.rest_s + max(filled.offset_s.values(), default=0.0)
    return runs * len(filled.concurrency) * filled.repetitions * each_s


MEASUREMENT = Measurement(
    name=NAME,
    title=phrase("Load"),
    settings=LoadSettings,
    seconds=_seconds,
    check=_check,
    shortens=("repetitions", "rest_s"),
    measure=measure,
    analyse=analyse,
    figure="requests",
    figures=_figures,
    units={
        "requests/s": "requests",
        "bit/s": "received",
        "ns": "p50 p90 p99 p99.9 max",
        "%": "of_alone cpu_user cpu_system cpu_softirq cpu_idle cpu_steal cpu_waited_for",
        "": "failed runs runnable retransmitted squeezed backlog_drops",
    },
    same=("with_", "rate_rps", "keep_alive", "requests", "each_file"),
    summary="Measures requests/s, bytes/s and latencies of clients that load web servers, or bit/s of bulk TCP.",
    help="""TARGET is a system of the lab, or one URL per client; URL@PLACE loads from a namespace or an ssh host.

    \b
    keisoku system load 'lab:system?clients=2&rates=1G,none&file=1430' --with ab --concurrency 10,100
    keisoku system load 'lab:system?clients=5' --concurrency 100 --client-concurrency client5=1000 --pattern together
    keisoku system load http://192.0.2.7/index.html --rate 500 --poisson --concurrency 1000
    keisoku system load http://192.0.2.7/a@one http://192.0.2.7/b@two   # two clients, in two namespaces
    keisoku system load http://192.0.2.7/a@ssh://me@192.0.2.8 http://192.0.2.7/a@ssh://me@192.0.2.9 --with wrk
    keisoku system load 'lab:system?rates=1G,1G,none' --with stream --pattern alone,client1+client2,together""",
)

"""keisoku's own paths as a table, from which routes and the OpenAPI document are made. It carries out nothing
itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pydantic import BaseModel

from keisoku import __version__
from keisoku.errors import PlanError
from keisoku.faces.service.configured import Configured
from keisoku.faces.service.document import (
    FlowAccounts,
    FlowHistograms,
    LastTraffic,
    OfFiguresOfFlows,
    OfFlows,
    RunStatus,
    StreamLosses,
    Version,
)
from keisoku.faces.service.runs import Runs
from keisoku.faces.service.traffic import Last, accounts, as_run, histograms, losses, whole
from keisoku.ground.host.context import host_context
from keisoku.ground.report.page import render
from keisoku.ground.run.result import Result
from keisoku.running.measurement.carry_out import findings_of, load, page
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.record.trial_log import TrialLog
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.report.part import part
from keisoku.subjects.device.table import PROCEDURES

BASE = "/keisoku/v1"


class Ports(Protocol):
    """The owner of the server's ports."""

    @property
    def runs(self) -> Runs:
        """Runs of methods on the ports."""
        ...

    def start_run(self, document: dict[str, Any]) -> RunStatus:
        """Begins a run, if the ports are free."""
        ...

    def outline_run(self, document: dict[str, Any]) -> list[str]:
        """What a run would do, in sentences, if the ports are free. It measures nothing."""
        ...

    def configured(self) -> Configured:
        """What a client has configured on the ports."""
        ...

    def last_traffic(self) -> Last:
        """The last traffic."""
        ...


@dataclass(frozen=True)
class Operation:
    """One method of one path. `call` receives the ports, then by name: parts of the path, `body`, `query`."""

    method: Literal["GET", "POST"]
    path: str
    name: str
    summary: str
    answer: Any
    """Type of the answer; `str` is a page of HTML."""
    call: Callable[..., Any]
    body: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    status: int = 200
    changes: bool = False
    """Only for the owner of the ports, or while they are free."""


def _version(ports: Ports) -> Version:
    return Version(keisoku=__version__, methods=list(PROCEDURES))


def _start(ports: Ports, body: dict[str, Any]) -> RunStatus:
    return ports.start_run(body)


def _report(ports: Ports, run: str) -> str:
    outcome = load(ports.runs.finished(run).path)
    return page([(outcome.directory, findings_of(outcome.directory))], outcome.verdicts)


def _traffic_report(ports: Ports) -> str:
    last = ports.last_traffic()
    if isinstance(last, bool):
        raise PlanError("traffic", "none has ended yet" if last else "there was none", "start one with OTG")
    return render([part([as_run(last, host_context())])])


OPERATIONS = (
    Operation(
        "GET", "/version", "getVersion", "Name and version of the server, and its measurements", Version, _version
    ),
    Operation(
        "GET",
        "/runs",
        "listRuns",
        "Runs that this server began",
        list[RunStatus],
        lambda ports: ports.runs.statuses(),
    ),
    Operation(
        "POST",
        "/runs",
        "startRun",
        "Begins a run: a plan, as in the file of `keisoku run`, whose key `measurement` may name any measurement of the"
        " table; without it, procedures of a device. Keys that name files of the server (capture,"
        " calibration, gaps) are refused. One run at a time, and none while an OTG configuration holds ports",
        RunStatus,
        _start,
        body=Plan,
        status=201,
        changes=True,
    ),
    Operation(
        "GET",
        "/runs/{run}",
        "getRun",
        "The status of a run",
        RunStatus,
        lambda ports, run: ports.runs.status(run),
    ),
    Operation(
        "POST",
        "/runs/{run}/cancel",
        "cancelRun",
        "Ends a run; finished trials are kept",
        RunStatus,
        lambda ports, run: ports.runs.cancel(run),
        changes=True,
    ),
    Operation(
        "GET",
        "/runs/{run}/results",
        "getResults",
        "Results of a finished run: one for each procedure of a device, one for any other measurement",
        list[Result],
        lambda ports, run: ports.runs.finished(run).results(),
    ),
    Operation(
        "GET",
        "/runs/{run}/trials",
        "getTrials",
        "Finished trials of a device run with all counts",
        list[TrialRecord],
        lambda ports, run: TrialLog(ports.runs.directory(run)).records(),
    ),
    Operation("GET", "/runs/{run}/report", "getReport", "The report of a finished run, a page", str, _report),
    Operation(
        "GET",
        "/traffic",
        "getTraffic",
        "The last OTG traffic as one trial, with all counts",
        LastTraffic,
        lambda ports: whole(ports.last_traffic()),
    ),
    Operation(
        "GET",
        "/traffic/flows",
        "getFlows",
        "Figures of the last traffic's flows with uncertainties: counts, loss, latency, percentiles, PDV",
        FlowAccounts,
        lambda ports, query: accounts(ports.last_traffic(), query),
        query=OfFiguresOfFlows,
    ),
    Operation(
        "GET",
        "/traffic/histograms",
        "getHistograms",
        "Latency of every frame of the last traffic's flows",
        FlowHistograms,
        lambda ports, query: histograms(ports.last_traffic(), query),
        query=OfFlows,
    ),
    Operation(
        "GET",
        "/traffic/lost",
        "getLost",
        "The lost frames of the last traffic",
        StreamLosses,
        lambda ports, query: losses(ports.last_traffic(), query),
        query=OfFlows,
    ),
    Operation("GET", "/traffic/report", "getTrafficReport", "The last traffic as a page", str, _traffic_report),
)

"""oha: how it is called, and how its JSON output is read.

A closed loop, or with a rate an open loop at even gaps whose requests are timed from when they were due (its latency
correction). It reports eleven percentiles of latency, and counts bytes of bodies only.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from keisoku.errors import EngineError, PlanError
from keisoku.language import phrase
from keisoku.subjects.system.load.client_load import ClientLoad
from keisoku.subjects.system.load.client_run import ClientRun
from keisoku.subjects.system.load.invocation import Ended, Invocation
from keisoku.subjects.system.load.percentiles import buckets_of
from keisoku.subjects.system.load.program import LoadProgram, only_path

NAME = "oha"
GIVEN_UP = "aborted due to deadline"
_MOST = 1 << 53
_Count = Annotated[int, Field(ge=0, le=_MOST)]


class _Part(BaseModel):
    """Fields that are not read may be present; those that are read must have these types."""

    model_config = ConfigDict(frozen=True, allow_inf_nan=False)


class Summary(_Part):
    """Times in s; null where no request was answered."""

    total: float = Field(gt=0, le=1e9)
    slowest: float | None
    fastest: float | None
    totalData: _Count


class Figures(_Part):
    """oha's report of a load."""

    summary: Summary
    latencyPercentiles: dict[str, float | None]
    statusCodeDistribution: dict[str, _Count]
    errorDistribution: dict[str, _Count]


def invoke(load: ClientLoad) -> Invocation:
    """Raises PlanError for a load that it cannot make."""
    path = only_path(load, NAME)
    if load.poisson:
        raise PlanError("poisson", "oha sends at even gaps only", "use --with own for --poisson")
    if load.requests is not None and load.seconds is not None:
        raise PlanError("with", "oha ends after requests or after a time", "give --requests or --duration")
    arguments = [NAME, "--no-tui", "--output-format", "json", "--worker-threads", "1", "--http-version", "1.1"]
    arguments += ["-c", str(load.connections), "-t", f"{round(load.timeout_s * 1000)}ms"]
    arguments += ["-n", str(load.requests)] if load.seconds is None else ["-z", f"{round(load.seconds * 1000)}ms"]
    arguments += ["-q", f"{load.per_second:g}", "--latency-correction"] if load.per_second is not None else []
    arguments += [] if load.keep_alive else ["--disable-keepalive"]
    arguments += [] if load.compressed else ["--disable-compression"]
    arguments += ["--host", load.host, f"http://{load.server}{path}"]
    return Invocation(tuple(arguments), open_files=load.connections + 1024)


def read(load: ClientLoad, ended: Ended) -> ClientRun:
    """A run from oha's JSON. Raises EngineError if it is none."""
    said = ended.succeeded(f"oha of {load.name}").said
    try:
        found = Figures.model_validate_json(said)
        points = [
            (float(name.removeprefix("p")), 1e9 * at) for name, at in found.latencyPercentiles.items() if at is not None
        ]
    except (ValidationError, ValueError) as error:
        raise EngineError(f"the output of oha of {load.name} is not that of oha 1.16") from error
    ends = ((0.0, found.summary.fastest), (100.0, found.summary.slowest))
    points += [(percent, 1e9 * at) for percent, at in ends if at is not None]
    answered = sum(found.statusCodeDistribution.values())
    good = sum(count for status, count in found.statusCodeDistribution.items() if status.startswith("2"))
    failures = {"refusals": answered - good} if answered > good else {}
    errors = {why: count for why, count in found.errorDistribution.items() if count}
    given_up = errors.pop(GIVEN_UP, 0)
    return ClientRun(
        client=load.name,
        completed=good,
        failed=answered - good + sum(errors.values()),
        received_bytes=found.summary.totalData,
        began_ns=ended.began_ns,
        ended_ns=ended.began_ns + round(found.summary.total * 1e9),
        latencies=buckets_of(points, answered),
        given_up=given_up,
        failures=failures | errors,
    )


PROGRAM = LoadProgram(
    NAME,
    "the crate oha",
    invoke,
    read,
    phrase(
        "oha reports eleven percentiles of latency: others lie between two of these. Its "
        "bytes are those of bodies, without headers."
    ),
)

"""wrk: how it is called, with a script that makes it write its figures as JSON, and how they are read.

A closed loop of HTTP/1.1 for a time, never for a number of requests. Its latencies are from the first byte of a request
that it writes on to the end of the answer, without the connection's set-up, and it adds latencies that it did not
measure, for requests that it estimates would have been sent while one took more than twice the usual time (its
correction for coordinated omission, which cannot be turned off).
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import Field, ValidationError

from keisoku.errors import EngineError, PlanError
from keisoku.frozen import Frozen
from keisoku.language import phrase
from keisoku.subjects.system.load.client_load import ClientLoad
from keisoku.subjects.system.load.client_run import ClientRun
from keisoku.subjects.system.load.invocation import Ended, Invocation
from keisoku.subjects.system.load.percentiles import buckets_of
from keisoku.subjects.system.load.program import LoadProgram, closed_loop

NAME = "wrk"
SCRIPT, FIGURES = "load.lua", "figures.json"
_SECONDS_MOST = 10 * 24 * 3600

_DONE = """
function done(summary, latency, requests)
  local e, points = summary.errors, {string.format("[0,%.0f]", latency.min)}
  for half = 1, 199 do
    points[#points + 1] = string.format("[%.1f,%.0f]", half / 2, latency:percentile(half / 2))
  end
  points[#points + 1] = string.format("[99.9,%.0f]", latency:percentile(99.9))
  points[#points + 1] = string.format("[100,%.0f]", latency.max)
  local file = assert(io.open("FIGURES", "w"))
  file:write(string.format('{"duration":%.0f,"requests":%.0f,"bytes":%.0f,', summary.duration, summary.requests,
    summary.bytes))
  file:write(string.format('"connect":%.0f,"read":%.0f,"write":%.0f,"status":%.0f,"timeout":%.0f,', e.connect, e.read,
    e.write, e.status, e.timeout))
  file:write('"percentiles":[' .. table.concat(points, ",") .. ']}\\n')
  file:close()
end
""".replace("FIGURES", FIGURES)


_MOST = 1 << 53
"""Lua counts in doubles."""
_Count = Annotated[int, Field(ge=0, le=_MOST)]


class Figures(Frozen):
    """Output of the script: times in µs, counts of requests."""

    duration: int = Field(gt=0, le=_MOST)
    requests: _Count
    bytes: _Count
    connect: _Count
    read: _Count
    write: _Count
    status: _Count
    timeout: _Count
    percentiles: list[tuple[float, int]]


def invoke(load: ClientLoad) -> Invocation:
    """Raises PlanError for a load that it cannot make."""
    closed_loop(load, NAME)
    if load.requests is not None or load.seconds is None:
        raise PlanError("with", "wrk loads for a time, not for a number of requests", "give --duration in place of it")
    seconds = min(max(1, round(load.seconds)), _SECONDS_MOST)
    arguments = [NAME, "-t", "1", "-c", str(load.connections), "-d", f"{seconds}s", "-s", SCRIPT]
    arguments += ["--timeout", f"{max(1, round(load.timeout_s))}s", f"http://{load.server}/"]
    return Invocation(tuple(arguments), {SCRIPT: _script(load)}, (FIGURES,), load.connections + 1024)


def read(load: ClientLoad, ended: Ended) -> ClientRun:
    """A run from what the script wrote. Raises EngineError if that is not its words."""
    ended.succeeded(f"wrk of {load.name}")
    try:
        found = Figures.model_validate_json(ended.files.get(FIGURES, ""))
    except ValidationError as error:
        words = ended.complained.strip().splitlines() or [str(error.errors(include_url=False)[0]["msg"])]
        raise EngineError(f"wrk of {load.name} gave no figures: {words[0]}") from error
    # A late answer counts as completed: wrk never gives up a request, it only counts the timeout.
    failures = {"refusals": found.status, "not_connected": found.connect, "broken": found.read + found.write}
    failures = {why: count for why, count in failures.items() if count}
    in_time = max(0, found.requests - found.timeout)
    return ClientRun(
        client=load.name,
        completed=max(0, found.requests - found.status),
        failed=sum(failures.values()),
        received_bytes=found.bytes,
        began_ns=ended.began_ns,
        ended_ns=ended.began_ns + found.duration * 1000,
        latencies=buckets_of([(percent, 1e3 * us) for percent, us in found.percentiles], in_time),
        failures=failures,
    )


def _script(load: ClientLoad) -> str:
    headers: dict[str, str] = {"Host": load.host, "Connection": "keep-alive" if load.keep_alive else "close"}
    if load.compressed:
        headers["Accept-Encoding"] = "gzip"
    lines = [f"wrk.headers[{_lua(name)}] = {_lua(value)}" for name, value in headers.items()]
    paths = [(path, weight) for path, weight in load.paths if weight]
    lines.append(f"wrk.path = {_lua(paths[0][0])}")
    if len(paths) > 1:
        lines += _drawn(paths, load.seed)
    return "\n".join(lines) + _DONE


def _drawn(paths: list[tuple[str, float]], seed: int) -> list[str]:
    """Every request for a file drawn by its weight."""
    total, upto = sum(weight for _, weight in paths), 0.0
    rows = []
    for path, weight in paths:
        upto += weight / total
        rows.append(f"{{{upto!r}, {_lua(path)}}}")
    return [
        f"math.randomseed({seed})",
        f"local files, requests = {{{', '.join(rows)}}}, {{}}",
        "function init()",
        "  for at, file in ipairs(files) do requests[at] = wrk.format(nil, file[2]) end",
        "end",
        "function request()",
        "  local drawn = math.random()",
        "  for at, file in ipairs(files) do if drawn < file[1] then return requests[at] end end",
        "  return requests[#requests]",
        "end",
    ]


def _lua(text: Any) -> str:
    """As a string of Lua: JSON's escapes are not all Lua's, so all but plain characters are written by number."""
    plain = json.dumps(str(text)) if str(text).isascii() and str(text).isprintable() else None
    if plain is not None:
        return plain
    return '"' + "".join(f"\\{byte:03d}" for byte in str(text).encode()) + '"'


PROGRAM = LoadProgram(
    NAME,
    "the Debian package wrk",
    invoke,
    read,
    phrase(
        "wrk is a closed loop; its latencies leave out the connection's set-up and include "
        "estimated ones (its correction for coordinated omission)."
    ),
)

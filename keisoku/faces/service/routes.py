"""The table of operations as routes: parameters, bodies, status codes. No request can stop the server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from keisoku.errors import KeisokuError, PlanError
from keisoku.faces.service.body import body, problem, refusal
from keisoku.faces.service.openapi import openapi
from keisoku.faces.service.operation import BASE, OPERATIONS, Operation, Ports
from keisoku.faces.service.runs import NoSuchRun
from keisoku.faces.service.web.access import WebAccess
from keisoku.ground.run.settings import setting_error

_Kind = TypeVar("_Kind", bound=BaseModel)
Endpoint = Callable[[Request, str], Any]
Guard = Callable[[Endpoint], Any]
"""Makes a Starlette endpoint from one that also receives the client's name."""


def routes(ports: Ports, access: WebAccess, guard: Guard, ask: Callable[..., Any]) -> list[Route]:
    """All routes. `ask(who, call, changes=…)` makes a call for a client, one at a time."""
    by_path: dict[str, list[Operation]] = {}
    for operation in OPERATIONS:
        by_path.setdefault(operation.path, []).append(operation)
    found = [
        Route(f"{BASE}/openapi.json", guard(_openapi), methods=["GET"]),
        Route("/metrics", guard(partial(_metrics, ports)), methods=["GET"]),
    ]
    for path, operations in by_path.items():
        methods: dict[str, Operation] = {operation.method: operation for operation in operations}
        found.append(Route(BASE + path, guard(partial(_carry_out, ports, access, ask, methods)), methods=list(methods)))
    return found


async def _openapi(request: Request, who: str) -> Response:
    return JSONResponse(await run_in_threadpool(openapi))


async def _metrics(ports: Ports, request: Request, who: str) -> Response:
    """The newest run of each device and measurement: Prometheus asks for this path if it is told no other."""
    from keisoku.ground.report.openmetrics import CONTENT_TYPE, measured, openmetrics

    def text() -> str:
        return openmetrics([measured(run) for run in ports.runs.newest()])

    return Response(await run_in_threadpool(text), media_type=CONTENT_TYPE)


async def _carry_out(
    ports: Ports,
    access: WebAccess,
    ask: Callable[..., Any],
    methods: Mapping[str, Operation],
    request: Request,
    who: str,
) -> Response:
    operation = methods["GET" if request.method == "HEAD" else request.method]
    if operation.changes and not access.changes(request):
        why = "key: it is missing or wrong; send Authorization: Bearer KEY with the key that the server printed"
        return problem(403, "validation", why)
    try:
        given: dict[str, Any] = dict(request.path_params)
        if operation.query is not None:
            given["query"] = _query(operation.query, request)
        elif request.query_params:
            raise PlanError(next(iter(request.query_params)), "is no parameter of this path", "leave it out")
        if operation.body is not None:
            given["body"] = await body(request)
            if not isinstance(given["body"], dict):
                raise PlanError("body", "is no JSON object", "send a plan")
        call = partial(operation.call, ports, **given)
        # Reading needs no lock: a report takes a second, during which other requests continue.
        answer = (
            await run_in_threadpool(ask, who, call, changes=True)
            if operation.changes
            else (await run_in_threadpool(call))
        )
        if operation.answer is str:
            return HTMLResponse(answer)
        text = await run_in_threadpool(_adapter(operation.name).dump_json, answer)
        return Response(text, operation.status, media_type="application/json")
    except NoSuchRun as error:
        return problem(404, "validation", str(error))
    except KeisokuError as error:
        return refusal(error)
    except ClientDisconnect:
        return problem(400, "validation", "body: ended early")  # the client has closed the connection


@cache
def _adapter(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(next(operation.answer for operation in OPERATIONS if operation.name == name))


def _query(kind: type[_Kind], request: Request) -> _Kind:
    """Parameters that may be given several times, each of them as a list."""
    source = {key: request.query_params.getlist(key) for key in request.query_params}
    try:
        return kind.model_validate(source)
    except ValidationError as error:
        raise setting_error(error) from error

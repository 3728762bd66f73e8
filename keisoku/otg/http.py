"""OTG over HTTP: paths, bodies and status codes. Whatever is sent, the answer is OTG's, and the server goes on.

Answers hold no field that OTG does not have: gosnappi rejects those. What is ours is below /keisoku/v1.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from keisoku.errors import KeisokuError, PlanError
from keisoku.otg.controller import Controller, Document

MOST_BODY_BYTES = 16 * 2**20
BODY_S = 30.0
"""Within this time a body must have come."""
_log = logging.getLogger(__name__)
_Endpoint = Callable[[Request], Awaitable[Response]]


def application(controller: Controller) -> Starlette:
    """The ASGI application."""
    routes = [
        _route(
            "/config",
            {"POST": controller.set_config, "GET": controller.get_config, "PATCH": controller.update_config},
        ),
        _route("/config/append", {"PATCH": controller.append_config}),
        _route("/config/delete", {"PATCH": controller.delete_config}),
        _route("/control/state", {"POST": controller.set_control_state}),
        _route("/monitor/metrics", {"POST": controller.get_metrics}),
        _route("/monitor/states", {"POST": controller.get_states}),
        _route("/monitor/capture", {"POST": controller.get_capture}),
        _route("/capabilities/version", {"GET": controller.get_version}),
        _route("/keisoku/v1/traffic", {"GET": controller.traffic}),
        Route("/control/action", _no_actions, methods=["POST"]),
    ]
    return Starlette(routes=routes, exception_handlers={HTTPException: _not_there, Exception: _failed})


def _route(path: str, calls: dict[str, Callable[..., Document | bytes]]) -> Route:
    async def endpoint(request: Request) -> Response:
        call = calls["GET" if request.method == "HEAD" else request.method]
        try:
            arguments = [await _body(request)] if request.method in ("POST", "PATCH") else []
            # Ports are opened and frames built meanwhile: other requests wait for the controller, not for the loop.
            answer = await run_in_threadpool(call, *arguments)
        except PlanError as error:
            return problem(400, "validation", str(error))
        except KeisokuError as error:
            return problem(500, "internal", str(error))
        if isinstance(answer, bytes):
            return Response(answer, media_type="application/octet-stream")
        return JSONResponse(answer)

    return Route(path, endpoint, methods=list(calls))


async def _no_actions(request: Request) -> Response:
    return problem(400, "validation", "control actions (ping, protocols) are not supported by keisoku; leave them out")


async def _body(request: Request) -> Any:
    parts, length = [], 0
    try:
        async with asyncio.timeout(BODY_S):
            async for part in request.stream():
                length += len(part)
                if length > MOST_BODY_BYTES:
                    raise PlanError("body", "is too long", f"send {MOST_BODY_BYTES >> 20} MiB at most")
                parts.append(part)
    except TimeoutError:
        raise PlanError("body", f"did not come within {BODY_S:g} s", "send it at once") from None
    try:
        return json.loads(b"".join(parts))
    except (ValueError, RecursionError) as error:
        raise PlanError("body", f"is not JSON: {error}", "correct it") from error


def problem(code: int, kind: str, *errors: str) -> JSONResponse:
    """OTG's Error."""
    return JSONResponse({"code": code, "kind": kind, "errors": list(errors)}, status_code=code)


async def _not_there(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return problem(error.status_code, "validation", f"{request.method} {request.url.path}: {error.detail}")


async def _failed(request: Request, error: Exception) -> Response:
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return problem(500, "internal", f"{type(error).__name__}: see the server's log")

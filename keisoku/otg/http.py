"""OTG over HTTP: paths, bodies and status codes. Whatever is sent, the answer is OTG's, and the server goes on.

Answers hold no field that OTG does not have: gosnappi rejects those. What is ours is below /keisoku/v1.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from keisoku.errors import KeisokuError, PlanError
from keisoku.otg.access import Tokens
from keisoku.otg.controller import Controller, Document

MOST_BODY_BYTES = 16 * 2**20
BODY_S = 30.0
"""Within this time a body must have come."""
_log = logging.getLogger(__name__)


def application(controller: Controller, tokens: Tokens | None = None) -> Starlette:
    """The ASGI application; with tokens, for those who have one."""
    ask = _Ask(controller, tokens or Tokens({}))
    routes = [
        ask.route(
            "/config",
            {"POST": controller.set_config, "GET": controller.get_config, "PATCH": controller.update_config},
            changes=True,
        ),
        ask.route("/config/append", {"PATCH": controller.append_config}, changes=True),
        ask.route("/config/delete", {"PATCH": controller.delete_config}, changes=True),
        ask.route("/control/state", {"POST": controller.set_control_state}, changes=True),
        ask.route("/monitor/metrics", {"POST": controller.get_metrics}),
        ask.route("/monitor/states", {"POST": controller.get_states}),
        ask.route("/monitor/capture", {"POST": controller.get_capture}),
        ask.route("/capabilities/version", {"GET": controller.get_version}),
        ask.route("/keisoku/v1/traffic", {"GET": controller.traffic}),
        Route("/control/action", _no_actions, methods=["POST"]),
    ]
    return Starlette(routes=routes, exception_handlers={HTTPException: _not_there, Exception: _failed})


class _Ask:
    """Routes that ask a controller, for whom they know."""

    def __init__(self, controller: Controller, tokens: Tokens) -> None:
        self._controller, self._tokens = controller, tokens

    def route(self, path: str, calls: dict[str, Callable[..., Document | bytes]], changes: bool = False) -> Route:
        """A path; by method what to call. GET never changes anything."""

        async def endpoint(request: Request) -> Response:
            who = self._who(request)
            if who is None:
                return _unknown()
            reads = request.method in ("GET", "HEAD")
            call = calls["GET" if reads else request.method]
            try:
                documents = [] if reads else [await _body(request)]
                # Ports are opened and frames built meanwhile: others wait for the controller, not for the loop.
                answer = await run_in_threadpool(
                    self._controller.ask, who, call, *documents, changes=changes and not reads
                )
            except PlanError as error:
                return problem(400, "validation", str(error))
            except KeisokuError as error:
                return problem(500, "internal", str(error))
            except ClientDisconnect:
                return problem(400, "validation", "body: ended early")  # nobody is there to read it
            if isinstance(answer, bytes):
                return Response(answer, media_type="application/octet-stream")
            return JSONResponse(answer)

        return Route(path, endpoint, methods=list(calls))

    def _who(self, request: Request) -> str | None:
        if self._tokens:
            return self._tokens.name(request.headers.get("authorization"))
        return request.client.host if request.client is not None else "unknown"


def _unknown() -> Response:
    answer = problem(401, "validation", "token: none that is known; write https://NAME:TOKEN@HOST:PORT")
    answer.headers["WWW-Authenticate"] = 'Basic realm="keisoku"'
    return answer


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
        document = json.loads(b"".join(parts))
        # Numbers and texts that JSON cannot hold must not come in: they could not go out again.
        json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
        return document
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

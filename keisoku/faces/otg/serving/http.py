"""OTG over HTTP: paths, bodies and status codes. Every request gets an answer of OTG and cannot stop the server.

Answers have only fields of OTG, because gosnappi rejects others. keisoku's own paths are below /keisoku/v1; its page
for browsers is at /.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from keisoku.errors import KeisokuError
from keisoku.faces.otg.control.access import Tokens
from keisoku.faces.otg.control.controller import Controller, Document
from keisoku.faces.service.body import body, problem, refusal
from keisoku.faces.service.routes import Endpoint, routes
from keisoku.faces.service.web.access import WebAccess
from keisoku.faces.service.web.routes import web_routes

_log = logging.getLogger(__name__)


def application(controller: Controller, tokens: Tokens | None = None, access: WebAccess | None = None) -> Starlette:
    """The ASGI application; with tokens, only for clients that have one. `access` is that of the page at `/`."""
    access = access or WebAccess(bool(tokens))
    ask = _Ask(controller, tokens or Tokens({}), access)
    found = [
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
        Route("/control/action", ask.guard(_no_actions), methods=["POST"]),
        *routes(controller, access, ask.guard, controller.ask),
        *web_routes(controller, access, ask.guard, controller.ask),
    ]
    return Starlette(routes=found, exception_handlers={HTTPException: _not_there, Exception: _failed})


class _Ask:
    """Routes that call a controller for authenticated clients."""

    def __init__(self, controller: Controller, tokens: Tokens, access: WebAccess) -> None:
        self._controller, self._tokens, self._access = controller, tokens, access

    def route(self, path: str, calls: dict[str, Callable[..., Document | bytes]], changes: bool = False) -> Route:
        """A path, and the call for each method. GET never changes anything."""

        async def endpoint(request: Request, who: str) -> Response:
            reads = request.method in ("GET", "HEAD")
            connection = None if request.client is None else str(request.client)
            call = calls["GET" if reads else request.method]
            try:
                documents = [] if reads else [await body(request)]
                # In a thread, because it opens ports and builds frames: other requests wait for the controller, not for
                # the loop.
                answer = await run_in_threadpool(
                    self._controller.ask,
                    who,
                    call,
                    *documents,
                    changes=changes and not reads,
                    connection=connection,
                    program=request.headers.get("user-agent"),
                )
            except KeisokuError as error:
                return refusal(error)
            except ClientDisconnect:
                return problem(400, "validation", "body: ended early")  # the client has closed the connection
            if isinstance(answer, bytes):
                return Response(answer, media_type="application/octet-stream")
            return JSONResponse(answer)

        return Route(path, self.guard(endpoint), methods=list(calls))

    def guard(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        """An endpoint for authenticated clients, which receives the client's name. No other site's page is one."""

        async def guarded(request: Request) -> Response:
            if not self._access.reads(request):
                return problem(403, "validation", "Host: it is a name that leads here; write the server's address")
            if "origin" in request.headers and not self._access.from_own_page(request):
                return problem(403, "validation", "Origin: pages of other sites are not answered; leave it out")
            who = self._who(request)
            return _unknown() if who is None else await endpoint(request, who)

        return guarded

    def _who(self, request: Request) -> str | None:
        if self._tokens:
            return self._tokens.name(request.headers.get("authorization"))
        return request.client.host if request.client is not None else "unknown"


def _unknown() -> Response:
    answer = problem(401, "validation", "token: it is missing or unknown; write https://NAME:TOKEN@HOST:PORT")
    answer.headers["WWW-Authenticate"] = 'Basic realm="keisoku"'
    return answer


async def _no_actions(request: Request, who: str) -> Response:
    return problem(400, "validation", "control actions (ping, protocols) are not supported by keisoku; leave them out")


async def _not_there(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return problem(error.status_code, "validation", f"{request.method} {request.url.path}: {error.detail}")


async def _failed(request: Request, error: Exception) -> Response:
    _log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return problem(500, "internal", f"{type(error).__name__}: see the server's log")

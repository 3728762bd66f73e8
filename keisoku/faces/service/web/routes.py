"""The page's paths: what they show and what they may change. Every one works without a script."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from keisoku import __version__
from keisoku.errors import KeisokuError, PlanError
from keisoku.faces.service.body import sent
from keisoku.faces.service.operation import Ports
from keisoku.faces.service.routes import Guard
from keisoku.faces.service.runs import NoSuchRun
from keisoku.faces.service.web.access import COOKIE, WebAccess
from keisoku.faces.service.web.form import plan, procedures, startable
from keisoku.faces.service.web.listing import Listed, directory, listed, listed_run
from keisoku.ground.report.template import environment
from keisoku.ground.run.names import names_of
from keisoku.ground.simulated_device.device import list_devices
from keisoku.running.measurement.carry_out import findings_of, load, page
from keisoku.running.measurement.side_by_side import side_by_side_findings

_FOLDER = Path(__file__).parent
STATIC = {"htmx.min.js": "text/javascript", "style.css": "text/css", "start.js": "text/javascript"}
"""Files beside the templates; htmx is fetched when keisoku is built, and may be absent."""
MOST_FIELDS = 100
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
    " img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    # With "no-referrer" a browser would send the Origin "null" with the page's own forms.
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_REPORT_HEADERS = {**_HEADERS, "Content-Security-Policy": "sandbox allow-scripts; frame-ancestors 'none'"}
"""A report has scripts of its own, which may not act for the reader on this server."""


def web_routes(ports: Ports, access: WebAccess, guard: Guard, ask: Callable[..., Any]) -> list[Route]:
    """All routes of the page. `ask(who, call, …, changes=True)` makes a call for a client."""
    site = _Site(ports, access, ask)

    def route(path: str, show: Callable[[Request, str], Response], changes: bool = False) -> Route:
        return Route(path, guard(partial(site.answer, show, changes)), methods=["POST" if changes else "GET"])

    return [
        route("/", site.home),
        route("/web/list", site.list),
        route("/web/compare", site.compare),
        route("/web/runs/{run}", site.run),
        route("/web/runs/{run}/report", site.report),
        route("/web/static/{file}", site.static),
        route("/web/start", site.start, changes=True),
        route("/web/runs/{run}/cancel", site.cancel, changes=True),
    ]


class _Site:
    """Answers requests; each is carried out in a thread, as a report takes a second."""

    def __init__(self, ports: Ports, access: WebAccess, ask: Callable[..., Any]) -> None:
        self._ports, self._access, self._ask = ports, access, ask
        self._templates = environment(_FOLDER / "templates")

    async def answer(
        self, show: Callable[[Request, str], Response], changes: bool, request: Request, who: str
    ) -> Response:
        """What the path shows, or a page that says why not."""
        if changes and not (self._access.changes(request) and self._access.from_own_page(request)):
            return self._refused(403, "Only the server's own page, opened with its key or a token, may start a run.")
        try:
            request.state.fields = _fields(await sent(request)) if changes else {}
            return await run_in_threadpool(show, request, who)
        except NoSuchRun as error:
            return self._refused(404, str(error))
        except KeisokuError as error:
            return self._refused(400, str(error))
        except ClientDisconnect:
            return self._refused(400, "body: ended early")

    def home(self, request: Request, who: str) -> Response:
        """Runs, and the form. With the key in the address: keeps it as a cookie, and takes it out of the address."""
        given = request.query_params.get("key")
        if given is not None:
            answer = RedirectResponse("/", 303, headers=_HEADERS)
            if self._access.is_key(given):
                secure = request.url.scheme == "https"
                answer.set_cookie(COOKIE, given, httponly=True, samesite="strict", secure=secure)
            return answer
        return self._page("home.html", request, runs=self._listed(), **self._choices())

    def list(self, request: Request, who: str) -> Response:
        """The list of runs alone, for a page that is open."""
        return self._page("list.html", request, runs=self._listed())

    def run(self, request: Request, who: str) -> Response:
        """One run: its state, and what it found."""
        runs = self._ports.runs
        return self._page("run.html", request, run=listed_run(runs.folder, request.path_params["run"], runs.statuses()))

    def report(self, request: Request, who: str) -> Response:
        """A run's report."""
        outcome = load(directory(self._ports.runs.folder, request.path_params["run"]).path)
        html = page([(outcome.directory, findings_of(outcome.directory))], outcome.verdicts)
        return HTMLResponse(html, headers=_REPORT_HEADERS)

    def compare(self, request: Request, who: str) -> Response:
        """The report of several runs side by side."""
        names = list(dict.fromkeys(request.query_params.getlist("run")))
        if len(names) < 2:
            raise PlanError("runs", "there is nothing to compare", "choose two runs or more")
        found = [load(directory(self._ports.runs.folder, name).path) for name in names]
        called = names_of([one.directory for one in found], [one.results for one in found])
        findings, _, _ = side_by_side_findings(found, called)
        html = page([(one.directory, findings_of(one.directory)) for one in found], findings=findings)
        return HTMLResponse(html, headers=_REPORT_HEADERS)

    def static(self, request: Request, who: str) -> Response:
        """A file of the page itself."""
        name = request.path_params["file"]
        path = _FOLDER / "static" / name
        if name not in STATIC or not path.is_file():
            raise NoSuchRun("file", f"there is no {name}", "leave it out")
        return FileResponse(path, media_type=STATIC[name], headers={"X-Content-Type-Options": "nosniff"})

    def start(self, request: Request, who: str) -> Response:
        """Begins a run and shows it."""
        status = self._ask(who, self._ports.start_run, plan(request.state.fields), changes=True)
        return RedirectResponse(f"/web/runs/{status.run}", 303, headers=_HEADERS)

    def cancel(self, request: Request, who: str) -> Response:
        """Ends a run and shows it."""
        name = request.path_params["run"]
        self._ask(who, self._ports.runs.cancel, name, changes=True)
        return RedirectResponse(f"/web/runs/{name}", 303, headers=_HEADERS)

    def _listed(self) -> Sequence[Listed]:
        return listed(self._ports.runs.folder, self._ports.runs.statuses())

    def _choices(self) -> dict[str, Any]:
        return {
            "measurements": startable(),
            "procedures": procedures(),
            "devices": [f"sim:{device.name}" for device in list_devices()],
        }

    def _page(self, template: str, request: Request, **content: Any) -> Response:
        html = self._templates.get_template(template).render(
            changes=self._access.changes(request),
            script=(_FOLDER / "static" / "htmx.min.js").is_file(),
            version=__version__,
            **content,
        )
        return HTMLResponse(html, headers=_HEADERS)

    def _refused(self, code: int, why: str) -> Response:
        html = self._templates.get_template("refused.html").render(
            changes=False, script=False, version=__version__, why=why
        )
        return HTMLResponse(html, code, headers=_HEADERS)


def _fields(body: bytes) -> Mapping[str, list[str]]:
    """Of a form. Raises PlanError."""
    try:
        return parse_qs(body.decode(), max_num_fields=MOST_FIELDS, keep_blank_values=True)
    except ValueError as error:
        raise PlanError("form", f"cannot be read: {error}", "send it from the page") from error

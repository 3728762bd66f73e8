"""The page's paths: what they show and what they may change. Every one works without a script."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from keisoku import __version__
from keisoku.errors import KeisokuError, Occupied, PlanError
from keisoku.faces.service.body import sent
from keisoku.faces.service.configured import OWNER_S
from keisoku.faces.service.operation import Ports
from keisoku.faces.service.routes import Guard
from keisoku.faces.service.runs import NoSuchRun
from keisoku.faces.service.web import downloads, live, looking, places
from keisoku.faces.service.web.access import COOKIE, WebAccess
from keisoku.faces.service.web.form import Form, Typed, again, entries, for_the_page
from keisoku.faces.service.web.listing import Listed, directory, listed, listed_run
from keisoku.faces.service.web.naming import MOST_NAME, MOST_NOTE, write_label
from keisoku.ground.report.template import environment
from keisoku.ground.run.names import names_of
from keisoku.language import LANGUAGES, written_in
from keisoku.running.measurement.carry_out import findings_of, load, page
from keisoku.running.measurement.side_by_side import side_by_side_findings
from keisoku.units import time_text

_FOLDER = Path(__file__).parent
STATIC = {"htmx.min.js": "text/javascript", "style.css": "text/css", "start.js": "text/javascript"}
"""Files beside the templates; htmx is fetched when keisoku is built, and may be absent."""
MOST_FIELDS = 1000
LANGUAGE = "keisoku_language"
"""Cookie of a reader who has chosen one."""
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
        route("/web/new", site.choose),
        route("/web/new/{entry}", site.form),
        route("/web/new/{entry}", site.begin, changes=True),
        route("/web/traffic", site.traffic),
        route("/web/runs/{run}", site.run),
        route("/web/runs/{run}/report", site.report),
        route("/web/runs/{run}/files/{file}", site.download),
        route("/web/runs/{run}/label", site.label, changes=True),
        route("/web/runs/{run}/cancel", site.cancel, changes=True),
        route("/web/static/{file}", site.static),
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
            return self._refused(
                request, 403, "Only the server's own page, opened with its key or a token, may start a run."
            )
        try:
            request.state.fields = _fields(await sent(request)) if changes else {}
            answer = await run_in_threadpool(_in_language, show, request, who)
        except NoSuchRun as error:
            return self._refused(request, 404, str(error))
        except KeisokuError as error:
            return self._refused(request, 400, str(error))
        except ClientDisconnect:
            return self._refused(request, 400, "body: ended early")
        if request.query_params.get("lang") in LANGUAGES:
            answer.set_cookie(LANGUAGE, request.query_params["lang"], httponly=True, samesite="strict")
        return answer

    def home(self, request: Request, who: str) -> Response:
        """The runs. With the key in the address: keeps it as a cookie, and takes it out of the address."""
        given = request.query_params.get("key")
        if given is not None:
            answer = RedirectResponse("/", 303, headers=_HEADERS)
            if self._access.is_key(given):
                secure = request.url.scheme == "https"
                answer.set_cookie(COOKIE, given, httponly=True, samesite="strict", secure=secure)
            return answer
        return self._page("home.html", request, runs=self._listed())

    def list(self, request: Request, who: str) -> Response:
        """The list of runs alone, for a page that is open."""
        return self._page("list.html", request, runs=self._listed())

    def choose(self, request: Request, who: str) -> Response:
        """What can be measured."""
        return self._page("choose.html", request, groups=entries())

    def form(self, request: Request, who: str) -> Response:
        """The form of an entry; what the address says stands in it already."""
        form, given = Form(request.path_params["entry"]), request.query_params
        typed = {name: given.getlist(name) for name in given if name != "lang"}
        usual = {each.name: ["yes"] for each in form.settings if each.kind is bool and each.field.default}
        return self._form(request, form, {**usual, **typed} if typed else None)

    def begin(self, request: Request, who: str) -> Response:
        """Begins what was typed and shows it, or says what it would do; with a mistake, the form as it was typed."""
        form, typed = Form(request.path_params["entry"]), request.state.fields
        try:
            document = form.document(typed)
            if "start" in typed:
                status = self._ask(who, self._ports.start_run, document, changes=True)
                return RedirectResponse(f"/web/runs/{status.run}", 303, headers=_HEADERS)
            outline = self._ask(who, self._ports.outline_run, document, changes=True)
        except KeisokuError as error:
            mistakes = form.sentences(error) if isinstance(error, PlanError) else {"": for_the_page(str(error))}
            return self._form(request, form, typed, mistakes, 409 if isinstance(error, Occupied) else 400)
        return self._form(request, form, typed, outline=outline)

    def run(self, request: Request, who: str) -> Response:
        """One run: its state, how it goes, and what it found."""
        runs = self._ports.runs
        run = listed_run(runs.folder, request.path_params["run"], runs.statuses())
        measured = directory(runs.folder, run.name) if run.state not in ("running", "damaged") else None
        files = downloads.offered(measured) if measured is not None and run.has_report else {}
        found = None if measured is None else again(measured.measurement, measured.plan)
        course = runs.course(run.name) if run.status is not None else []
        return self._page(
            "run.html",
            request,
            run=run,
            files=files,
            pictures=live.pictures(course),
            again="" if found is None else f"/web/new/{found[0].entry.address}?{urlencode(found[1], doseq=True)}",
            most=(MOST_NAME, MOST_NOTE),
        )

    def report(self, request: Request, who: str) -> Response:
        """A run's report."""
        outcome = load(directory(self._ports.runs.folder, request.path_params["run"]).path)
        html = page([(outcome.directory, findings_of(outcome.directory))], outcome.verdicts)
        return HTMLResponse(html, headers=_REPORT_HEADERS)

    def download(self, request: Request, who: str) -> Response:
        """A file of a finished run."""
        run, name = request.path_params["run"], request.path_params["file"]
        made, kind = downloads.content(load(directory(self._ports.runs.folder, run).path), name)
        named = {"Content-Disposition": f'attachment; filename="{run}-{name}"'}
        return Response(made, media_type=kind, headers={**_HEADERS, **named})

    def label(self, request: Request, who: str) -> Response:
        """Gives a run a name and a note."""
        run, fields = directory(self._ports.runs.folder, request.path_params["run"]), request.state.fields
        name, note = (next(iter(fields.get(key, ())), "") for key in ("name", "note"))
        write_label(run, name, note)  # it needs no port, so nobody's ports are asked for
        return RedirectResponse(f"/web/runs/{run.path.name}", 303, headers=_HEADERS)

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

    def traffic(self, request: Request, who: str) -> Response:
        """What a client has configured by OTG, and how it counts."""
        found = self._ports.configured()
        return self._page(
            "traffic.html",
            request,
            found=found,
            owner=looking.owner(found),
            owner_time=time_text(OWNER_S),
            asked=looking.configuration(found),
            counted=looking.counters(found),
            text=looking.as_text(found),
        )

    def static(self, request: Request, who: str) -> Response:
        """A file of the page itself."""
        name = request.path_params["file"]
        path = _FOLDER / "static" / name
        if name not in STATIC or not path.is_file():
            raise NoSuchRun("file", f"there is no {name}", "leave it out")
        return FileResponse(path, media_type=STATIC[name], headers={"X-Content-Type-Options": "nosniff"})

    def cancel(self, request: Request, who: str) -> Response:
        """Ends a run and shows it."""
        name = request.path_params["run"]
        self._ask(who, self._ports.runs.cancel, name, changes=True)
        return RedirectResponse(f"/web/runs/{name}", 303, headers=_HEADERS)

    def _listed(self) -> Sequence[Listed]:
        return listed(self._ports.runs.folder, self._ports.runs.statuses())

    def _form(
        self,
        request: Request,
        form: Form,
        typed: Typed | None,
        mistakes: Mapping[str, str] | None = None,
        code: int = 200,
        outline: Sequence[str] = (),
    ) -> Response:
        return self._page(
            "form.html",
            request,
            code,
            entry=form.entry,
            groups=form.groups(typed, mistakes),
            mistakes=mistakes or {},
            outline=outline,
            devices=places.devices() if form.is_device else {},
            ports=places.ports() if form.is_device else [],
        )

    def _page(self, template: str, request: Request, code: int = 200, **content: Any) -> Response:
        html = self._templates.get_template(template).render(
            changes=self._access.changes(request),
            script=(_FOLDER / "static" / "htmx.min.js").is_file(),
            version=__version__,
            language=_language(request),
            languages={"en": "English", "ja": "日本語"},
            place=request.url.path,
            plain=for_the_page,
            **content,
        )
        return HTMLResponse(html, code, headers=_HEADERS)

    def _refused(self, request: Request, code: int, why: str) -> Response:
        with written_in(_language(request)):
            return self._page("refused.html", request, code, why=for_the_page(why))


def _in_language(show: Callable[[Request, str], Response], request: Request, who: str) -> Response:
    """The answer in the reader's language."""
    with written_in(_language(request)):
        return show(request, who)


def _language(request: Request) -> str:
    """The one that was chosen, or the first of the browser's that there is."""
    chosen = request.query_params.get("lang") or request.cookies.get(LANGUAGE) or ""
    wanted = [
        part.partition(";")[0].strip()[:2].lower() for part in request.headers.get("accept-language", "").split(",")
    ]
    return next((name for name in (chosen, *wanted) if name in LANGUAGES), LANGUAGES[0])


def _fields(body: bytes) -> Mapping[str, list[str]]:
    """Of a form. Raises PlanError."""
    try:
        return parse_qs(body.decode(), max_num_fields=MOST_FIELDS, keep_blank_values=True)
    except ValueError as error:
        raise PlanError("form", f"cannot be read: {error}", "send it from the page") from error

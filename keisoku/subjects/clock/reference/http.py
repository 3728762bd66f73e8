"""The Date header of a web server as a reference, the last resort: whole seconds, whose edges are searched for.

Asks HEAD only, no more than a few times a second, and never follows a redirect. A server that makes its date in advance
(RFC 9110 §6.6.1 asks for the moment of generation) shows up as contradictions.
"""

from __future__ import annotations

import http.client
import time
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from keisoku.errors import EngineError, PlanError
from keisoku.language import phrase
from keisoku.subjects.clock.reading import Reading
from keisoku.subjects.clock.reference.date_edge import DateEdge
from keisoku.subjects.clock.reference.kinds import Chosen, Reference
from keisoku.subjects.clock.reference.local import bracket

PATIENCE_S = 5.0
SEARCH_EVERY_S = 60.0
"""From the end of a search to the next, unless the run ends before: servers of other people must not be loaded."""
REQUESTS_MOST = 40
"""In one search."""


class DateServer:
    """Searches for edges at one server. Raises EngineError if it cannot be reached or gives no date."""

    def __init__(self, url: str) -> None:
        """Raises PlanError for what is no URL."""
        parts = urlsplit(url if "//" in url else f"http://{url}")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise PlanError("reference", f"{url!r} is no URL of a web server", "write http://HOST/ or https://HOST/")
        self.url = parts.geturl()
        self._path = parts.path or "/"
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        try:
            self._connection = kind(parts.hostname, parts.port, timeout=PATIENCE_S)
        except ValueError as error:
            raise PlanError("reference", f"{url!r} has no such port", "write http://HOST:PORT/") from error
        self.contradictions = 0

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()

    def edge(self) -> Reading:
        """One search: the moment of one edge, in ticks of the counter."""
        search = DateEdge()
        origin = bracket(time.CLOCK_MONOTONIC)
        for _ in range(REQUESTS_MOST):
            until = search.ask_at_ns(time.monotonic_ns() - origin.reference_ns) + origin.reference_ns
            time.sleep(max(0, until - time.monotonic_ns()) / 1e9)
            sent_ns, date_s, received_ns = self._ask()
            search.add(sent_ns - origin.reference_ns, date_s, received_ns - origin.reference_ns)
            if search.ended:
                break
        last = bracket(time.CLOCK_MONOTONIC)
        self.contradictions += search.contradictions
        return edge_reading(search, origin, last)

    def _ask(self) -> tuple[int, int, int]:
        """CLOCK_MONOTONIC before and after, and the date in seconds since 1970."""
        for fresh in (False, True):
            if fresh:
                self._connection.close()
            try:
                if self._connection.sock is None:
                    self._connection.connect()
                sent_ns = time.monotonic_ns()
                self._connection.request("HEAD", self._path, headers={"User-Agent": "keisoku"})
                response = self._connection.getresponse()
                received_ns = time.monotonic_ns()
                response.read()
                break
            except (OSError, http.client.HTTPException) as error:
                # A server may end a connection that it kept; only a fresh one that fails is a failure.
                if fresh:
                    raise EngineError(f"{self.url}: cannot be reached: {error}") from error
        date = response.getheader("Date")
        try:
            return sent_ns, int(parsedate_to_datetime(date or "").timestamp()), received_ns
        except ValueError as error:
            raise EngineError(f"{self.url}: the answer has no date; use another server") from error


def edge_reading(search: DateEdge, first: Reading, last: Reading) -> Reading:
    """The second's end that is next to the search's, in ticks; `first` and `last` are readings of CLOCK_MONOTONIC."""
    elapsed_ns = last.reference_ns - first.reference_ns
    second = round((elapsed_ns + (search.low_ns + search.high_ns) / 2) / 1e9)
    low_ns, high_ns = search.edge(second)
    ticks_per_ns = ((last.before + last.after) - (first.before + first.after)) / 2 / elapsed_ns
    half = max(first.width, last.width) // 2 + 1
    middle = (first.before + first.after) // 2
    return Reading(
        middle + round(low_ns * ticks_per_ns) - half,
        second * 1_000_000_000,
        middle + round(high_ns * ticks_per_ns) + half,
    )


def date_server(chosen: Chosen) -> Reference:
    """Asks once, to know that there is a date."""
    server = DateServer(chosen.target)
    server._ask()
    return Reference(
        name=chosen.name,
        described=phrase("Date header of {url}: whole seconds, their edges searched for", url=server.url),
        read=lambda: [server.edge()],
        pause_s=SEARCH_EVERY_S,
        is_real=True,
        at_least_s=10.0,
        close=server.close,
    )

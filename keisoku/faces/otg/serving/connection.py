"""Connections of the HTTP server: none is kept open for nothing, and those that wait leave room for others.

uvicorn ends a connection only after an answer that nothing follows, and answers nobody once it has too many. A client
that sends nothing, or half of a request's headers, would hold its place for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADERS_S = 10.0
"""Within this time after a connection was opened, or after an answer, the headers of a request must be complete."""
MOST_WAITING = 32
"""Connections without a request, of all clients. The one that has waited longest makes room for another."""
MOST_OF_ADDRESS = 48
"""Connections of one address, so that it cannot take the places of all others."""


class Connection(H11Protocol):
    """One connection; uvicorn calls the methods that it knows on the thread of its loop."""

    _deadline: asyncio.TimerHandle | None = None
    """Set while no request is there."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Waits for the first request."""
        super().connection_made(transport)
        self._wait()
        alike = [one for one in self._all() if one._address() == self._address()]
        if len(alike) > MOST_OF_ADDRESS:
            _end_longest_waiting(alike)
        if sum(one._deadline is not None for one in self._all()) > MOST_WAITING:
            _end_longest_waiting(self._all())

    def handle_events(self) -> None:
        """A request is there once uvicorn has made a cycle of it, before its body."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before and not self.cycle.response_complete:
            self._wait_no_more()

    def on_response_complete(self) -> None:
        """Waits for the next request, which may have come already."""
        self._wait()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing more will come."""
        self._wait_no_more()
        super().connection_lost(exc)

    def _address(self) -> str | None:
        return None if self.client is None else self.client[0]

    def _all(self) -> list[Connection]:
        """Those of this server."""
        return [one for one in self.connections if isinstance(one, Connection)]

    def _wait(self) -> None:
        self._wait_no_more()
        self._deadline = self.loop.call_later(HEADERS_S, self._end)

    def _wait_no_more(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _end(self) -> None:
        self._wait_no_more()
        # What was sent to a client that does not read is given up.
        self.transport.abort()


def _end_longest_waiting(connections: Iterable[Connection]) -> None:
    """Of these; the newest waits, too, and is ended if all others have requests."""
    waiting = [(one._deadline.when(), one) for one in connections if one._deadline is not None]
    _, longest = min(waiting, key=lambda pair: pair[0])
    longest._end()

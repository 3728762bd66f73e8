"""Connections of the HTTP server: none is kept open for nothing, and those that wait leave room for others.

uvicorn ends a connection only after an answer that nothing follows, and answers nobody once it has too many. A client
that sends nothing, or half of a request's headers, would hold its place for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

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
        waiting = list(self._waiting())
        alike = [one for one in self.connections if isinstance(one, Connection) and one._address() == self._address()]
        if len(alike) > MOST_OF_ADDRESS:
            waiting = [pair for pair in waiting if pair[1] in alike]
            if not waiting:
                self._end()
                return
        if len(waiting) >= MOST_WAITING or len(alike) > MOST_OF_ADDRESS:
            _, longest = min(waiting, key=lambda pair: pair[0])
            longest._end()
        self._wait()

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

    def _waiting(self) -> Iterator[tuple[float, Connection]]:
        """This server's connections without a request, and until when each may wait."""
        for one in self.connections:
            if isinstance(one, Connection) and one._deadline is not None:
                yield one._deadline.when(), one

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

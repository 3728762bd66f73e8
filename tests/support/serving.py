"""A server of a measurement, which serves on a thread of its own while a block runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class _Server(Protocol):
    @property
    def port(self) -> int: ...

    def serve(self) -> None: ...

    def stop(self) -> None: ...


@contextmanager
def serving(server: _Server) -> Iterator[int]:
    """Until the block ends. Gives its port."""
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server.port
    finally:
        server.stop()
        thread.join()

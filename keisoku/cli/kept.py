"""Says where a measurement's raw data are that ended before its time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from keisoku.errors import EngineError
from keisoku.run.directory import RunDirectory


@contextmanager
def kept(
    directory: Callable[[], RunDirectory | None], table: str, analyse: str = "keisoku path analyse"
) -> Iterator[None]:
    """Adds the directory to an error or interruption if rows of `table` are kept there, which `analyse` reads."""
    try:
        yield
    except (EngineError, KeyboardInterrupt) as error:
        made = directory()
        if made is None or not made.parts(table):
            raise
        problem = str(error) if isinstance(error, EngineError) else "interrupted"
        raise EngineError(
            f"{problem}; what was measured is kept: '{analyse} {made.path}' says what it holds"
        ) from error

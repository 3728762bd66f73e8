"""A result on standard output, which may be full or closed: the error then names the run. Prints nothing itself."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from keisoku.errors import KeisokuError


@contextmanager
def told(kept_in: Path) -> Iterator[None]:
    """Flushes what is printed inside. Raises KeisokuError, naming the run, if this is not possible."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        sys.stdout = io.StringIO()  # the rest cannot be written at exit either
        raise KeisokuError(
            f"standard output: cannot write the result: {error.strerror}; make room or write elsewhere;"
            f" the result is kept in {kept_in}"
        ) from error

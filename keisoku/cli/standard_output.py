"""A result on standard output, which may be full or gone: what is kept elsewhere is said. Prints nothing itself."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from keisoku.errors import KeisokuError


@contextmanager
def told(kept_in: Path) -> Iterator[None]:
    """What is printed within has left this process at its end. Raises KeisokuError, naming the run, if it cannot."""
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        sys.stdout = io.StringIO()  # what is left of it cannot be written at exit either
        raise KeisokuError(
            f"standard output: cannot write the result: {error.strerror}; make room or write elsewhere;"
            f" it is kept in {kept_in}"
        ) from error

"""How many cases of each kind of fault are tried: few in `make test`, all with `--long` (`make test-faults`)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Cases = Callable[[int, int], range]


@pytest.fixture
def cases(pytestconfig: pytest.Config) -> Cases:
    """The seeds of the cases, by their number in short and with `--long`."""
    return lambda short, long: range(long if pytestconfig.getoption("--long") else short)

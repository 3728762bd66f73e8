"""The table of faults in the documentation names tests that there are, and `make test-faults` runs them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
_NAMED = re.compile(r"`(?:(tests/[\w/]+)/)?(\w+\.py)`")
"""A file; one without a folder is in that of the one before."""


def test_every_test_that_the_table_names_is_run_by_make_test_faults() -> None:
    rule = (ROOT / "Makefile").read_text().split("\ntest-faults:")[1].split("\n\n")[0]
    folder, named = "", []
    for found in _NAMED.finditer((ROOT / "docs" / "reliability.md").read_text()):
        folder = found[1] or folder
        named.append(f"{folder}/{found[2]}")
    assert len(set(named)) > 15
    for name in named:
        assert (ROOT / name).is_file(), name
        assert name in rule or (name.startswith("tests/faults/") and "tests/faults --long" in rule), name

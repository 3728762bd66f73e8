"""A name and a note that a reader gives a run afterwards, beside what was measured, which stays as it is."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from keisoku.errors import PlanError
from keisoku.ground.run.directory import RunDirectory

FILE = "label.json"
MOST_NAME, MOST_NOTE = 120, 4000
"""Letters."""


@dataclass(frozen=True)
class Label:
    """Both; empty where nothing was given."""

    name: str = ""
    note: str = ""


def label_of(path: Path) -> Label:
    """Of the run in this directory; nothing where the file is not there or is damaged."""
    try:
        found = json.loads((path / FILE).read_bytes())
        return Label(str(found["name"]), str(found["note"]))
    except (OSError, ValueError, TypeError, KeyError):
        return Label()


def write_label(directory: RunDirectory, name: str, note: str) -> None:
    """Replaces both. Raises PlanError if one is too long."""
    for field, text, most in (("name", name, MOST_NAME), ("note", note, MOST_NOTE)):
        if len(text) > most:
            raise PlanError(field, f"it has {len(text)} letters", f"use {most} at most")
    directory.write_text(FILE, json.dumps(asdict(Label(name.strip(), note.strip())), ensure_ascii=False) + "\n")

"""Which clause of which standard is obeyed where, and which tests see it: from comments and docstrings, by itself.

A clause is what follows a standard's name ("RFC 2544 §26.1"), or a bare "§26.1" in a file that named a standard before.
Tests of a clause are those that name it; if none does, those that import a file that does, or that are named after the
standard.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
_NAMED = re.compile(
    r"(?P<standard>RFC ?\d{3,5}|IEEE (?:802(?:\.\d+\w*)?|1588)|ITU-T [A-Z]\.\d+|ISO \d+(?:-\d+)?)"
    r"|(?:§§?\s?|\bappendix )(?P<clause>[A-Z]?\d+(?:\.\d+)*|[A-Z](?:\.\d+)*\b)",
    re.IGNORECASE,
)
_A_BOOK = re.compile(r"(?:\b(?:19|20)\d\d|[A-Z][a-z]+|SP \d+)[,)]*[^.;(]{0,9}$")
"""Before a bare clause: it is one of that source, not of the standard that the file named before."""
_IMPORTED = re.compile(r"^\s*from (keisoku[\w.]+) import ([^\n(]+|\([^)]*\))|^\s*import (keisoku[\w.]+)", re.MULTILINE)
_SHOWN = 4
"""Files in a cell; the others are counted."""


@dataclass
class Places:
    """Files, as paths in the tree, that obey a clause and that test it."""

    code: set[str] = field(default_factory=set)
    tests: set[str] = field(default_factory=set)


def clauses() -> dict[tuple[str, str], Places]:
    """By standard and clause, in their order."""
    found: dict[tuple[str, str], Places] = defaultdict(Places)
    for path in [*ROOT.glob("keisoku/**/*.py"), *ROOT.glob("core/src/**/*.rs"), *ROOT.glob("core/bpf/*.[ch]")]:
        for name in named(path.read_text()):
            found[name].code.add(_shown(path))
    importers, after = defaultdict(set), defaultdict(set)
    for path in (path for folder in ("tests", "fpga/tb") for path in ROOT.glob(f"{folder}/**/test_*.py")):
        text, shown = path.read_text(), _shown(path)
        for name in set(named(text)) & set(found):
            found[name].tests.add(shown)
        for module in imported(text):
            importers[module].add(shown)
        if number := re.search(r"rfc(\d+)", path.stem):
            after[f"RFC {number[1]}"].add(shown)
    for (standard, _), places in found.items():
        if places.tests:
            continue
        for file in places.code:
            places.tests |= importers[file.removesuffix(".py").replace("/", ".")]
            if file.endswith(".rs") and _tests_itself(ROOT / file):
                places.tests.add(file)
        places.tests |= set() if places.tests else after[standard]
    return dict(sorted(found.items(), key=lambda each: (_key(each[0][0]), _key(each[0][1]))))


def named(text: str) -> Iterator[tuple[str, str]]:
    """Standards with their clauses, as a text names them."""
    standard, end = "", 0
    for match in _NAMED.finditer(text):
        if match["standard"]:
            standard, end = re.sub(r"(?i)rfc ?", "RFC ", match["standard"]), match.end()
        elif standard and (match.start() - end < 12 or not _A_BOOK.search(text[: match.start()])):
            yield standard, match["clause"].upper()


def imported(text: str) -> Iterator[str]:
    """Modules of keisoku that a text imports, and names from them, which may be modules, too."""
    for module, names, alone in _IMPORTED.findall(text):
        yield module or alone
        yield from (f"{module}.{name}" for name in re.findall(r"\w+", names))


def table() -> str:
    """All clauses as a table of Markdown for each standard."""
    lines, last = [], ""
    for (standard, clause), places in clauses().items():
        if standard != last:
            lines += ["", f"## {standard}", "", "| clause | code | tests |", "|---|---|---|"]
            last = standard
        lines.append(f"| §{clause} | {_cell(places.code)} | {_cell(places.tests) or 'none by name'} |")
    return "\n".join(lines)


def _cell(files: set[str]) -> str:
    shown = [f"`{file}`" for file in sorted(files)[:_SHOWN]]
    more = len(files) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _key(text: str) -> list[tuple[int, int, str]]:
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.findall(r"\d+|[^\d.]+", text)]


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _tests_itself(path: Path) -> bool:
    return "mod tests" in path.read_text()

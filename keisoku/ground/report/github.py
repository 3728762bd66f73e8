"""A run for GitHub Actions: a summary in Markdown, and annotations, which are commands on standard output."""

from __future__ import annotations

from collections.abc import Sequence

from keisoku.ground.report.check import Check
from keisoku.ground.report.digits import MARKS
from keisoku.ground.report.table import Table, all_tables
from keisoku.ground.run.result import Result

_SIGNS = {"passed": "✅", "failed": "❌", "skipped": "⚠️"}
_ANNOTATIONS = {"failed": "error", "skipped": "warning"}
MOST_ANNOTATIONS = 10
"""GitHub shows no more of a kind for each step."""


def markdown(name: str, results: Sequence[Result], checks: Sequence[Check]) -> str:
    """What was found in words, all tables, and every check that has a verdict; failures come first."""
    lines = [f"## {_cell(name)}", ""]
    judged = [check for check in checks if check.outcome != "passed" or check.group in ("criteria", "regressions")]
    for outcome in ("failed", "skipped", "passed"):
        lines += [
            f"- {_SIGNS[outcome]} {_cell(check.group)}: {_cell(check.name)} – {_cell(check.text)}"
            for check in judged
            if check.outcome == outcome
        ]
    for result in results:
        lines += ["", f"### {_cell(result.title or result.measurement)}", ""]
        if result.sentence:
            lines += [_cell(result.sentence), ""]
        for table in all_tables(result):
            lines += [*_table(table), ""]
        lines += [f"- flag {_cell(flag.name)}: {_cell(flag.text)}" for flag in result.flags]
        lines += _folded("deviations", result.deviations) + _folded("remarks", result.remarks)
    return "\n".join(lines).rstrip() + "\n"


def workflow_commands(name: str, results: Sequence[Result], checks: Sequence[Check]) -> str:
    """An error for each failed check, a warning for each that was not measured, and a notice with what was found."""
    lines = []
    for outcome, kind in _ANNOTATIONS.items():
        own = [check for check in checks if check.outcome == outcome]
        more = len(own) - MOST_ANNOTATIONS
        for place, check in enumerate(own[:MOST_ANNOTATIONS], 1):
            rest = f" (and {more} more)" if place == MOST_ANNOTATIONS and more > 0 else ""
            lines.append(f"::{kind} title={_property(f'{check.group}: {check.name}')}::{_message(check.text + rest)}")
    for result in results:
        if result.sentence:
            lines.append(f"::notice title={_property(name)}::{_message(result.sentence)}")
    return "".join(f"{line}\n" for line in lines)


def _table(table: Table) -> list[str]:
    heads = [f"{head.title} ({head.unit})" if head.unit else head.title for head in table.heads]
    rows = [heads, ["---"] * len(heads), *table.rows]
    lines = [f"| {' | '.join(cell if cell == '---' else _cell(cell) for cell in row)} |" for row in rows]
    title = [f"**{_cell(table.title)}**", ""] if table.title else []
    return [*title, *lines, *(f"\n{mark} {MARKS[mark]}" for mark in table.marks)]


def _folded(what: str, sentences: Sequence[str]) -> list[str]:
    if not sentences:
        return []
    listed = [f"- {_cell(sentence)}" for sentence in sentences]
    return ["", f"<details><summary>{what}: {len(sentences)}</summary>", "", *listed, "", "</details>"]


def _cell(text: str) -> str:
    """Text that Markdown shows as it is, on one line: names and titles are the users'."""
    line = " ".join(text.split())
    for sign in "\\`*_[]<>|#":
        line = line.replace(sign, f"\\{sign}")
    return line


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")

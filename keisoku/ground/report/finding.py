"""A section above a page's methods: tables and sentences about several runs together. It computes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rich.console import Console
from rich.text import Text

from keisoku.ground.report.table import Table
from keisoku.ground.report.text import print_table
from keisoku.language import all_translated


@dataclass(frozen=True)
class Finding:
    """A section: `anchor` is its id in the page."""

    anchor: str
    title: str
    subtitle: str
    tables: list[Table]
    notes: list[str] = field(default_factory=list)
    """Sentences below the tables."""

    def with_notes(self, notes: Sequence[str]) -> Finding:
        """The section with more sentences."""
        return replace(self, notes=[*self.notes, *notes])


def print_findings(findings: Sequence[Finding], console: Console) -> None:
    """Prints the section on a terminal, or as plain aligned lines."""
    for finding in findings:
        title, subtitle, *notes = all_translated([finding.title, finding.subtitle, *finding.notes])
        console.print(Text(f"{title}: {subtitle}", style="bold"), soft_wrap=True)
        for table in finding.tables:
            print_table(table, console)
        for note in notes:
            console.print(note, markup=False, highlight=False, soft_wrap=True)
        console.print()

"""The table of docs/drivers.md: written by a run, and compared with the cases that exist."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from drivers.cases import CASES
from drivers.driver import DRIVERS

PAGE = Path(__file__).parents[2] / "docs/drivers.md"
BEGIN, END = "<!-- written by `make docs-drivers` -->\n", "<!-- end -->\n"


@dataclass(frozen=True)
class Outcome:
    """Of one case on one driver."""

    case: str
    driver: str
    engine: str | None
    passed: bool
    shown: str
    """What the case saw."""
    seconds: float


def write(outcomes: Sequence[Outcome], guest: str) -> None:
    """Replaces the table of the page."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    seconds = sum(outcome.seconds for outcome in outcomes)
    failed = sum(not outcome.passed for outcome in outcomes)
    whole = f"{len(outcomes)} runs of {len({outcome.case for outcome in outcomes})} cases in {seconds / 60:.0f} minutes"
    told = f"{guest}. {whole}, {failed} failed."
    PAGE.write_text(f"{before}{BEGIN}\n{told}\n\n{table(outcomes)}\n{sentences(outcomes)}{END}{after}")


def table(outcomes: Sequence[Outcome]) -> str:
    """A row for each case, a column for each driver."""
    found = {(one.case, one.driver, one.engine): one.passed for one in outcomes}
    names = [driver.name for driver in DRIVERS]
    lines = [f"| case | what is shown | {' | '.join(names)} |", "|---" * (2 + len(names)) + "|"]
    for case in CASES:
        cells = []
        for name in names:
            marks = [(engine, found.get((case.name, name, engine))) for engine in case.engines]
            words = [_word(engine, passed) for engine, passed in marks]
            cells.append("–" if name not in case.drivers else ", ".join(words))
        lines.append(f"| `{case.name}` | {case.sentence} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def sentences(outcomes: Sequence[Outcome]) -> str:
    """What the cases saw, where they say it."""
    lines = [
        f"- `{one.case}`, {one.driver}{f', `{one.engine}:`' if one.engine else ''}: {one.shown}"
        for one in outcomes
        if one.shown
    ]
    return "\n".join(["", "What cases saw:", "", *lines, ""]) if lines else ""


def kept_cases() -> list[str]:
    """Names of the cases in the kept page."""
    text = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    return [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")]


def _word(engine: str | None, passed: bool | None) -> str:
    word = "not run" if passed is None else "yes" if passed else "NO"
    return f"`{engine}` {word}" if engine else word

"""The tables of outcomes.md: written by a run, and compared with the cases that exist."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from drivers.cases import CASES
from drivers.driver import DRIVERS

PAGE = Path(__file__).parent / "outcomes.md"
BEGIN, END = "<!-- written by `make docs-drivers` -->\n", "<!-- end -->\n"
BEGIN_LABS = "<!-- tests of labs, written by `make docs-drivers` -->\n"
_CASES = {case.name: case for case in CASES}
_NAMES = re.compile(r"\b(?:igb|e1000e|virtio|vmxnet3|eth)\dx?\b(, )?|[\d.]+ s\b")
"""What differs from port to port and from run to run."""


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


@dataclass(frozen=True)
class LabOutcome:
    """Of one test of labs that ran in the guest."""

    test: str
    """With its parameters, as pytest names it."""
    outcome: str
    """passed, failed or skipped."""
    seconds: float


def write(
    outcomes: Sequence[Outcome],
    earlier: Sequence[Outcome],
    of_labs: Sequence[LabOutcome],
    earlier_of_labs: Sequence[LabOutcome],
    guest: str,
) -> None:
    """Replaces the tables of the page, those of which something was run; earlier outcomes are kept beside."""
    if outcomes:
        seconds = sum(outcome.seconds for outcome in outcomes)
        failed = sum(not outcome.passed for outcome in outcomes)
        cases = len({outcome.case for outcome in outcomes})
        told = f"{guest}. Runs: {len(outcomes)}, of cases: {cases}, in {seconds / 60:.0f} min; failed: {failed}."
        whole = {(one.case, one.driver, one.engine): one for one in (*earlier, *outcomes)}
        if beside := len(whole) - len(outcomes):
            told += f" {beside} other cells are of earlier runs."
        found = list(whole.values())
        _replace(BEGIN, f"\n{told}\n\n{table(found)}{absences()}{sentences(found)}\n")
    if of_labs:
        _replace(BEGIN_LABS, f"\n{guest}.\n{labs(of_labs, earlier_of_labs)}\n")


def _replace(begin: str, text: str) -> None:
    before, _, rest = PAGE.read_text().partition(begin)
    PAGE.write_text(before + begin + text + END + rest.partition(END)[2])


def table(outcomes: Sequence[Outcome]) -> str:
    """A row for each case, a column for each driver."""
    found = {(one.case, one.driver, one.engine): one.passed for one in outcomes}
    names = [driver.name for driver in DRIVERS]
    lines = [f"| case | what is shown | {' | '.join(names)} |", "|---" * (2 + len(names)) + "|"]
    for case in CASES:
        cells = []
        for name in names:
            marks = [(engine, found.get((case.name, name, engine))) for engine in case.engines]
            words = (
                ["yes"] if all(passed for _, passed in marks) else [_word(engine, passed) for engine, passed in marks]
            )
            cells.append("–" if name not in case.drivers else ", ".join(words))
        lines.append(f"| `{case.name}` | {case.sentence} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def absences() -> str:
    """Why cells have a dash."""
    lines = [f"- `{case.name}`, {driver}: {why}" for case in CASES for driver, why in case.absent.items()]
    return "\n".join(["", "Cells with a dash, and what is not there:", "", *lines, ""])


def labs(outcomes: Sequence[LabOutcome], earlier: Sequence[LabOutcome]) -> str:
    """A row for each test of labs, with its parameters by outcome."""
    minutes = sum(one.seconds for one in outcomes) / 60
    whole = {one.test: one for one in (*earlier, *outcomes)}
    beside = len(whole) - len(outcomes)
    lines = [
        "",
        f"{len(outcomes)} tests in {minutes:.0f} minutes"
        + (f"; {beside} others are of earlier runs:" if beside else ":"),
        "",
        "| test | passed | failed | skipped |",
        "|---|---|---|---|",
    ]
    for test in dict.fromkeys(_function(one) for one in whole.values()):
        own = [one for one in whole.values() if _function(one) == test]
        cells = [
            ", ".join(_parameters(one) for one in own if one.outcome == outcome)
            for outcome in ("passed", "failed", "skipped")
        ]
        lines.append(f"| `{test}` | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def kept_labs() -> list[LabOutcome]:
    """Outcomes of tests of labs in the kept page."""
    text = PAGE.read_text().partition(BEGIN_LABS)[2].partition(END)[0]
    found = []
    for line in text.splitlines():
        if line.startswith("| `"):
            test, *cells = line.strip("|").split("|")
            for outcome, cell in zip(("passed", "failed", "skipped"), cells, strict=True):
                names = [f"[{parameters}]" for parameters in re.findall("`(.*?)`", cell)] or [""] * bool(cell.strip())
                found += [LabOutcome(test.strip(" `") + name, outcome, 0.0) for name in names]
    return found


def _function(outcome: LabOutcome) -> str:
    return outcome.test.partition("[")[0]


def _parameters(outcome: LabOutcome) -> str:
    _, bracket, parameters = outcome.test.partition("[")
    return f"`{parameters.removesuffix(']')}`" if bracket else "yes"


def sentences(outcomes: Sequence[Outcome]) -> str:
    """What the cases saw, where it is not the same everywhere; once where it differs only by names of ports and by
    times."""
    alike: dict[tuple[str, str], list[Outcome]] = {}
    for one in sorted(outcomes, key=_place):
        if one.shown:
            alike.setdefault((one.case, _NAMES.sub("", one.shown)), []).append(one)
    places = {key: _where(same) for key, same in alike.items()}
    lines = [f"- `{key[0]}`, {where}: {alike[key][0].shown}" for key, where in places.items() if where]
    return "\n".join(["", "What cases saw, where it was not the same everywhere:", "", *lines, ""]) if lines else ""


def kept_cases() -> list[str]:
    """Names of the cases in the kept page."""
    return [line.split("`")[1] for line in _kept_rows()]


def kept() -> list[Outcome]:
    """Outcomes in the kept page, of cases and drivers that still exist."""
    names = [driver.name for driver in DRIVERS]
    text = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    shown = {
        (case, driver, engine): told
        for case, where, told in re.findall(r"^- `(\w+)`, (.*?): (.*)$", text, re.M)
        for driver, engine in _places(case, where)
    }
    found = []
    for line in _kept_rows():
        cells = line.strip("| ").split(" | ")
        case = next((case for case in CASES if case.name == cells[0].strip("`")), None)
        if case is None:
            continue
        for name, cell in zip(names, cells[2:], strict=True):
            for engine in case.engines if name in case.drivers else ():
                passed = {_word(engine, True): True, _word(engine, False): False, "yes": True}
                word = next((word for word in cell.split(", ") if word in passed), None)
                if word is not None:
                    told = shown.get((case.name, name, engine), "")
                    found.append(Outcome(case.name, name, engine, passed[word], told, 0.0))
    return found


def _kept_rows() -> list[str]:
    text = PAGE.read_text().partition(BEGIN)[2].partition("\n\nCells with a dash")[0]
    return [line for line in text.splitlines() if line.startswith("| `")]


def _where(outcomes: Sequence[Outcome]) -> str:
    """Drivers, with the engines where these are not all of the case's; nothing for all of them."""
    case = _CASES[outcomes[0].case]
    engines = {driver: [one.engine for one in outcomes if one.driver == driver] for driver in case.drivers}
    if all(sorted(map(str, own)) == sorted(map(str, case.engines)) for own in engines.values()):
        return ""
    return ", ".join(
        driver if len(own) == len(case.engines) else f"{driver} ({', '.join(f'`{engine}`' for engine in own)})"
        for driver, own in engines.items()
        if own
    )


def _places(case: str, where: str) -> list[tuple[str, str | None]]:
    """The drivers and engines that `_where` names."""
    if case not in _CASES:
        return []
    named = re.findall(r"(\w+)(?: \((.*?)\))?(?:, |$)", where)
    return [
        (driver, engine)
        for driver, engines in named
        for engine in (re.findall("`(.*?)`", engines) or _CASES[case].engines)
    ]


def _place(outcome: Outcome) -> int:
    return next(number for number, case in enumerate(CASES) if case.name == outcome.case)


def _word(engine: str | None, passed: bool | None) -> str:
    word = "not run" if passed is None else "yes" if passed else "NO"
    return f"`{engine}` {word}" if engine else word

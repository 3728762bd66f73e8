"""A board's description: fpga/board/NAME/board.toml. Never runs a tool."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keisoku.errors import PlanError

# The RTL lies in the source tree and is no part of the installed package.
FPGA = Path(__file__).resolve().parents[3] / "fpga"


@dataclass(frozen=True, slots=True)
class Board:
    """One revision of a board, with the values that the tools need."""

    name: str  # the folder in fpga/board
    title: str
    revision: str
    part: str  # as the FPGA's vendor writes it
    device: tuple[str, ...]  # options of nextpnr-ecp5
    flash: tuple[str, ...]  # options of openFPGALoader
    most: Mapping[str, int]  # the most cells of each kind that a build may use

    @property
    def full_name(self) -> str:
        """Name and revision, 'colorlight_5a_75b-8.0': its folder in fpga/build."""
        return f"{self.name}-{self.revision}"

    @property
    def folder(self) -> Path:
        """The folder of top.sv, top.lpf and README.md."""
        return FPGA / "board" / self.name


def _values(name: str) -> dict[str, Any]:
    return tomllib.loads((FPGA / "board" / name / "board.toml").read_text())


def boards() -> list[str]:
    """The names of all boards; empty if keisoku runs without its source tree."""
    return sorted(file.parent.name for file in (FPGA / "board").glob("*/board.toml"))


def board(name: str, revision: str | None = None) -> Board:
    """The board of that name, in its first revision unless another is asked for.

    Raises PlanError if there is no such board or revision.
    """
    known = boards()
    if not known:
        raise PlanError("board", f"there are no boards in {FPGA}", "run keisoku from its source tree")
    if name not in known:
        raise PlanError("board", f"there is no board {name!r}", f"use one of {', '.join(known)}")
    values = _values(name)
    revisions = values["revision"]
    chosen = next(iter(revisions)) if revision is None else revision
    if chosen not in revisions:
        raise PlanError("revision", f"{name} has no revision {chosen!r}", f"use one of {', '.join(revisions)}")
    return Board(
        name,
        values["name"],
        chosen,
        revisions[chosen]["part"],
        tuple(revisions[chosen]["device"]),
        tuple(values["flash"]),
        values["most"],
    )


def named(full_name: str) -> Board:
    """The board of a name and a revision, as 'colorlight_5a_75b-8.0'. Raises PlanError if there is none."""
    name, _, revision = full_name.partition("-")
    return board(name, revision or None)


def every_board() -> list[Board]:
    """All boards in all their revisions."""
    return [board(name, revision) for name in boards() for revision in _values(name)["revision"]]

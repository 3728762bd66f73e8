"""What a finished run can be taken away as: its result as JSON, its tables as CSV and Parquet, its report as HTML and
PDF. Every file is one of the run's directory, or made of one."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from io import BytesIO

from keisoku.errors import PlanError
from keisoku.ground.report.paper import printed
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.outcome import Outcome
from keisoku.running.measurement.carry_out import findings_of, page

_KINDS = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "pdf": "application/pdf",
}
_REPORT, _RESULT = "report.pdf", "result.json"


@dataclass(frozen=True)
class Download:
    """One file."""

    name: str
    kind: str
    """Ending of its name."""


def offered(directory: RunDirectory) -> dict[str, list[Download]]:
    """All of them, by their kind, as a finished run has them."""
    files = sorted(path.name for path in directory.path.glob("*.csv"))
    tables: list[str] = []
    if all(find_spec(package) for package in ("duckdb", "pyarrow")):  # of extras that not everybody has
        from keisoku.running.measurement.query import names

        tables = [f"{name}.parquet" for name in names(directory)]
    found: dict[str, list[Download]] = {}
    for name in (_REPORT, _RESULT, *files, *tables):
        kind = name.rpartition(".")[2]
        found.setdefault(kind, []).append(Download(name, kind))
    return found


def content(outcome: Outcome, name: str) -> tuple[bytes, str]:
    """The bytes of a file, and its media type. Raises PlanError for one that the run has not."""
    directory = outcome.directory
    if not any(each.name == name for files in offered(directory).values() for each in files):
        raise PlanError("file", f"this run has no {name}", "use one of those that are listed")
    stem, _, kind = name.rpartition(".")
    if name == _REPORT:
        made = printed(page([(directory, findings_of(directory))], outcome.verdicts, paper=True))
    elif kind == "parquet":
        made = _parquet(directory, stem)
    else:
        made = (directory.path / name).read_bytes()
    return made, _KINDS[kind]


def _parquet(directory: RunDirectory, table: str) -> bytes:
    import pyarrow.parquet as pq

    from keisoku.running.measurement.query import table as rows

    written = BytesIO()
    pq.write_table(rows(directory.path, table), written, compression="zstd")
    return written.getvalue()

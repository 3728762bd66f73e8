"""A mesh of hosts in namespaces behind one bridge: who is cut off for how long, and nobody else."""

from __future__ import annotations

import csv
import json
import time
from pathlib import Path
from typing import Any

import pytest
from support.command_line import keisoku, start
from support.mesh_bed import MeshBed
from support.outage_bed import Truth

pytestmark = pytest.mark.lab
PATIENCE_S = 120.0


def measured(
    bed: MeshBed, folder: Path, duration_s: float, cut: Any, *options: str, code: int = 0
) -> tuple[dict[str, Any], Truth | None]:
    """The result of a mesh of all hosts, during which `cut` was done."""
    child = start(
        "outage", "mesh", *bed.ends, "--duration", f"{duration_s}s", *options, "--out", "run", "--json", cwd=folder
    )
    until_s = time.monotonic() + PATIENCE_S
    while not (folder / "run" / "context.json").exists():
        assert time.monotonic() < until_s and child.poll() is None, child.communicate()
        time.sleep(0.01)
    truth = cut()
    said, wrong = child.communicate()
    assert child.returncode == code, said + wrong
    (result,) = json.loads(said)["results"]
    return result, truth


def matrix(folder: Path) -> dict[tuple[str, str], dict[str, str]]:
    with (folder / "run" / "matrix.csv").open() as lines:
        return {(row["from"], row["to"]): row for row in csv.DictReader(lines)}


def check_only(bed: MeshBed, found: dict[tuple[str, str], dict[str, str]], cut: int, truth: Truth) -> None:
    """Row and column of that host, and nothing else, were interrupted, for as long as it was cut off."""
    host, (least_ns, most_ns) = bed.addresses[cut], truth.length_ns
    for ends, row in found.items():
        if host in ends:
            assert row["verdict"] == "interrupted" and row["interruptions"] == "1", row
            assert float(row["least"]) <= most_ns / 1e9 and least_ns / 1e9 <= float(row["most"]), (row, truth)
        else:
            assert row["verdict"] == "not interrupted" and row["lost"] == "0", row
    assert len(found) == len(bed.ends) * (len(bed.ends) - 1)


def test_only_the_row_and_the_column_of_a_host_that_is_cut_off_are_interrupted(tmp_path: Path) -> None:
    with MeshBed(6) as bed:
        result, truth = measured(bed, tmp_path, 3.0, lambda: bed.cut(2, 0.6), "--interval", "20ms")
    assert truth is not None
    check_only(bed, matrix(tmp_path), 2, truth)
    rows = {row["case"]: row["figures"] for row in result["rows"]}
    assert rows["all pairs"]["pairs"]["value"] == 30
    assert rows["all pairs"]["affected"]["value"] == 10
    cut, other = rows[bed.addresses[2]], rows[bed.addresses[0]]
    assert (cut["affected_from"]["value"], cut["affected_to"]["value"]) == (5, 5)
    assert (other["affected_from"]["value"], other["affected_to"]["value"]) == (1, 1)
    assert "end-interrupted" in [flag["name"] for flag in result["flags"]]


def test_a_host_that_never_comes_back_exceeds_every_budget(tmp_path: Path) -> None:
    with MeshBed(3) as bed:
        result, _ = measured(
            bed, tmp_path, 2.0, lambda: bed.cut_for_good(0), "--interval", "20ms", "--budget", "1h", code=1
        )
    found = matrix(tmp_path)
    verdicts = {ends: row["verdict"] for ends, row in found.items()}
    assert {ends for ends, verdict in verdicts.items() if verdict == "never came back"} == {
        ends for ends in verdicts if bed.addresses[0] in ends
    }
    (mesh,) = [row["figures"] for row in result["rows"] if row["group"] == "Mesh"]
    assert mesh["never"]["value"] == 4
    assert mesh["interruption"]["bound"] == "at least"


def test_an_end_that_cannot_be_is_named_with_what_to_do(tmp_path: Path) -> None:
    with MeshBed(2) as bed:
        done = keisoku("outage", "mesh", bed.ends[0], bed.ends[0], cwd=tmp_path)
        done.refused("198.18.50.1 is given twice")
        done = keisoku("outage", "mesh", bed.ends[0], "198.18.50.9@" + bed.ends[1].partition("@")[2], cwd=tmp_path)
        assert done.code == 2 and "cannot listen at 198.18.50.9:8622" in done.stderr


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("cut", "length_s"), [(0, 1.0), (24, 2.5), (49, 5.0)])
def test_fifty_hosts(tmp_path: Path, cut: int, length_s: float) -> None:
    with MeshBed(50) as bed:
        _, truth = measured(bed, tmp_path, 4.0 + 2 * length_s, lambda: bed.cut(cut, length_s), "--interval", "0.2s")
    assert truth is not None
    check_only(bed, matrix(tmp_path), cut, truth)

"""Every file of examples/ runs as it stands; `make demo` runs demo.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.notebook import outputs

from keisoku.running.measurement.plan_file import read

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(path for path in EXAMPLES.glob("*.py") if path.name != "demo.py")
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_script_runs(path: Path, tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(EXAMPLES.parent)}
    done = subprocess.run(
        [sys.executable, path], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_a_notebook_shows_what_it_was_kept_with(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    kept = [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    shown = outputs(notebook)
    assert [[sorted(part.get("data", {})) for part in cell] for cell in shown] == [
        [sorted(part.get("data", {})) for part in cell] for cell in kept
    ]
    pictures = [part for cell in shown for part in cell if "<svg" in "".join(part.get("data", {}).get("text/html", []))]
    assert len(pictures) == 2


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.name)
def test_a_plan_is_understood(path: Path) -> None:
    measurement, settings = read(path)
    assert isinstance(settings, measurement.settings)

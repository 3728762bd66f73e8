"""What works without the packages of extras: devices' figures, `ab`, pages, CSV. All else says which extra it needs.

The packages are hidden in a new interpreter; `packaging/test_install.py` has a clean root in which they are absent.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

HIDDEN = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"duckdb", "pandas", "pyarrow", "scipy"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
from keisoku.faces.cli.main import main
main()
"""
SHORT = "--size 64 --duration 10ms"


def without(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", HIDDEN, *shlex.split(line)], cwd=folder, capture_output=True, text=True, timeout=600
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a run of each of the commonest procedures, and a comparison."""
    found = tmp_path_factory.mktemp("base")
    (found / "device.toml").write_text(
        "link_bits_per_second = 1e9\n[output]\nservice_bits_per_second = 5e8\nbuffer_bytes = 4096\n"
    )
    for line in (
        f"throughput --dut sim:gs908e {SHORT} --out throughput",
        f"latency --dut sim:gs908e {SHORT} --out latency",
        f"loss --dut sim:device.toml {SHORT} --out loss",
        "ab throughput --size 64 --duration 10ms --a '--dut sim:gs908e' --b '--dut sim:device.toml' --out ab",
        "throughput --dut sim:gs908e --size 64 --duration 10ms --repeat 3 --out repeated",
    ):
        ended = without(line, found)
        assert ended.returncode in (0, 1), (line, ended.stderr)
        assert "Traceback" not in ended.stderr
    return found


@pytest.mark.parametrize("run", ["throughput", "latency", "loss", "ab", "repeated"])
def test_a_device_is_measured_and_has_a_page(folder: Path, run: str) -> None:
    assert (folder / run / "result.json").stat().st_size > 100
    assert (folder / run / "report.html").stat().st_size > 10_000


@pytest.mark.parametrize(
    "line",
    [
        "analyse loss",
        "report throughput latency",
        "compare throughput --against throughput",
        "export throughput --format markdown",
        "runs list",
        "runs show loss",
        *(f"{end} serve --help" for end in ("path", "port", "stream")),
    ],
)
def test_what_is_done_with_a_run_and_a_far_end(folder: Path, line: str) -> None:
    ended = without(line, folder)
    assert ended.returncode in (0, 1) and "Traceback" not in ended.stderr, ended.stderr


@pytest.mark.parametrize(
    ("line", "extra"),
    [
        ("query throughput figures", "query"),
        ("stream tcp 127.0.0.1 --out stream", "rows"),
        ("port-map --dut sim:gs908e --ports 1,2,3,4 --out map", "fit"),
        ("critical-load --dut sim:gs908e --size 64 --out critical", "fit"),
    ],
)
def test_what_needs_an_extra_says_so_before_it_sends_a_frame(folder: Path, line: str, extra: str) -> None:
    ended = without(line, folder)
    assert ended.returncode == 2
    assert f"pip install 'keisoku[{extra}]'" in " ".join(ended.stderr.split())
    assert len(ended.stderr.splitlines()) <= 2, ended.stderr
    assert not list(folder.glob("*/trials.jsonl")) or not (folder / line.split()[-1] / "trials.jsonl").exists()

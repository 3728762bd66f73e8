"""How long Chromium needs to open and draw pages; needs chromium and chromedriver.

`python benchmarks/speed/pages.py` prints a row for the page of a whole run of RFC 2544, and one for each kind of plot
with 100 000 points: kilobytes of the page, and the median and the longest of five times from the navigation to the
second frame that is drawn. The run has the standard's times, in virtual time: a minute.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.chromium import started

from keisoku.ground.entry import Findings
from keisoku.ground.report.plot import Plot, Trace, axis, hover
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.result import Result
from keisoku.running.measurement.carry_out import page

POINTS, TIMES = 100_000, 5
PLAN = """
methods = ["throughput", "latency", "loss", "back_to_back", "recovery", "reset"]
dut = "sim:device.toml"
"""
DEVICE = """
link_bits_per_second = 10_000_000
[forwarding]
ns_per_byte = 800.0
constant_ns = 4000.0
[output]
service_bits_per_second = 9_500_000
[jitter]
distribution = "uniform"
spread_ns = 500.0
[reset]
duration_ns = 2_000_000_000
"""
DRAWN = """
    const done = arguments[0];
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())));
"""


def kinds() -> dict[str, list[Trace]]:
    """The worst that a plot can be given: noise, which leaves no pixel free."""
    chance = random.Random(1)
    noise = [chance.random() for _ in range(POINTS)]
    every = list(range(POINTS))

    def curves(number: int) -> list[Trace]:
        return [{"x": every[first::number], "y": noise[first::number], "mode": "lines"} for first in range(number)]

    said = [hover("device", str(value)) for value in noise]
    return {
        "one curve": curves(1),
        "a curve that says what it is": [{"x": every, "y": noise, "mode": "lines+markers", "text": said}],
        "a cloud of points": [{"x": every, "y": noise, "mode": "markers"}],
        "points with intervals": [{"x": every, "y": noise, "mode": "markers", "error_y": {"array": noise}}],
        "bars": [{"x": every, "y": noise, "type": "bar"}],
        "20 curves": curves(20),
        "100 curves": curves(100),
    }


def whole_run(folder: Path) -> Path:
    """The page of all procedures of RFC 2544 at all its sizes, with its times."""
    (folder / "plan.toml").write_text(PLAN)
    (folder / "device.toml").write_text(DEVICE)
    command = [sys.executable, "-m", "keisoku", "run", "plan.toml", "--out", "run"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "run" / "report.html"


def page_of(folder: Path, name: str, traces: list[Trace]) -> Path:
    """A page with one plot."""
    plot = Plot("many", name, {"xaxis": axis("x"), "yaxis": axis("y")})
    for trace in traces:
        plot.add(trace)
    directory = RunDirectory.create(folder / name, "path delay", {}, {})
    path = folder / f"{name}.html"
    found = Findings([Result(measurement="path delay", rows=[])], [plot])
    path.write_text(page([(directory, found)]), encoding="utf-8")
    return path


def row(browser: Any, name: str, path: Path) -> None:
    """Prints what a page takes."""
    shown = []
    for _ in range(TIMES):
        browser.get("about:blank")
        browser.get(path.as_uri())
        shown.append(browser.execute_async_script(DRAWN) / 1000)
    print(f"| {name} | {path.stat().st_size / 1000:.0f} | {median(shown):.2f} | {max(shown):.2f} |", flush=True)


def main() -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        whole = whole_run(folder)
        browser = started(folder / "profile")
        row(browser, "RFC 2544, all procedures and sizes", whole)
        for name, traces in kinds().items():
            row(browser, name, page_of(folder, name, traces))
        browser.quit()


if __name__ == "__main__":
    main()

"""How long Chromium needs to open and draw pages of 100 000 points; needs chromium and chromedriver.

`python benchmarks/pages.py` prints a row a kind of plot: kilobytes of the page, and the median and the longest of five
times from the navigation to the second frame that is drawn.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.chromium import started

from keisoku.measurement.carry_out import page
from keisoku.measurement.entry import Findings
from keisoku.report.plot import Plot, Trace, axis, hover
from keisoku.run.directory import RunDirectory
from keisoku.run.result import Result

POINTS, TIMES = 100_000, 5
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


def main() -> None:
    """Prints the table."""
    with tempfile.TemporaryDirectory() as folder:
        browser = started(Path(folder) / "profile")
        for name, traces in kinds().items():
            plot = Plot("many", name, {"xaxis": axis("x"), "yaxis": axis("y")})
            for trace in traces:
                plot.add(trace)
            directory = RunDirectory.create(Path(folder) / name, "path delay", {}, {})
            html = page([(directory, Findings([Result(measurement="path delay", rows=[])], [plot]))])
            path = Path(folder) / f"{name}.html"
            path.write_text(html, encoding="utf-8")
            shown = []
            for _ in range(TIMES):
                browser.get("about:blank")
                browser.get(path.as_uri())
                shown.append(browser.execute_async_script(DRAWN) / 1000)
            print(f"| {name} | {len(html) / 1000:.0f} | {median(shown):.2f} | {max(shown):.2f} |", flush=True)
        browser.quit()


if __name__ == "__main__":
    main()

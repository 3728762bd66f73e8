"""The answer of a file's transfer, computed from its stages on disk: throughput of each, and which one limits.

It measures nothing.
"""

from __future__ import annotations

from keisoku.analysis.quantity import Interval, Quantity
from keisoku.errors import PlanError
from keisoku.report.plot import Plot, axis, device_colour
from keisoku.run.directory import RunDirectory
from keisoku.run.result import Flag, Result, Row
from keisoku.stream.analysis import bit_rate
from keisoku.stream.file.bottleneck import find_bottleneck, hindrance
from keisoku.stream.file.settings import NETWORK, SINK, SOURCE, STAGES, WHOLE, FileSettings
from keisoku.stream.file.transfer import TABLE

KIND = "stream-file"
HINDERED = 0.8
"""A whole that reaches less of its slowest stage is held up by something else, too."""


def analyse(directory: RunDirectory) -> tuple[Result, list[Plot]]:
    """From a run's files alone, finished or not. Raises PlanError if they hold nothing."""
    settings = FileSettings.model_validate(directory.plan)
    rows = directory.rows(TABLE).to_pylist()
    bps: dict[str, list[float]] = {stage: [] for stage in (*STAGES, WHOLE)}
    for row in rows:
        bps[row["stage"]].append(8e9 * row["bytes"] / max(row["ns"], 1))
    if not all(bps.values()):
        raise PlanError("run", f"{directory.path} holds no whole round", "measure again")
    same = [row["same"] for row in rows if row["stage"] == WHOLE]
    digests = {row["sha256"] for row in rows if row["stage"] == WHOLE}
    return observe(settings, bps, same, digests), [_plot(bps)]


def observe(settings: FileSettings, bps: dict[str, list[float]], same: list[bool], digests: set[str]) -> Result:
    """From bit/s of each stage and the whole, by round."""
    found = find_bottleneck({stage: bps[stage] for stage in STAGES})
    rows = []
    for stage, values in bps.items():
        figure, interval = bit_rate(values)
        intervals: dict[str, Interval] = {"throughput": interval} if interval else {}
        said = ""
        if stage in found.stages:
            said = "the bottleneck" if found.named else "may be the bottleneck"
        elif stage == WHOLE:
            said = f"{100 * hindrance(values, bps[found.stages[0]]):.0f} % of its slowest stage"
        figures = {"throughput": figure, "runs": Quantity(value=len(values), unit="", uncertainty=0.0)}
        rows.append(Row(case=stage, figures=figures, intervals=intervals, group="Stage", remark=said))
    slowest, interval = bit_rate(bps[found.stages[0]])
    flags = []
    if found.named:
        text = f"the {found.named} is the bottleneck"
        flags.append(Flag(name=f"bottleneck-{found.named.split()[0]}", text=text, figures={"throughput": slowest}))
    else:
        text = f"it can't be told which is the bottleneck: {' or '.join(found.stages)}"
        flags.append(Flag(name="bottleneck-not-told", text=text))
    if hindrance(bps[WHOLE], bps[found.stages[0]]) < HINDERED:
        flags.append(
            Flag(name="stages-hinder", text="together it is slower than its slowest stage: they share a CPU or a disk")
        )
    if not all(same):
        flags.append(Flag(name="differs", text="a file that came differs from the one that was sent"))
    return Result(
        kind=KIND,
        title=f"{settings.name}, {settings.bytes} byte, to {settings.host} over {settings.over}",
        rows=tuple(rows),
        flags=tuple(flags),
        remarks=tuple(_remarks(settings, same, digests)),
    )


def _remarks(settings: FileSettings, same: list[bool], digests: set[str]) -> list[str]:
    remarks = [
        f"verified: SHA-256 of source and of what was read back from the disk there agree in {sum(same)} of {len(same)}"
        f" transfers ({', '.join(sorted(digests))})",
        "source disk: read once its pages were dropped from memory; network: memory to memory, TCP of 1 MiB messages; "
        "destination disk: written from memory until fdatasync returned; together: until fdatasync returned",
    ]
    if not settings.direct:
        remarks.append("the kernel's cache takes part in writing; with --direct it does not")
    if settings.over == "ftp":
        remarks.append("together: STOR by an FTP server, then fdatasync of what it wrote")
    held = [
        f"{stage} to {bps / 1e6:g} Mb/s"
        for stage, bps in ((SOURCE, settings.source_bps), (SINK, settings.sink_bps))
        if bps
    ]
    return [*remarks, f"held back: {', '.join(held)}"] if held else remarks


def _plot(bps: dict[str, list[float]]) -> Plot:
    axes = {"xaxis": axis("round"), "yaxis": axis("throughput, Gb/s")}
    plot = Plot("stages", "Throughput of each stage by itself and of all together, by round.", axes)
    for place, stage in enumerate((SOURCE, NETWORK, SINK, WHOLE)):
        plot.add(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": stage,
                "x": list(range(1, len(bps[stage]) + 1)),
                "y": [value / 1e9 for value in bps[stage]],
                "line": {"color": device_colour(place)},
            }
        )
    return plot

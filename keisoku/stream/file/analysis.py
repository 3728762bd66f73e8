"""Result of a file's transfer from the throughput of its stages: which one limits, at which confidence."""

from __future__ import annotations

from keisoku.analysis.quantity import Quantity
from keisoku.run.result import Flag, Result, Row
from keisoku.stream.analysis import bit_rate
from keisoku.stream.file.bottleneck import find_bottleneck, hindrance
from keisoku.stream.file.settings import SINK, SOURCE, STAGES, WHOLE, FileSettings

NAME = "stream file"
HINDERED = 0.8
"""Share of its slowest stage below which the whole transfer is limited by something else as well."""


def analyse(settings: FileSettings, bps: dict[str, list[float]], same: list[bool], digests: set[str]) -> Result:
    """From bit/s of each stage and the whole, by round."""
    found = find_bottleneck({stage: bps[stage] for stage in STAGES})
    rows = []
    for stage, values in bps.items():
        said = ""
        if stage in found.stages:
            said = "the bottleneck" if found.named else "may be the bottleneck"
        elif stage == WHOLE:
            said = f"{100 * hindrance(values, bps[found.stages[0]]):.0f} % of its slowest stage"
        figures = {"throughput": bit_rate(values), "runs": Quantity(value=len(values), unit="", uncertainty=0.0)}
        rows.append(Row(case=stage, figures=figures, group="Stage", remark=said))
    slowest = bit_rate(bps[found.stages[0]])
    flags = []
    if found.named:
        text = f"the {found.named} is the bottleneck"
        flags.append(Flag(name=f"bottleneck-{found.named.split()[0]}", text=text, figures={"throughput": slowest}))
    else:
        text = f"the bottleneck is not certain: {' or '.join(found.stages)}"
        flags.append(Flag(name="bottleneck-not-told", text=text))
    if hindrance(bps[WHOLE], bps[found.stages[0]]) < HINDERED:
        share = 100 * hindrance(bps[WHOLE], bps[found.stages[0]])
        text = f"all together reach {share:.0f} % of the slowest stage alone: the stages hinder each other"
        flags.append(Flag(name="stages-hinder", text=text))
    if not all(same):
        flags.append(Flag(name="differs", text="a received file differs from the one that was sent"))
    return Result(
        measurement=NAME,
        title=f"{settings.name}, {settings.bytes} byte, to {settings.address} over {settings.over}",
        rows=rows,
        flags=flags,
        remarks=_remarks(settings, same, digests),
    )


def _remarks(settings: FileSettings, same: list[bool], digests: set[str]) -> list[str]:
    remarks = [
        f"verified: SHA-256 of source and of the file read back from the far disk agree in {sum(same)} of {len(same)}"
        f" transfers ({', '.join(sorted(digests))})",
        "source disk: read after its pages were dropped from memory; network: memory to memory, TCP of 1 MiB messages; "
        "destination disk: written from memory until fdatasync returned; together: until fdatasync returned",
    ]
    if not settings.direct:
        remarks.append("writing uses the kernel's page cache; with --direct it does not")
    if settings.over == "ftp":
        remarks.append("together: STOR by an FTP server, then fdatasync of what it wrote")
    held = [
        f"{stage} to {bps / 1e6:g} Mb/s"
        for stage, bps in ((SOURCE, settings.limit_source_bps), (SINK, settings.limit_sink_bps))
        if bps
    ]
    return [*remarks, f"limited on request: {', '.join(held)}"] if held else remarks

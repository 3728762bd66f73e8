"""Result of a file's transfer from the throughput of its stages: which one limits, at which confidence."""

from __future__ import annotations

from keisoku.ground.run.result import Flag, Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase, recorded
from keisoku.subjects.stream.analysis import bit_rate
from keisoku.subjects.stream.file.bottleneck import find_bottleneck, hindrance
from keisoku.subjects.stream.file.settings import SINK, SOURCE, STAGES, WHOLE, FileSettings

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
            said = phrase("the bottleneck") if found.named else phrase("may be the bottleneck")
        elif stage == WHOLE:
            said = phrase("{percent:.0f} % of its slowest stage", percent=100 * hindrance(values, bps[found.stages[0]]))
        figures = {"throughput": bit_rate(values), "runs": Quantity(value=len(values), unit="", uncertainty=0.0)}
        rows.append(Row(case=recorded(stage), figures=figures, group=phrase("Stage"), remark=said))
    slowest = bit_rate(bps[found.stages[0]])
    flags = []
    if found.named:
        text = phrase("the {named} is the bottleneck", named=recorded(found.named))
        flags.append(Flag(name=f"bottleneck-{found.named.split()[0]}", text=text, figures={"throughput": slowest}))
    else:
        text = phrase(
            "the bottleneck is not certain, it is one of: {stages}",
            stages=join_texts(", ", map(recorded, found.stages)),
        )
        flags.append(Flag(name="bottleneck-not-told", text=text))
    if hindrance(bps[WHOLE], bps[found.stages[0]]) < HINDERED:
        share = 100 * hindrance(bps[WHOLE], bps[found.stages[0]])
        text = phrase(
            "all together reach {share:.0f} % of the slowest stage alone: the stages hinder each other", share=share
        )
        flags.append(Flag(name="stages-hinder", text=text))
    if not all(same):
        flags.append(Flag(name="differs", text=phrase("a received file differs from the one that was sent")))
    return Result(
        measurement=NAME,
        title=phrase(
            "{name}, {bytes} byte, to {address} over {over}",
            name=settings.name,
            bytes=settings.bytes,
            address=settings.address,
            over=settings.over,
        ),
        rows=rows,
        flags=flags,
        remarks=_remarks(settings, same, digests),
    )


def _remarks(settings: FileSettings, same: list[bool], digests: set[str]) -> list[str]:
    remarks = [
        phrase(
            "verified: SHA-256 of source and of the file read back from the far disk agree in "
            "{equal} of {transfers} transfers ({digests})",
            equal=sum(same),
            transfers=len(same),
            digests=join_texts(", ", sorted(digests)),
        ),
        phrase(
            "source disk: read after its pages were dropped from memory; network: memory to "
            "memory, TCP of 1 MiB messages; destination disk: written from memory until "
            "fdatasync returned; together: until fdatasync returned"
        ),
    ]
    if not settings.direct:
        remarks.append(phrase("writing uses the kernel's page cache; with --direct it does not"))
    if settings.over == "ftp":
        remarks.append(phrase("together: STOR by an FTP server, then fdatasync of what it wrote"))
    held = [
        phrase("{stage} to {rate:g} Mb/s", stage=stage, rate=bps / 1e6)
        for stage, bps in ((SOURCE, settings.limit_source_bps), (SINK, settings.limit_sink_bps))
        if bps
    ]
    return [*remarks, phrase("limited on request: {held}", held=join_texts(", ", held))] if held else remarks

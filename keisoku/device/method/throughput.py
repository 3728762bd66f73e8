"""RFC 2544 §26.1: throughput, the highest load at which the DUT forwards every frame."""

from __future__ import annotations

from collections.abc import Generator

from keisoku.analysis.quantity import Quantity
from keisoku.device.method import deviations
from keisoku.device.method.search import Found, search
from keisoku.device.method.setting import Setting
from keisoku.device.plan.settings import ThroughputSettings
from keisoku.device.record.trial import Trial, TrialRecord
from keisoku.run.result import Result, Row

_GIVEN_UP = "given up: the tester could not offer the load"


def throughput(setting: Setting) -> Generator[Trial, TrialRecord, Result]:
    """One row a frame size: 'throughput' (frames/s), 'line_share' (%), 'bit_rate' (bit/s).

    The uncertainty is the width of the search's last bracket. A row whose search was given up before any load passed
    has no figure: the tester's own failure is never a throughput of zero.
    """
    rows, remarks = [], deviations.ceiling(setting.plan.of(ThroughputSettings).ceiling_percent)
    for size in setting.plan.frame_bytes:
        found = yield from search(setting, size)
        rows.append(_row(setting, found))
        if found.given_up:
            remarks.append(f"{size} byte: {found.given_up}")
        elif found.limited_by_tester:
            remarks.append(
                f"{size} byte: limited by the tester, not by the DUT: all that the tester could offer was forwarded"
            )
    plan = setting.plan
    return Result(
        measurement="throughput",
        rows=rows,
        deviations=deviations.throughput(plan) + deviations.rfc2544(plan, setting.capabilities.simulated),
        remarks=remarks,
    )


def _row(setting: Setting, found: Found) -> Row:
    if found.given_up and found.record is None:
        return Row(frame_bytes=found.frame_bytes, figures={}, remark=_GIVEN_UP)
    width = found.width_fps
    figures = {
        "throughput": Quantity(value=found.fps, unit="frames/s", uncertainty=width),
        "bit_rate": Quantity(
            value=found.fps * found.frame_bytes * 8, unit="bit/s", uncertainty=width * found.frame_bytes * 8
        ),
    }
    line = setting.line_fps(found.frame_bytes)
    if line is not None:
        figures["line_share"] = Quantity(value=100 * found.fps / line, unit="%", uncertainty=100 * width / line)
    remark = "limited by the tester" if found.limited_by_tester else ""
    if found.given_up:
        remark = _GIVEN_UP
    elif found.fps == 0:
        remark = "no load passed without loss"
    return Row(
        frame_bytes=found.frame_bytes,
        figures=figures,
        trial=found.record.index if found.record else None,
        remark=remark,
    )

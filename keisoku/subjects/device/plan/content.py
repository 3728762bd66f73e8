"""The content of a stream: headers, sizes, fields that vary, pacing. Checked when frames are built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field, ValidationInfo, field_validator

from keisoku.errors import PlanError
from keisoku.ground.frame.imix import is_mix, mix
from keisoku.ground.frame.stack import added_bytes, parse
from keisoku.ground.host.text_file import read_text
from keisoku.ground.run.settings import Settings
from keisoku.subjects.device.record.trial import Bursts, Constant, Gaps, Pacing, Poisson
from keisoku.units import duration_ns, frame_sizes

SHORT_NAMES = ("ethernet", "ipv4", "ipv6")
_PACINGS = "write constant, bursts:64, bursts:64@1us, poisson or gaps:FILE"


class Content(Settings):
    """One entry of a plan's streams; without entries, the plan's own keys of the same names form the only one."""

    headers: str = "ipv4"
    """A short name, or a stack in Scapy's notation."""
    frame_bytes: tuple[int, ...] | None = None
    """Sizes of consecutive frames (a mix), with FCS; None: those of the trials."""
    modify: tuple[str, ...] = ()
    """Fields that vary from frame to frame, such as 'UDP.sport=random(1024-65535)'."""
    pacing: Pacing = Constant()
    weight: float = Field(1.0, gt=0)
    """Share of its port's frames, relative to the port's other entries."""
    streams: int = Field(1, ge=1, le=4096)
    """Number of streams on each route, which share the entry's frames evenly and differ by their source port."""

    @field_validator("frame_bytes", mode="before")
    @classmethod
    def _sizes(cls, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, int):
            return (value,)
        if isinstance(value, str):
            tags = added_bytes(info.data.get("headers"))
            return mix("frame_bytes", value, tags) if is_mix(value) else tuple(frame_sizes("frame_bytes", value))
        return value

    @field_validator("pacing", mode="before")
    @classmethod
    def _pacing(cls, value: Any) -> Any:
        return pacing("pacing", value) if isinstance(value, str) else value

    @property
    def ip_version(self) -> str | None:
        """'ipv4' or 'ipv6', whichever the outermost IP header is; None if there is none."""
        if self.headers in SHORT_NAMES:
            return None if self.headers == "ethernet" else self.headers
        version = parse(self.headers).ip_version
        return None if version is None else f"ipv{version}"


def pacing(field: str, text: str) -> Pacing:
    """The times between frames. A file of gaps has one number of ns on each line.

    Raises PlanError naming `field`.
    """
    kind, _, rest = text.strip().partition(":")
    if kind == "constant" and not rest:
        return Constant()
    if kind == "poisson" and not rest:
        return Poisson()
    if kind == "bursts":
        count, _, gap = rest.partition("@")
        if not count.isdecimal() or int(count) == 0:
            raise PlanError(field, f"'{count}' is no number of frames in a burst", _PACINGS)
        return Bursts(burst_frames=int(count), gap_ns=duration_ns(field, gap) if gap else 0)
    if kind == "gaps" and rest:
        return Gaps(gaps_ns=_gaps(field, Path(rest)))
    raise PlanError(field, f"'{text}' is no pacing", _PACINGS)


def _gaps(field: str, path: Path) -> tuple[int, ...]:
    lines = read_text(field, path).split()
    wrong = next((line for line in lines if not line.isdecimal()), None)
    if wrong is not None or not lines:
        raise PlanError(field, f"{path} has {f'{wrong!r}' if wrong else 'no number'}", "write whole ns, one a line")
    gaps = tuple(int(line) for line in lines)
    if sum(gaps) == 0:
        raise PlanError(field, f"all gaps in {path} are zero", "give at least one gap above 0 ns")
    return gaps

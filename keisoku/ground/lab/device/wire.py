"""The devices that are a wire between two ports: `cable`, and `faulty`, which changes or drops chosen frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field, ValidationInfo, field_validator

from keisoku.errors import PlanError
from keisoku.ground.frame.separated import separated
from keisoku.ground.lab.device.device import LabDevice, Site
from keisoku.ground.lab.device.faults import SEQUENCES, Rule, patches
from keisoku.ground.lab.device.parameter import TimeText, time_ns

if TYPE_CHECKING:
    from keisoku.ground.frame.variants import Frames


class Cable(LabDevice):
    """One veth pair between the tester's ports; there is no DUT, so nothing that could be limited."""

    family: ClassVar[str] = "cable"
    title: ClassVar[str] = "bare cable"
    most_ports: ClassVar[int] = 2

    @field_validator("capacity", "burst", "cost")
    @classmethod
    def _unlimited(cls, given: str) -> str:
        raise ValueError

    @classmethod
    def written(cls) -> str:
        """It has no parameters."""
        return f"{cls.family} alone"

    def build(self, site: Site) -> None:
        """Nothing to build."""


class FaultyWire(LabDevice):
    """A wire that drops, duplicates, swaps or damages chosen frames, or rewrites their headers.

    core/bpf/faulty.c does it, which the lab attaches once all ports are up.
    """

    family: ClassVar[str] = "faulty"
    title: ClassVar[str] = "faulty device"
    parameters: ClassVar[str] = "outage=50ms&rewrite=IP.dscp=0,IP.ttl=-1&every=1000&first=0&stream=1"
    most_ports: ClassVar[int] = 2
    events: ClassVar[tuple[str, ...]] = ("path-lost",)

    outage: TimeText = "50ms"
    """How long it loses every frame when the event 'path-lost' happens."""
    rewrite: str = ""
    """What it changes in the headers of chosen frames, in the words of `keisoku changes --expect`."""
    every: int = Field(1, ge=1, lt=SEQUENCES)
    """One in so many frames of a stream."""
    first: int = Field(0, ge=0, lt=SEQUENCES)
    """Number of the first frame that is rewritten."""
    stream: int | None = Field(None, ge=1)
    """Of one stream of the trial (default: of all)."""

    @field_validator("rewrite")
    @classmethod
    def _rewrite(cls, text: str) -> str:
        from keisoku.ground.frame.expectation import expectations  # few devices rewrite anything

        try:
            wanted = expectations(separated(text))
        except PlanError as error:
            raise ValueError(error.problem) from None
        if any(one.is_free for one in wanted):
            raise ValueError
        return text

    @field_validator("every", "first", "stream")
    @classmethod
    def _of_rewritten_frames(cls, number: int, given: ValidationInfo) -> int:
        if not given.data.get("rewrite"):
            raise ValueError
        return number

    @property
    def outage_ns(self) -> int:
        """The same in ns."""
        return time_ns(self.outage)

    @property
    def rewrites(self) -> bool:
        """If it was told what."""
        return bool(self.rewrite)

    def build(self, site: Site) -> None:
        """Nothing to build."""

    def rules(self, sent: Sequence[Frames], first_stream: int) -> list[Rule]:
        """What it does to the streams of a trial, by what each of them sends and the number of the first one.

        Raises PlanError if a change fits no frame, or where the frames of a stream are not alike."""
        from keisoku.ground.frame.expectation import expectations

        if self.stream is not None and self.stream > len(sent):
            raise PlanError("dut", f"there is no stream {self.stream} to rewrite", f"give 1 to {len(sent)}")
        wanted = expectations(separated(self.rewrite))
        found, fitting = list[Rule](), set[str]()
        for number, table in enumerate(sent):
            if self.stream not in (None, number + 1):
                continue
            if table.count > 1:
                problem = "lab:faulty rewrites streams whose frames are alike"
                raise PlanError("dut", problem, "leave --modify and mixes of sizes out")
            frame = table.frame(0)
            before = after = frame[: table.checked_from]
            for one in wanted:
                if one.fits(after):
                    fitting.add(one.text)
                after = one.apply(after, len(frame) + len(after) - len(before))
            found.append(Rule(first_stream + number, self.first, self.every, *patches(before, after)))
        for one in wanted:
            if one.text not in fitting:
                raise PlanError("dut", f"'{one.text}' fits no frame that is sent", "name a header that is sent")
        return found

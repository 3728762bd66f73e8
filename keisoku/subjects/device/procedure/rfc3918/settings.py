"""The settings of RFC 3918's procedures: IP multicast. Where the RFC gives a value, it is the default."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from keisoku.errors import PlanError
from keisoku.ground.run.settings import Settings
from keisoku.subjects.device.plan.rate import Load

GroupProtocol = Literal["igmpv2", "igmpv3", "mldv1", "mldv2"]
GroupCount = Annotated[int, Field(ge=1, le=65_536)]
UnicastPercent = Annotated[float, Field(ge=0, lt=100)]


class GroupSettings(Settings):
    """What all procedures with multicast groups need. The first port sends to the groups, the others join them."""

    protocol: GroupProtocol = "igmpv2"
    """Protocol of the messages by which ports join groups; the groups are IPv6 with MLD."""
    join_fps: float = Field(1000.0, gt=0)
    """Rate of each port's messages, one for each group."""
    settle_s: float = Field(1.0, ge=0)
    """Wait between the last message and the first test frame."""


class MulticastSettings(GroupSettings):
    """RFC 3918 §4.1 to §4.3 and §5: throughput to several ports at once, for several numbers of groups."""

    trial_s: float = Field(60.0, gt=0)
    groups: tuple[GroupCount, ...] = Field((1, 16), min_length=1)
    """Numbers of groups, each joined by all ports but the first (§4.2)."""
    unicast_percent: tuple[UnicastPercent, ...] = Field((0,), min_length=1)
    """Shares of unicast frames in the load, which go to the receiving ports in turn (§4.1: mixed classes)."""
    resolution_percent: float = Field(0.1, gt=0, le=50)
    """The search ends when the loads with and without loss differ by at most this share."""
    maximum_fps: Load | None = None
    """Highest load of the search (default: the theoretical maximum of the link)."""
    burden_fps: Load | None = None
    """Unicast load of each port that receives groups, from each to the next (§8.1); none if not given."""


class GroupDelaySettings(Settings):
    """RFC 3918 §6.1, §6.2 and §8.2: how long after a message a device begins and ends to forward a group."""

    protocol: GroupProtocol = "igmpv2"
    """Protocol of the messages by which ports join groups; the groups are IPv6 with MLD."""
    groups: int = Field(4, ge=1, le=1024)
    """Number of groups, each joined and left by every port but the first."""
    group_fps: float = Field(10_000.0, gt=0)
    """Rate of the frames to each group: their distance is the resolution of the delays."""
    repetitions: int = Field(5, ge=1)
    """Number of trials."""
    spacing_s: float = Field(0.05, gt=0)
    """Time between two messages of a port."""
    quiet_s: float = Field(0.5, gt=0)
    """Frames are sent for so long before the first port joins; none may arrive."""
    stay_s: float = Field(2.0, gt=0)
    """Time from a port's joining a group to its leaving it."""
    leave_s: float = Field(4.0, gt=0)
    """Time after the last message; it must be longer than the device's leave delay."""
    burden_fps: Load | None = None
    """Unicast load of each port that receives groups, from each to the next (§8.2); none if not given."""
    known: bool = False
    """The device knows the groups before: the last port joins them first and stays, and the delays are those of all
    others (§6.1, method B; default: method A, nobody has joined)."""

    @model_validator(mode="after")
    def _check(self) -> GroupDelaySettings:
        if self.groups * self.spacing_s > self.stay_s:
            raise PlanError(
                "group_delay.stay_s",
                f"{self.groups} groups are joined in {self.groups * self.spacing_s:g} s, longer than ports stay",
                "raise it, or lower groups or spacing_s",
            )
        return self


class GroupCapacitySettings(GroupSettings):
    """RFC 3918 §7.1: how many groups a device can forward, by binary search."""

    groups: GroupCount = 64
    """Number of groups at which the search starts."""
    most_groups: GroupCount = 4096
    """Highest number of groups tried."""
    test_fps: float = Field(1000.0, gt=0)
    """Rate of the test frames, one to each group."""
    leave_s: float = Field(3.0, gt=0)
    """The device forgets a group within this time after all ports have left it; a pause of it follows each trial."""

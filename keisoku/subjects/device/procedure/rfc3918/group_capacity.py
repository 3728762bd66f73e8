"""RFC 3918 §7.1: the largest number of groups whose frames reach every port that joined them, and no other port.

One frame is sent to each group, so that a count of frames is one of groups. With three ports or more the last one joins
none: what arrives there was flooded.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase, plural
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method import rfc2889
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.procedure.rfc3918 import group_flows
from keisoku.subjects.device.procedure.rfc3918.settings import GroupCapacitySettings
from keisoku.subjects.device.record.trial import NS_PER_S, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord


@dataclass(frozen=True)
class GroupOutcome:
    """The outcome of one trial."""

    groups: int
    record: TrialRecord

    @property
    def forwarded(self) -> int:
        """Groups whose frames reached the port at which the fewest arrived."""
        return min(one.tracked.forwarded_frames for one in self.record.facts.streams[0].everywhere)

    @property
    def flooded(self) -> int:
        """Frames at ports that had not joined."""
        joined = {one.receive for one in self.record.facts.streams[0].everywhere}
        others = (one for one in self.record.facts.receivers if one.port not in joined)
        return max((one.misdirected_frames for one in others if one.port != group_flows.SOURCE), default=0)

    @property
    def reasons(self) -> list[str]:
        """Why the trial says nothing about the device."""
        return self.record.invalid_because + group_flows.sent_messages(self.record)

    @property
    def passed(self) -> bool | None:
        """Whether all groups reached all ports that joined, and no other; None if the tester failed."""
        if self.reasons:
            return None
        return self.forwarded == self.record.facts.streams[0].offered_frames and self.flooded == 0


def group_capacity(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """A row a size with 'groups', then a row a trial with groups 'offered', 'forwarded' and 'flooded'."""
    settings = inputs.plan.settings_of(GroupCapacitySettings)
    rows: list[Row] = []
    for size in group_flows.sizes(inputs, settings.protocol):
        seen: list[GroupOutcome] = []
        low, high, groups = 0, settings.most_groups + 1, min(settings.groups, settings.most_groups)
        while high - low > 1:
            record = yield from group_flows.attempt(_trial(inputs, size, groups))
            one = GroupOutcome(groups, record)
            seen.append(one)
            if one.passed is None:
                break
            if one.passed:
                low = groups
            else:
                high = groups
            doubled = min(2 * max(low, settings.groups), settings.most_groups)
            groups = doubled if high > settings.most_groups else (low + high) // 2
        again = None
        if low and high <= settings.most_groups and seen[-1].passed is not None:
            # A device that a too large number has put out of order passes no number afterwards.
            again = GroupOutcome(low, (yield from group_flows.attempt(_trial(inputs, size, low))))
        rows.append(_summary(settings, size, low, seen, again))
        rows += [_row(one, size) for one in seen]
    found = group_flows.deviations(inputs, "§7.1")
    found.append(phrase("RFC 3918 §7.1: one frame is sent to each group, so a frame that is lost counts as its group"))
    if len(inputs.plan.port_fields()) < 3:
        found.append(phrase("RFC 3918 §7.1: no port is left to show that groups are flooded; use three ports"))
    return Result(measurement="group_capacity", rows=rows, deviations=found)


def _trial(inputs: MethodInput, size: int, groups: int) -> Trial:
    settings = inputs.plan.settings_of(GroupCapacitySettings)
    ports = group_flows.receivers(inputs)
    joining = ports[:-1] or ports
    data_ns = round((groups / settings.join_fps + settings.settle_s) * NS_PER_S)
    test_ns = max(1, round(groups / settings.test_fps * NS_PER_S))
    flows = [
        group_flows.data(settings.protocol, joining, groups, start_ns=data_ns, duration_ns=test_ns, frame_bytes=size)
    ]
    # The ports leave when the frames are through.
    leave_ns = data_ns + test_ns + round(settings.settle_s * NS_PER_S)
    for port in joining:
        for joins, start_ns in ((True, 0), (False, leave_ns)):
            flows.append(
                group_flows.messages(
                    settings.protocol,
                    port,
                    group_flows.receivers(inputs),
                    groups,
                    joins=joins,
                    start_ns=start_ns,
                    message_fps=settings.join_fps,
                    trial_fps=settings.test_fps,
                )
            )
    whole_s = leave_ns / NS_PER_S + groups / settings.join_fps
    trial = inputs.trial(
        plural("{count} group, {size} byte", "{count} groups, {size} byte", count=groups, size=size),
        size,
        settings.test_fps,
        whole_s,
    )
    rest_ns = max(trial.phases.rest_ns, round(settings.leave_s * NS_PER_S))
    return trial.model_copy(
        update={"flows": tuple(flows), "phases": trial.phases.model_copy(update={"rest_ns": rest_ns})}
    )


def _summary(
    settings: GroupCapacitySettings, size: int, groups: int, seen: list[GroupOutcome], again: GroupOutcome | None
) -> Row:
    passed = [one.record.index for one in seen if one.passed and one.groups == groups]
    last = seen[-1]
    remark = join_texts("; ", last.reasons) if last.passed is None else ""
    if not groups:
        floods = any(one.flooded for one in seen)
        remark = remark or (
            phrase("frames reached ports that had not joined: the device floods groups")
            if floods
            else phrase("no group was forwarded to every port that joined it")
        )
        return Row(frame_bytes=size, case=phrase("capacity"), figures={}, trial=last.record.index, remark=remark)
    bounded = groups == settings.most_groups or last.passed is None
    if again is not None and not again.passed:
        bounded = True
        failed = min(one.groups for one in seen if one.passed is False)
        remark = join_texts("; ", again.reasons) or (
            phrase(
                "after {failed} groups or more the device no longer forwards even {groups} groups "
                "only to the ports that joined them: start near its capacity, with --groups",
                failed=failed,
                groups=groups,
            )
        )
    figure = Quantity(value=groups, unit="groups", bound="at least") if bounded else _count(groups)
    return Row(frame_bytes=size, case=phrase("capacity"), figures={"groups": figure}, trial=passed[-1], remark=remark)


def _row(one: GroupOutcome, size: int) -> Row:
    figures = {
        "offered": _count(one.groups),
        "forwarded": _count(one.forwarded),
        "flooded": rfc2889.frames(one.flooded),
    }
    return Row(
        frame_bytes=size,
        case=f"trial {one.record.index + 1}",
        figures={} if one.reasons else figures,
        trial=one.record.index,
        remark=join_texts("; ", one.reasons),
    )


def _count(number: int) -> Quantity:
    return Quantity(value=number, unit="groups", uncertainty=0.0)


PROCEDURE = Procedure(
    name="group_capacity",
    title=phrase("Multicast group capacity"),
    standard="RFC 3918 §7.1",
    summary="How many multicast groups a device can forward to the ports that joined them, by binary search.",
    settings=GroupCapacitySettings,
    generator=group_capacity,
    figure="groups",
    units={"groups": "groups offered forwarded", "frames": "flooded"},
    example="keisoku group-capacity --dut lab:bridge?snooping=on --ports 1,2,3 --most-groups 5000 --waits 0.1s",
    sizes="64",
    own_flows=True,
    needs=("multicast",),
)

"""The trial of RFC 2889 §5.7.3, which both tests of an address table use, and its outcome.

The learning port sends a frame from each of some addresses, then the test port one to each of them. What arrives at
a monitoring port was flooded: the device did not know its address.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

from keisoku.errors import PlanError
from keisoku.ground.run.result import Row
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.method import rfc2889
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.procedure.rfc2889.settings import AddressSettings
from keisoku.subjects.device.record.trial import NS_PER_S, Flow, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import why_invalid

LEARNING, TEST = 0, 1
"""Indices of the plan's ports; all other ports are monitoring ports."""
FIRST_ADDRESS = "02:6b:73:01:00:00"
MARGIN = 1.1
"""Pauses are longer than the ageing time by this factor: a device searches for old entries only at times."""

NO_PAUSE_BEFORE = phrase(
    "RFC 2889 §5.7.3: the tester waits for the ageing time after each trial, not before "
    "the first: addresses already known to the device occupy its table then"
)


@dataclass(frozen=True)
class AddressOutcome:
    """The outcome of one trial."""

    addresses: int
    record: TrialRecord

    @property
    def floods(self) -> int:
        """Frames that arrived at the monitoring ports."""
        monitors = (one for one in self.record.facts.receivers if one.port not in (LEARNING, TEST))
        return sum(one.misdirected_frames for one in monitors)

    @property
    def known_addresses(self) -> int:
        """How many of the addresses the device knew: frames to the others reached every monitoring port."""
        monitors = (one for one in self.record.facts.receivers if one.port not in (LEARNING, TEST))
        return max(0, self.addresses - max((one.misdirected_frames for one in monitors), default=0))

    @property
    def learned(self) -> bool | None:
        """§5.7.3: nothing at the monitoring port, and everything at the learning port; None if the tester failed."""
        if not self.record.valid:
            return None
        learning, test = self.record.facts.streams
        if learning.tracked.forwarded_frames < learning.offered_frames and self.floods == 0:
            # A learning frame that the device lost taught it no address, which says nothing about its table.
            return None
        return self.floods == 0 and test.tracked.forwarded_frames == test.offered_frames

    def row(self, figures: dict[str, Quantity]) -> Row:
        """§5.7.5 and §5.8.5: what was sent, received and flooded in each iteration."""
        test = self.record.facts.streams[1]
        figures = figures | {
            "offered": rfc2889.frames(test.offered_frames),
            "forwarded": rfc2889.percent(test.tracked.forwarded_frames, test.offered_frames),
            "flooded": rfc2889.frames(self.floods),
        }
        return Row(
            frame_bytes=self.record.trial.frame_bytes,
            case=f"trial {self.record.index + 1}",
            figures=figures,
            trial=self.record.index,
            remark=join_texts("; ", why_invalid(self.record)),
        )


def least_learning_fps(settings: AddressSettings, addresses: int) -> float:
    """The rate below which the device would forget addresses before they are tested.

    §5.7.3: "The aging time MUST be longer than the time necessary to produce frames at the specified rate."
    Raises PlanError if there is none.
    """
    rest_s = settings.ageing_s - settings.settle_s - addresses / settings.test_fps
    if rest_s <= 0:
        raise PlanError(
            "test_fps",
            f"{addresses} test frames take longer than the device's ageing time of {settings.ageing_s:g} s",
            "raise this rate, or both the device's ageing time and ageing_s",
        )
    return addresses / rest_s


def address_trial(
    inputs: MethodInput, settings: AddressSettings, size: int, addresses: int, learning_fps: float
) -> Generator[Trial, TrialRecord, AddressOutcome]:
    """One iteration; the rate is above `least_learning_fps`."""
    learning_s, test_s = addresses / learning_fps, addresses / settings.test_fps
    whole_s = learning_s + settings.settle_s + test_s
    modify = f"({FIRST_ADDRESS}, count={addresses})"
    test_start_ns = round((learning_s + settings.settle_s) * NS_PER_S)
    flows = (
        Flow(
            transmit=LEARNING,
            receive=TEST,
            duration_ns=max(1, round(learning_s * NS_PER_S)),
            modify=(f"Ether.src=increment{modify}",),
        ),
        Flow(
            transmit=TEST,
            receive=LEARNING,
            share=settings.test_fps / learning_fps,
            start_ns=test_start_ns,
            duration_ns=max(1, round(test_s * NS_PER_S)),
            modify=(f"Ether.dst=increment{modify}",),
        ),
    )
    trial = inputs.trial(
        phrase(
            "{addresses} addresses at {learning_fps:,.0f}/s, {size} byte",
            addresses=addresses,
            learning_fps=learning_fps,
            size=size,
        ),
        size,
        learning_fps,
        whole_s,
    )
    # The device must know the test port, and it must forget everything before the next trial.
    pause_ns = round(MARGIN * settings.ageing_s * NS_PER_S)
    phases = trial.phases.model_copy(update={"learning": True, "rest_ns": max(trial.phases.rest_ns, pause_ns)})
    record = yield from rfc2889.attempt(trial.model_copy(update={"flows": flows, "phases": phases}))
    return AddressOutcome(addresses, record)

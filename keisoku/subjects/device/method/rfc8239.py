"""Common parts of RFC 8239's procedures: the ports, the rate of 100 % at a port, deviations.

It proposes a trial only to find what the tester can offer, never to judge the DUT.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

from keisoku.errors import PlanError
from keisoku.language import join_texts, phrase
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.search import CEILING_WITHOUT_LINK_FPS, RETRIES, TESTER_MARGIN
from keisoku.subjects.device.plan.rate import Relative
from keisoku.subjects.device.record.trial import NS_PER_S, Constant, Flow, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord

SIZES = (64, 128, 256, 512, 1024, 1518, 4096, 8000, 9216)
SIZES_TEXT = ",".join(map(str, SIZES))
_PROBE_S = 0.2
"""Length of the trial that finds the tester's highest rate, which does not depend on a longer time."""
_INTERVALS = 20


@dataclass(frozen=True)
class FullRate:
    """The rate of 100 % at a port in frames/s, and its source."""

    fps: float
    source: str
    """'link', 'given' or 'tester'."""


def ports(inputs: MethodInput, least: int, procedure: str) -> int:
    """Number of the plan's ports. Raises PlanError if there are too few, or if the plan's frames do not fit the
    procedure."""
    count = len(inputs.plan.port_fields())
    if count < least:
        raise PlanError("ports", f"{procedure} needs {least} ports, not {count}", "list them all: --ports 1,2,3,4")
    if any(content.frame_bytes for content in inputs.plan.contents()):
        raise PlanError("frame_bytes", f"{procedure} is for frames of one size", "give sizes in place of a mix")
    if any(content.pacing != Constant() for content in inputs.plan.contents()):
        raise PlanError("pacing", f"{procedure} sets the times of its frames itself", "leave it out")
    return count


def outputs(count: int, which: str) -> list[int]:
    """Indices of the ports that are congested in turn; `which` is 'each' or 'last'."""
    return list(range(count)) if which == "each" else [count - 1]


def named(port_indices: Sequence[int]) -> str:
    """Ports as the user counts them, from 1."""
    return ", ".join(str(port + 1) for port in port_indices)


def flows_trial(
    inputs: MethodInput, purpose: str, frame_bytes: int, full: FullRate, seconds: float, flows: Sequence[Flow]
) -> Trial:
    """A trial of flows with shares of the full rate.

    Its series has twenty intervals of at least 1 ms, because a queue in the DUT drains long after a short burst.
    """
    interval_ns = min(NS_PER_S, max(1_000_000, round(seconds * NS_PER_S / _INTERVALS)))
    trial = inputs.trial(purpose, frame_bytes, full.fps, seconds, interval_ns=interval_ns)
    return trial.model_copy(update={"flows": tuple(flows), "duration_ns": max(1, trial.duration_ns)})


def full_rate(
    inputs: MethodInput, frame_bytes: int, flows: Sequence[Flow], maximum: float | Relative | None
) -> Generator[Trial, TrialRecord, FullRate]:
    """100 % of a port: as given, or of the link; on a link without a rate the most that the tester can offer.

    The tester's highest rate is found with these flows, because ports share its CPUs.
    """
    line = inputs.line_fps(frame_bytes)
    maximum_fps = inputs.fps(maximum, frame_bytes)
    if maximum_fps is not None:
        return FullRate(maximum_fps if line is None else min(line, maximum_fps), "given")
    if line is not None:
        return FullRate(line, "link")
    beyond = FullRate(CEILING_WITHOUT_LINK_FPS, "tester")
    record = yield flows_trial(
        inputs, phrase("maximum {frame_bytes} byte", frame_bytes=frame_bytes), frame_bytes, beyond, _PROBE_S, flows
    )
    # The ratio of offered to intended load gives a port's full rate; the slowest port sets that of all.
    shares = [sender.sent.offered_frames / record.trial.frames_of(sender.port) for sender in record.senders]
    return FullRate(max(1 / _PROBE_S, TESTER_MARGIN * CEILING_WITHOUT_LINK_FPS * min(shares)), "tester")


def reliably(trial: Trial) -> Generator[Trial, TrialRecord, TrialRecord]:
    """The trial's record, repeated until it is valid or the allowed number of attempts is reached."""
    for _ in range(RETRIES):
        record = yield trial
        if record.valid:
            break
    return record


def deviations(inputs: MethodInput, full: Sequence[FullRate], all_sizes: bool = False) -> list[str]:
    """Deviations that all procedures of RFC 8239 share."""
    found = []
    missing = [str(size) for size in SIZES if size not in inputs.plan.frame_bytes]
    if all_sizes and missing:
        found.append(phrase("RFC 8239 §2.3: frame sizes {missing} were not tested", missing=join_texts(", ", missing)))
    if any(rate.source == "given" for rate in full):
        found.append(phrase("RFC 8239 §2.2: 100 % is a rate that was given, not the line rate"))
    if any(rate.source == "tester" for rate in full):
        found.append(
            phrase(
                "RFC 8239 §2.2: the link has no rate: 100 % is the most that the tester could offer on all ports at "
                "once. The buffer is then a port's receive queue or the host's queue for a CPU, not that of a port"
            )
        )
    count = len(inputs.plan.port_fields())
    found.append(
        phrase("RFC 8239 §2.3, §3.2, §4.2: the {count} ports given were treated as all ports of the DUT", count=count)
    )
    found.append(
        phrase("RFC 8239 §3.3 to §6.3: the mean and a variation of the repetitions are reported, not each repetition")
    )
    if not inputs.plan.phases.learning:
        found.append(phrase("RFC 2544 §23 b: no learning frames were sent, the DUT may have flooded"))
    if inputs.capabilities.simulated:
        found.append(phrase("the DUT is simulated: results describe the model"))
    return found

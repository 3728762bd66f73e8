"""The check of hardware timestamps before a run: which ports get the kernel's instead, and what is said of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from keisoku.errors import EngineError
from keisoku.subjects.device.engine.stamps import StampOffer, choose
from keisoku.subjects.device.engine.wired_port import WiredPort
from keisoku.subjects.device.engine.wired_trial import check_stamps
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.plan_testbed import wanted_testbed
from keisoku.subjects.device.record.facts import Facts, Receiver, Stamped
from keisoku.subjects.device.record.trial import Trial
from keisoku.subjects.device.testbed.requirements import OpenedPort
from keisoku.subjects.device.testbed.stamp_check import lenient, settled, some_unstamped

OFFER = StampOffer(rx_hardware_socket=True, phc_index=3)


def port(name: str, wanted: Any = "best") -> WiredPort:
    choice = choose(OFFER, "packet", wanted)
    return WiredPort("packet", name, None, "", 1500, stamps=choice, phc=3 if choice.receive == "hardware" else None)


def stamped(by_hardware: int, by_kernel: int) -> Facts:
    """Of port 2, whose hardware was to stamp."""
    receiver = Receiver(
        port=1, foreign_frames=0, misdirected_frames=0, tester_dropped_frames=0, last_received_ns=None, stamp="",
        stamped=Stamped(by_hardware=by_hardware, by_kernel=by_kernel),
    )  # fmt: skip
    return Facts(streams=[], transmitters=[], receivers=[receiver], interference=None, interrupted=False)


class Card:
    """An engine whose port 2 gets so many stamps of each kind for the frames of a trial."""

    def __init__(self, ports: Sequence[WiredPort], by_hardware: int, by_kernel: int) -> None:
        self._ports = ports
        self._facts = stamped(by_hardware, by_kernel)
        self.trials: list[Trial] = []

    def start(self, trial: Trial, stream: int, seed: int) -> None:
        self.trials.append(trial)

    def finish(self) -> tuple[Facts, float]:
        [receiver] = self._facts.receivers
        if self._ports[receiver.port].phc is None:
            return self._facts.model_copy(update={"receivers": [receiver.model_copy(update={"stamped": None})]}), 0.0
        check_stamps(self._ports[receiver.port].interface, receiver)
        return self._facts, 0.0

    def close(self) -> None:
        pass


def check(wanted: Any, by_hardware: int, by_kernel: int) -> tuple[list[WiredPort], list[str], int]:
    """Ports, sentences and how often an engine was opened."""
    opened: list[Card] = []

    def open_card(ports: Sequence[WiredPort]) -> Any:
        opened.append(Card(list(ports), by_hardware, by_kernel))
        return opened[-1]

    ports = [port("eth4", "software"), port("eth5", wanted)]
    found, fallbacks = settled(ports, 64, 1_488_095.0, open_card)
    assert all(trial.frames_per_second <= 10_000 for card in opened for trial in card.trials)
    return found, [fallback.sentence for fallback in fallbacks], len(opened)


def test_hardware_that_accepts_and_never_stamps_is_replaced_and_not_refused_where_the_choice_was_left() -> None:
    """The run ended with "give --stamps software", although nobody had asked for hardware."""
    found, said, _ = check("best", 0, 100)
    assert found[1].phc is None and found[1].stamps is not None and found[1].stamps.receive == "kernel"
    why = "the driver accepted hardware timestamps but stamped none of 100 received frames"
    assert said == [f"eth5: the kernel's timestamps instead of the hardware's, because {why}"]
    assert found[1].stamps.reason == why


def test_hardware_that_was_asked_for_is_still_refused() -> None:
    found, said, opened = check("hardware", 0, 100)
    assert found[1].phc == 3 and said == [] and opened == 0, "the run's first trial refuses it"
    engine = Card(found, 0, 100)
    with pytest.raises(EngineError, match=r"^eth5: the driver accepted .* give --stamps software$"):
        engine.finish()


@pytest.mark.parametrize(("by_hardware", "by_kernel", "kept"), [(1000, 0, True), (996, 4, True), (900, 100, False)])
def test_hardware_that_leaves_out_more_than_a_valid_trial_may_is_replaced(
    by_hardware: int, by_kernel: int, kept: bool
) -> None:
    found, said, _ = check("best", by_hardware, by_kernel)
    assert (found[1].phc == 3) is kept
    assert said == ([] if kept else [
        "eth5: the kernel's timestamps instead of the hardware's, because the hardware stamped 900 of 1000 received "
        "frames"
    ])  # fmt: skip


def test_a_port_that_received_nothing_keeps_its_hardware() -> None:
    found, said, _ = check("best", 0, 0)
    assert found[1].phc == 3 and said == []


def test_nothing_is_sent_where_no_hardware_is_in_question() -> None:
    assert check("software", 0, 100)[1:] == ([], 0)


def test_where_nothing_may_be_sent_the_kernels_stamps_of_a_whole_trial_are_accepted() -> None:
    scripted = lenient(port("eth5"))
    assert scripted.stamps is not None and scripted.stamps.kernel_instead
    asked = port("eth5", "hardware")
    assert lenient(asked) is asked
    assert some_unstamped([asked, asked], stamped(60, 40)) == {}


def test_a_resumed_run_keeps_its_timestamps() -> None:
    plan = parse({"methods": ["throughput"], "tx": "packet:eth4", "rx": "packet:eth5"})
    opened = [OpenedPort("packet", "software"), OpenedPort("packet", "hardware")]
    assert [one.stamps for one in wanted_testbed(plan, opened).ports] == ["software", "hardware"]

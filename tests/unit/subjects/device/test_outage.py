"""Interruptions and events by themselves: no device, no engine."""

import pytest

from keisoku.errors import EngineError, PlanError
from keisoku.subjects.device.analysis.outage import Between
from keisoku.subjects.device.engine.device_events import DeviceEvents, EventThread, run_command
from keisoku.subjects.device.measurement import MEASUREMENT
from keisoku.subjects.device.procedure.rfc6412.settings import ConvergenceSettings
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.event import Event
from keisoku.subjects.device.record.facts import Egress, Stay

TESTER = Capabilities(
    engine="xdp",
    link_bits_per_second=None,
    min_frame_bytes=64,
    max_frame_bytes=9000,
    simulated=False,
    transmit_stamp="",
    receive_stamp="",
    events=("link-down",),
    abilities=frozenset({"commands"}),
)


def test_a_time_since_another_has_both_uncertainties() -> None:
    assert Between(10, 11, 12).since(Between(3, 3, 4)) == Between(6, 8, 9)


def test_the_port_at_a_time_is_that_of_the_last_frame_until_then() -> None:
    stays = [Stay(port=2, frames=5, first_sent_ns=10, last_sent_ns=50)]
    egress = Egress(stays=[*stays, Stay(port=3, frames=1, first_sent_ns=80, last_sent_ns=80)], changes=1)
    assert [egress.port_at(time_ns) for time_ns in (0, 10, 79, 80)] == [None, 2, 2, 3]


def test_an_event_that_the_device_offers_is_undone_by_it_and_a_command_by_a_command() -> None:
    built_in = ConvergenceSettings(event="link-down", stable_s=1, watch_s=2, rounds=2)
    events = built_in.happening(TESTER, built_in.rounds)
    assert [(event.name, event.undo, event.command, event.after_ns / 1e9) for event in events] == [
        ("link-down", False, False, 1),
        ("link-down", True, False, 3),
        ("link-down", False, False, 5),
        ("link-down", True, False, 7),
    ]
    assert built_in.length_s(events) == 9
    command = ConvergenceSettings(event="ip link set x down", undo="ip link set x up")
    assert [(event.command, event.undo) for event in command.happening(TESTER)] == [(True, False), (True, True)]
    alone = ConvergenceSettings(event="reboot-it now")
    assert len(alone.happening(TESTER)) == 1 and alone.length_s(alone.happening(TESTER)) == 6


def test_several_names_are_several_events_and_a_command_with_commas_is_one() -> None:
    several = ConvergenceSettings(event="link-down, member-lost")
    assert several.named == ("link-down", "member-lost")
    assert [(event.name, event.undo, event.command) for event in several.happening(TESTER)] == [
        ("link-down", False, False),
        ("member-lost", False, True),
        ("link-down", True, False),
    ]
    with pytest.raises(PlanError, match="the device offers no event 'member-lost'"):
        several.check("convergence", TESTER)
    command = ConvergenceSettings(event="ip link set a,b down")
    assert command.named == ("ip link set a,b down",)


def test_a_misspelt_event_is_refused_and_the_near_one_named() -> None:
    with pytest.raises(PlanError, match="did you mean 'link-down'"):
        ConvergenceSettings(event="link-donw").check("convergence", TESTER)
    with pytest.raises(PlanError, match="the device offers no event 'rebooted'"):
        ConvergenceSettings(event="rebooted").check("convergence", TESTER)
    ConvergenceSettings(event="sh").check("convergence", TESTER)  # a program


def test_events_happen_in_the_order_of_their_times_and_say_when() -> None:
    done: list[str] = []

    def work(name: str, moment_ns: int | None) -> int | None:
        done.append(name)
        return moment_ns

    begun = iter([None, None, 1000])
    works = [(2, lambda: work("second", 1500)), (1, lambda: work("first", None))]
    thread = EventThread(works, lambda: next(begun))
    thread.start()
    thread.join()
    first, second = thread.end()
    assert done == ["first", "second"]
    assert first.ended_ns >= first.begun_ns > 0
    assert (second.begun_ns, second.ended_ns) == (500, 500)


def test_an_event_that_fails_ends_the_trial_with_a_sentence() -> None:
    thread = EventThread([(0, lambda: run_command("echo no such link; exit 3"))], lambda: 1)
    thread.start()
    thread.join()
    with pytest.raises(EngineError, match="the command 'echo no such link; exit 3' failed: no such link"):
        thread.end()


def test_a_load_that_ends_before_the_event_leaves_it_undone() -> None:
    thread = EventThread([(10**15, lambda: None)], lambda: 1)
    thread.start()
    assert thread.end() == []


def test_an_event_of_another_device_is_refused() -> None:
    with pytest.raises(PlanError, match="the device offers no event 'link-down'"):
        DeviceEvents(("member-lost",)).check([Event(name="link-down", after_ns=0)])


@pytest.mark.parametrize("own", [{"event": "reboot"}, {"event": "link-down", "undo": "true"}])
def test_a_client_of_the_server_runs_no_command_on_it(own: dict[str, str]) -> None:
    assert MEASUREMENT.from_afar is not None
    MEASUREMENT.from_afar({"convergence": {"event": "link-down"}})
    with pytest.raises(PlanError, match="a command of the server"):
        MEASUREMENT.from_afar({"convergence": own})

"""The IETF model of network testers: what commits do, in virtual time, and what is refused with its path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.netconf import DATA, HEADER, generator, latencies, leaves, plain, until_sent

from keisoku.errors import Occupied, PlanError
from keisoku.faces.netconf.datastore import Datastore
from keisoku.faces.netconf.model import interfaces
from keisoku.faces.netconf.statistics import Counts, Latencies, Sent
from keisoku.faces.netconf.translation import configuration
from keisoku.faces.otg.control.controller import Controller
from keisoku.faces.service.traffic import EndedTraffic
from keisoku.subjects.device.record.trial import Bursts

P1, P2 = "sim:gs908e#1", "sim:gs908e#2"


@pytest.fixture
def controller(tmp_path: Path) -> Iterator[Controller]:
    found = Controller(seed=1, runs=tmp_path)
    yield found
    found.close()


@pytest.fixture
def store(controller: Controller) -> Datastore:
    return Datastore(controller, None)


def _refused(text: str, speed: float | None = 1e9) -> str:
    with pytest.raises(PlanError) as caught:
        configuration(interfaces(text), None, speed)
    return str(caught.value)


def _only(**values: object) -> str:
    return plain({P1: generator(**values)}, (P2,))


def test_a_generator_sends_its_frames_and_the_analyzer_counts_them(store: Datastore) -> None:
    store.commit(plain({}, (P2,)))
    store.commit(_only(total_frames=1000, testframe_type="nttg:dynamic"))
    until_sent(store, P1)
    assert store.generator(P1) == Sent(False, 1000, 0, ())
    counts = store.analyzer(P2)
    assert (counts.packets, counts.octets, counts.test_frames) == (1000, 64_000, 1000)
    assert (counts.sequence_errors, counts.payload_errors) == (0, 0)
    samples, least, most, mean = latencies(counts)
    assert samples == 1000 and 0 < least <= mean <= most


def test_counts_go_on_until_the_analyzer_is_deleted(store: Datastore) -> None:
    store.commit(_only(total_frames=300))
    until_sent(store, P1)
    store.commit(plain({}, (P2,)))
    assert store.analyzer(P2).packets == 300  # the generator is gone, what was seen is not
    store.commit(_only(total_frames=200))
    until_sent(store, P1)
    assert (store.analyzer(P2).packets, latencies(store.analyzer(P2))[0]) == (500, 500)
    store.commit(plain({}, ()))
    store.commit(plain({}, (P2,)))
    assert store.analyzer(P2) == Counts()


def test_an_analyzer_that_is_made_after_the_traffic_has_not_seen_it(store: Datastore) -> None:
    store.commit(_only(total_frames=300))
    until_sent(store, P1)
    store.commit(plain({P1: generator(total_frames=300)}, (P1, P2)))
    assert (store.analyzer(P1).packets, store.analyzer(P2).packets) == (0, 300)


def test_the_same_datastore_again_sends_nothing_again(store: Datastore) -> None:
    store.commit(_only(total_frames=300))
    until_sent(store, P1)
    store.commit(_only(total_frames=300))
    assert store.analyzer(P2).packets == 300


def test_generators_of_both_interfaces_send_together(store: Datastore) -> None:
    frames = generator(total_frames=100)
    store.commit(plain({P1: frames, P2: generator(total_frames=50)}, (P1, P2)))
    until_sent(store, P1)
    until_sent(store, P2)
    assert (store.analyzer(P1).packets, store.analyzer(P2).packets) == (50, 100)


def test_streams_take_turns_at_their_places(store: Datastore) -> None:
    first = f"<stream>{leaves(id=1, frames_per_stream=3, interstream_gap=20)}{generator(interframe_gap=20)}</stream>"
    other = leaves(id=2, frame_size=1000, interframe_gap=250, frames_per_stream=1, interstream_gap=1024)
    text = plain({P1: f"<streams><stream>{other}</stream>{first}</streams>{leaves(total_frames=40)}"}, (P2,))
    one, two = configuration(interfaces(text), None, 1e9).flows
    # A round: three frames of 64 with gaps of 20, then one of 1000 with 1024 behind it: 252 + 2024 octets of 8 ns.
    assert one.timing.start_ns == 0 and two.timing.start_ns == 252 * 8
    assert one.timing.pacing == Bursts(burst_frames=3, gap_ns=84 * 8)
    assert one.timing.frames_per_second == pytest.approx(3e9 / (2276 * 8))
    assert two.timing.frames_per_second == pytest.approx(1e9 / (2276 * 8))
    assert (one.timing.frames, two.timing.frames) == (30, 10)
    assert two.packet.layers[0].given["dst"] == "02:00:00:00:00:02"  # the second has the data of the first
    store.commit(text)
    until_sent(store, P1)
    assert store.analyzer(P2).octets == 30 * 64 + 10 * 1000


@given(
    size=st.integers(64, 1518),
    gap=st.integers(20, 10**6),
    burst=st.integers(1, 100),
    behind=st.integers(20, 10**6),
    rate=st.sampled_from((10e6, 1e9, 100e9)),
)
def test_a_burst_takes_the_octets_of_its_frames_and_gaps(
    size: int, gap: int, burst: int, behind: int, rate: float
) -> None:
    own = {"frame_size": size, "interframe_gap": gap, "interburst_gap": behind, "frames_per_burst": burst}
    (flow,) = configuration(interfaces(_only(**own)), None, rate).flows
    octets = burst * size + (burst - 1) * gap + behind
    assert burst / flow.timing.frames_per_second == pytest.approx(octets * 8 / rate)


def test_the_leaves_of_state_are_those_of_the_modules() -> None:
    seen = Counts(5, None, 4, 1, 0, Latencies(4, 1.4, 9.6, 20.0))
    state = ElementTree.fromstring(seen.xml())
    told = {each.tag.rpartition("}")[2]: each.text for each in state.iter() if not len(each)}
    assert told == {
        "pkts": "5",
        "testframe-pkts": "4",
        "sequence-errors": "1",
        "payload-errors": "0",
        "samples": "4",
        "min": "1",
        "max": "10",
        "average": "5",
    }
    sent = ElementTree.fromstring(Sent(False, 3, None, ("a < b",)).xml())
    assert [each.text for each in sent] == ["false", "3", "a < b"]


def test_each_run_of_lost_frames_is_one_sequence_error(tmp_path: Path, controller: Controller) -> None:
    device = tmp_path / "leaky.toml"
    device.write_text("[loss]\nratio = 0.3\n")
    one, other = f"sim:{device}#1", f"sim:{device}#2"
    store = Datastore(controller, 1e9)
    store.commit(plain({one: generator(total_frames=1000)}, (other,)))
    until_sent(store, one)
    last = controller.last_traffic()
    assert isinstance(last, EndedTraffic)
    (stream,) = last.facts.streams
    lost = {number for gap in stream.tracked.lost for number in gap.numbers()}
    arrived = [number for number in range(1000) if number not in lost]
    errors = sum(number != expected for number, expected in zip(arrived, [0, *(n + 1 for n in arrived)], strict=False))
    counts = store.analyzer(other)
    assert 0 < errors == counts.sequence_errors
    assert (counts.packets, store.generator(one).lost) == (1000 - len(lost), len(lost))


def test_nothing_is_added_while_a_generator_sends(controller: Controller, store: Datastore) -> None:
    store.commit(_only())
    with pytest.raises(Occupied, match=r"^/interfaces/interface\[name='sim:gs908e#2'\]: the traffic-generator of"):
        store.commit(plain({P1: generator(), P2: generator()}, (P2,)))
    store.commit(plain({P2: generator(total_frames=10)}, (P2, P1)))  # the other one is deleted in the same commit
    until_sent(store, P2)
    assert store.analyzer(P1).packets == 10


def test_a_refused_datastore_stops_nothing(store: Datastore) -> None:
    store.commit(_only())
    with pytest.raises(PlanError):
        store.commit(_only(frame_size=70_000))
    assert store.generator(P1).transmitting


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"interframe_gap": 19}, "interframe-gap: is 19, and no port leaves less than 20 octets"),
        ({"frame_size": 35}, "frame-size: a frame of 35 octets has no room"),
        ({"frame_data": None}, "frame-data: is missing, so the frames have no addresses"),
        ({"frame_data": "0102"}, "frame-data: is shorter than an Ethernet header"),
        ({"frame_data": DATA + "00"}, "frame-data: each frame ends with keisoku's signature of 18 octets"),
        ({"testframe_type": "x:scrambled"}, "testframe-type: keisoku sends no scrambled"),
        ({"frames_per_burst": 2}, "frames-per-burst: bursts need frames-per-burst and interburst-gap"),
        ({"frames_per_burst": 2, "interburst_gap": 30, "total_frames": 3}, "total-frames: are not a number of bursts"),
        ({"total_frames": 0}, "total-frames: is no number of frames"),
        ({"modifiers": "<modifier><id>1</id></modifier>"}, "modifiers: frames of a stream differ in their signature"),
        ({"interframe_gap": 4_000_000_000, "total_frames": 10**6}, "interframe-gap: the frames would take longer"),
        ({"colour": "red"}, "colour: is not supported"),
    ],
)
def test_refusals_name_the_path(values: dict[str, object], said: str) -> None:
    found = _refused(_only(**values))
    assert found.startswith(f"/interfaces/interface[name='{P1}']/traffic-generator") and said in found


def test_refusals_of_interfaces_name_the_path(store: Datastore) -> None:
    assert _refused(plain({P1: generator()}, (P2,)), speed=None).endswith("start the server with --speed")
    assert "no other interface is configured" in _refused(plain({P1: generator()}))
    text = plain({}, (P1,)).replace("ethernetCsmacd", "softwareLoopback")
    assert _refused(text).startswith(f"/interfaces/interface[name='{P1}']/type: a port of the tester is Ethernet")
    with pytest.raises(PlanError, match="/traffic-generator/frame-size: 70000 byte are too many"):
        store.commit(_only(frame_size=70_000))
    with pytest.raises(PlanError, match=r"^/interfaces/interface\[name='sim:nothing#1'\]/name: "):
        store.commit(plain({}, ("sim:nothing#1", "sim:nothing#2")))


def test_dynamic_frames_may_have_all_their_data(store: Datastore) -> None:
    whole = HEADER + "AA" * 50
    store.commit(_only(frame_data=whole, testframe_type="nttg:dynamic", total_frames=10))
    until_sent(store, P1)
    assert store.analyzer(P2).packets == 10

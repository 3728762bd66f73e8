"""Changed headers in the lab: the faulty device rewrites known frames, and the reports equal the list."""

from __future__ import annotations

import random

import pytest
from support import rewritten
from support.lab_trials import Rows, on_lab, patient_trial, plan_for
from support.rewritten import HEADERS, lab_faults, report, simulated_toml, told
from support.simulated_trials import device, plan
from support.trials import carried

from keisoku.errors import PlanError
from keisoku.ground.frame.expectation import applied, expectations
from keisoku.ground.lab.device.faults import Faults, patches
from keisoku.ground.lab.device.lab import Lab
from keisoku.subjects.device.analysis.changes import findings
from keisoku.subjects.device.engine.simulated import SimulatedEngine, routes_between
from keisoku.subjects.device.engine.traffic import Traffic
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import Trial

pytestmark = pytest.mark.lab

STACK = "Ether()/IP(tos=184)/UDP()"
FRAMES = 20_000
EDITS = {
    ("IP.dscp=0",): "IP.dscp 46 to 0",
    ("IP.ecn=3", "IP.ttl=-1"): "IP.ecn 0 to 3, IP.ttl 10 to 9",
    ("UDP.chksum=0",): "UDP.chksum right to zero",
    ("push=Dot1Q(vlan=9, prio=5)",): "Dot1Q(prio=5, dei=0, vlan=9) added",
}


def carry(
    lab: Lab,
    engine_name: str,
    frame_bytes: int,
    headers: str = STACK,
    expected: tuple[str, ...] = (),
    flows: int = 1,
    frames: int = FRAMES,
) -> tuple[Facts, Rows]:
    plan = plan_for(
        lab.device.name, engine=engine_name, frame_bytes=[frame_bytes], headers=headers, methods=["changes"]
    )
    engine = on_lab(plan, lab)
    kept: list[Rows] = []

    def sink() -> Rows:
        kept.append(Rows())
        return kept[-1]

    try:
        wanted = changes_trial(frames, frame_bytes).model_copy(update={"expected": expected})
        each = wanted.flows[0].model_copy(update={"share": 1 / flows})
        wanted = wanted.model_copy(update={"flows": (each,) * flows})
        facts, _ = carried(engine, wanted, streams=64, sink=sink)
        return facts, kept[-1]
    finally:
        engine.close()


@pytest.mark.parametrize("engine", ["xdp", "afxdp", "packet"])
@pytest.mark.parametrize("frame_bytes", [64, pytest.param(1518, marks=pytest.mark.long)])
def test_the_report_equals_the_list_of_rewritten_frames(engine: str, frame_bytes: int) -> None:
    chance = random.Random(f"{engine} {frame_bytes}")
    chosen = chance.sample(range(FRAMES), 400)
    lots = {edits: set(chosen[number::4]) for number, edits in enumerate(EDITS)}
    with Lab("faulty") as probe:
        before = sent_header(probe, frame_bytes)
    rewrite = []
    for edits, sequences in lots.items():
        patch = patches(before, applied(expectations(edits), before, frame_bytes - 4))
        rewrite += [(sequence, patch) for sequence in sequences]
    with Lab("faulty", faults=Faults(rewrite=rewrite)) as lab:
        facts, rows = carry(lab, engine, frame_bytes)
        assert lab.applied().rewritten >= len(chosen)
        assert lab.applied().failed == 0
    found = {one.text: one for one in findings(facts)}
    assert {text: one.frames for text, one in found.items()} == {EDITS[edits]: len(own) for edits, own in lots.items()}
    entries = rows.rows()
    for edits, sequences in lots.items():
        kinds = found[EDITS[edits]].kinds
        own = entries[[flags >> 8 in kinds for flags in entries["flags"]]]
        assert set(own["sequence"]) == sequences
    assert len(entries) == len(chosen)
    assert facts.tracked.forwarded_frames == FRAMES


@pytest.mark.parametrize("engine", ["xdp", "packet"])
def test_each_row_has_the_value_that_its_frame_was_given(engine: str) -> None:
    values = {17: 0, 400: 10, 999: 63}
    with Lab("faulty") as probe:
        before = sent_header(probe, 64)
    written = {
        rest: patches(before, applied(expectations([f"IP.dscp={value}"]), before, 60)) for rest, value in values.items()
    }
    known = {sequence: values[sequence % 1000] for sequence in range(FRAMES) if sequence % 1000 in values}
    rewrite = tuple((sequence, written[sequence % 1000]) for sequence in known)
    with Lab("faulty", faults=Faults(rewrite=rewrite)) as lab:
        facts, rows = carry(lab, engine, 64)
    texts = {kind: one.text for one in findings(facts) for kind in one.kinds}
    told = [(int(row["sequence"]), texts[int(row["flags"]) >> 8]) for row in rows.rows()]
    assert sorted(told) == [(sequence, f"IP.dscp 46 to {value}") for sequence, value in sorted(known.items())]


@pytest.mark.parametrize("engine", ["xdp", "packet"])
def test_a_device_that_is_named_to_rewrite_fields_does_so_in_the_frames_that_its_name_says(engine: str) -> None:
    flows = 4
    with Lab("faulty?rewrite=IP.dscp=0,UDP.dport=+1&every=100&first=17&stream=3") as lab:
        facts, rows = carry(lab, engine, 64, flows=flows)
        assert lab.applied().failed == 0
    one, other = "IP.dscp 46 to 0", "UDP.dport 7 to 8"
    known = list(range(17, FRAMES // flows, 100))
    assert [(place.text, place.stream, place.frames) for place in findings(facts)] == [
        (f"{one}, {other}", 2, len(known))
    ]
    assert sorted(rows.rows()["sequence"]) == known
    assert facts.tracked.forwarded_frames == FRAMES


@pytest.mark.parametrize("engine", ["xdp", "afxdp", "packet"])
def test_the_report_is_that_of_the_simulated_engine_and_of_the_instrument(engine: str) -> None:
    """tests/fpga/test_changes.py compares the Verilated instrument with the same list."""
    with Lab("faulty") as probe:
        before = sent_header(probe, 64, HEADERS)
    with Lab("faulty", faults=lab_faults(before, 64)) as lab:
        facts, rows = carry(lab, engine, 64, HEADERS, frames=rewritten.FRAMES)
    own = plan("changes", headers=HEADERS)
    other = SimulatedEngine(device(simulated_toml()), traffic=Traffic(routes_between([(0, 1)]), own.contents()))
    kept = Rows()
    other.start(changes_trial(rewritten.FRAMES, 64), stream=1, seed=1, frames=kept)
    other_facts, _ = other.finish()
    assert report(facts, rows.rows()) == report(other_facts, kept.rows()) == told()


def test_a_change_that_fits_no_frame_is_refused_before_the_trial() -> None:
    with Lab("faulty?rewrite=TCP.sport=9") as lab, pytest.raises(PlanError, match=r"TCP\.sport=9.*fits no frame"):
        carry(lab, "packet", 64)


@pytest.mark.parametrize("engine", ["xdp", "afxdp", "packet"])
@pytest.mark.parametrize("frame_bytes", [pytest.param(64, marks=pytest.mark.long), 1518])
def test_a_field_that_may_become_anything_is_told_by_no_engine(engine: str, frame_bytes: int) -> None:
    chance = random.Random(f"any {engine} {frame_bytes}")
    chosen = chance.sample(range(FRAMES), 300)
    with Lab("faulty") as probe:
        before = sent_header(probe, frame_bytes)
    rewrite = []
    for number, sequence in enumerate(chosen):
        edits = [f"IP.id={chance.randrange(1, 65_536)}", *(["IP.dscp=1"] if number < 100 else [])]
        rewrite.append((sequence, patches(before, applied(expectations(edits), before, frame_bytes - 4))))
    with Lab("faulty", faults=Faults(rewrite=tuple(rewrite))) as lab:
        facts, rows = carry(lab, engine, frame_bytes, expected=("IP.id=any",))
    assert {one.text: one.frames for one in findings(facts)} == {"IP.dscp 46 to 1": 100}
    assert set(rows.rows()["sequence"]) == set(chosen[:100])
    assert facts.tracked.forwarded_frames == FRAMES


def changes_trial(frames: int, frame_bytes: int) -> Trial:
    return patient_trial(frames, frame_bytes).model_copy(update={"changes": "changed"})


def sent_header(lab: Lab, frame_bytes: int, headers: str = STACK) -> bytes:
    from keisoku.subjects.device.plan_testbed import wanted_testbed, wanted_traffic
    from keisoku.subjects.device.testbed.lab import LabTestbed

    plan = plan_for(lab.device.name, frame_bytes=[frame_bytes], headers=headers, methods=["changes"])
    wanted = wanted_traffic(plan)
    traffic = wanted.on(LabTestbed(wanted_testbed(plan), lab).routes(wanted))
    table = traffic.tables(patient_trial(1, frame_bytes))[0]
    return table.frame(0)[: table.checked_from]


@pytest.mark.parametrize("engine", ["xdp", "packet"])
def test_a_router_does_what_it_is_known_to_do(engine: str) -> None:
    with Lab("router") as lab:
        facts, rows = carry(lab, engine, 128, headers="ipv4")
    changes = facts.streams[0].changes
    assert changes is not None
    assert "IP.ttl=-1" in changes.expected
    assert changes.compared_frames == FRAMES
    assert findings(facts) == []
    assert len(rows.rows()) == 0


def test_a_corrupt_frame_is_a_finding_of_its_payload() -> None:
    corrupt = [(sequence, 20) for sequence in range(0, FRAMES, 1000)]
    with Lab("faulty", faults=Faults(corrupt=corrupt)) as lab:
        facts, rows = carry(lab, "xdp", 128)
    assert {one.text: one.frames for one in findings(facts)} == {"payload changed": len(corrupt)}
    assert set(rows.rows()["sequence"]) == {sequence for sequence, _ in corrupt}
    assert (rows.rows()["receive_ns"] > 0).all()

"""`keisoku changes` on simulated devices that rewrite chosen headers of chosen frames: the report equals the list."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.lab_trials import Rows
from support.simulated_trials import carry_out, device, plan

from keisoku.errors import PlanError
from keisoku.ground.run.result import Result
from keisoku.subjects.device.analysis.changes import findings
from keisoku.subjects.device.engine.simulated import SimulatedEngine, routes_between
from keisoku.subjects.device.engine.traffic import Traffic
from keisoku.subjects.device.plan.ability import check_ability
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.record.arrival import CORRUPT
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import Phases, Trial

LINK = "link_bits_per_second = 1e9\n"
PHASES = {"learning": False, "drain_s": 0.1, "rest_s": 0}
FPS = 50_000


def result_of(toml: str, **settings: Any) -> Result:
    source = {
        key: settings.pop(key) for key in list(settings) if key in ("headers", "streams", "frame_bytes", "modify")
    }
    wanted = plan(
        "changes",
        **({"frame_bytes": [64]} | source),
        changes={"trial_s": 0.2, "rate_fps": FPS} | settings,
        phases=PHASES,
    )
    return carry_out(wanted, device(LINK + toml))[0]


def cases(result: Result) -> dict[str, float]:
    return {row.case: row.figures["frames"].value for row in result.rows if row.group}


def test_a_device_that_changes_nothing_has_no_finding() -> None:
    result = result_of("")
    assert result.sentence == "none of 10\u202f000 frames changed otherwise than expected"
    assert result.rows[0].figures["compared"].value == 10_000
    assert result.rows[0].figures["changed"].value == 0
    assert len(result.rows) == 1


def test_frames_that_were_cut_are_not_passed_over_where_all_others_are_unchanged() -> None:
    def cut(index: int, trial: Trial, facts: Facts) -> Facts:
        """As ports tell it of a device that truncated what was lost."""
        first, *others = facts.receivers
        foreign = {"foreign_frames": facts.tracked.lost_frames}
        return facts.model_copy(update={"receivers": [first.model_copy(update=foreign), *others]})

    wanted = plan("changes", frame_bytes=[64], changes={"trial_s": 0.2, "rate_fps": FPS}, phases=PHASES)
    lossy = device(LINK + "[loss]\nratio = 0.01")
    whole, _ = carry_out(wanted, lossy)
    result, records = carry_out(wanted, lossy, cut)
    lost = records[0].facts.tracked.lost_frames
    assert 0 < lost == result.rows[0].figures["foreign"].value
    assert str(result.sentence).startswith(str(whole.sentence))
    assert f"{lost} frames were lost, and {lost} arrived without a signature" in str(result.sentence)
    assert "signature" not in str(whole.sentence) and whole.rows[0].figures["foreign"].value == 0


@pytest.mark.parametrize("frame_bytes", [64, 1518])
def test_every_rewritten_field_is_found_with_its_count(frame_bytes: int) -> None:
    toml = """
[[rewrite]]
changes = ["IP.dscp=0"]
every = 7
[[rewrite]]
changes = ["push=Dot1Q(vlan=9)", "IP.ttl=-1"]
frames = [1, 2, 3]
[[rewrite]]
changes = ["UDP.chksum=0"]
frames = [4]
"""
    result = result_of(toml, headers="Ether()/IP(tos=184)/UDP()", frame_bytes=[frame_bytes])
    assert cases(result) == {
        "IP.dscp 46 to 0": 1429,
        "Dot1Q(prio=0, dei=0, vlan=9) added, IP.ttl 10 to 9": 3,
        "UDP.chksum right to zero": 1,
    }
    assert result.sentence.startswith(
        "1\u202f433 of 10\u202f000 frames changed otherwise than expected: 1\u202f429 × IP.dscp 46 to 0; "
    )


def test_changes_of_one_stream_name_it() -> None:
    result = result_of('[[rewrite]]\nchanges = ["IP.ecn=3"]\nstream = 3\nevery = 2', streams=4)
    assert cases(result) == {"stream 3: IP.ecn 0 to 3": 1250}
    assert result.sentence.endswith("1\u202f250 × IP.ecn 0 to 3, all of stream 3")


def test_what_is_expected_is_no_finding_and_what_is_left_out_is_one() -> None:
    toml = '[[rewrite]]\nchanges = ["IP.ttl=-1"]\nfirst = 100'
    result = result_of(toml, expect=["IP.ttl=-1"])
    assert cases(result) == {"IP.ttl 9 to 10": 100}
    assert "expected: IP.ttl=-1" in result.remarks


IDENTIFIED = "".join(f'[[rewrite]]\nchanges = ["IP.id={17 * n + 1}"]\nframes = [{n}]\n' for n in range(50))


@pytest.mark.parametrize("frame_bytes", [64, 128])
def test_a_field_that_may_become_anything_is_no_finding_and_all_others_are(frame_bytes: int) -> None:
    toml = """
[[rewrite]]
changes = ["IP.id=4711", "IP.dscp=1"]
frames = [60, 61]
[[rewrite]]
changes = ["IP.id=4712", "IP.chksum=1", "IP.ttl=-1"]
frames = [62]
"""
    settings = {"frame_bytes": [frame_bytes], "expect": ["IP.id=any"]}
    assert cases(result_of(IDENTIFIED, **settings)) == {}
    assert len(cases(result_of(IDENTIFIED, frame_bytes=[frame_bytes]))) == 50
    found = cases(result_of(IDENTIFIED + toml, **settings))
    assert found == {"IP.dscp 0 to 1": 2, "IP.ttl 10 to 9, IP.chksum right to wrong (0x0001)": 1}


def test_fields_that_may_become_anything_are_not_learnt() -> None:
    toml = """
[[rewrite]]
changes = ["IP.id=4711", "IP.ttl=-1"]
every = 2
[[rewrite]]
changes = ["IP.id=4712", "IP.ttl=-1"]
"""
    result = result_of(toml, expect=["IP.id=any"], learn_s=0.02)
    assert cases(result) == {}
    assert any("IP.ttl=-1" in remark for remark in result.remarks)


def test_an_address_that_may_become_anything_frees_the_checksums_over_it_and_ports_stay_watched() -> None:
    toml = """
[[rewrite]]
changes = ["IP.src=10.0.0.1"]
every = 2
[[rewrite]]
changes = ["IP.src=10.0.0.2", "UDP.sport=7"]
frames = [1]
"""
    (text,) = cases(result_of(toml, expect=["IP.src=any"]))
    assert text.startswith("UDP.sport") and "," not in text


def test_too_many_fields_that_may_become_anything_are_refused() -> None:
    fields = ("Ether.dst", "Ether.src", "IP.id", "IP.src", "IP.dst", "UDP.sport")
    with pytest.raises(PlanError, match="at most 6 words"):
        result_of(
            "",
            headers="Ether()/IP()/UDP()/VXLAN()/Ether()/IP()/UDP()",
            frame_bytes=[128],
            expect=[*(f"{field}=any" for field in fields), "IP[2].src=any"],
        )


def test_an_expectation_that_fits_no_frame_is_refused() -> None:
    with pytest.raises(PlanError, match=r"'IPv6.hlim=-1' fits no frame"):
        result_of("", expect=["IPv6.hlim=-1"])


def test_what_most_frames_show_is_learnt_for_each_stream() -> None:
    toml = """
[[rewrite]]
changes = ["IP.dscp=1"]
frames = [5000]
[[rewrite]]
changes = ["IP.src=10.0.0.1", "IP.ttl=-1"]
stream = 1
[[rewrite]]
changes = ["push=Dot1Q(vlan=9)"]
stream = 2
"""
    result = result_of(toml, streams=2, learn_s=0.02, trial_s=0.22)
    assert cases(result) == {
        "stream 1: IP.dscp 0 to 1, IP.ttl 9 to 10, IP.src 10.0.0.1 to 192.0.2.1".replace("192.0.2.1", source()): 1,
        "stream 2: Dot1Q(prio=0, dei=0, vlan=9) removed, IP.dscp 0 to 1": 1,
    }
    assert any("IP.ttl=-1" in remark and "of stream 1" in remark for remark in result.remarks)


def source() -> str:
    from keisoku.ground.frame.headers import SOURCE_IPV4

    return SOURCE_IPV4


def test_variants_are_compared_with_their_own_headers() -> None:
    modify = ["IP.dst=increment(198.19.0.1, count=50)", "UDP.sport=increment(1024, count=70)"]
    result = result_of('[[rewrite]]\nchanges = ["IP.dscp=8"]\nevery = 10', modify=modify)
    assert cases(result) == {"IP.dscp 0 to 8": 1000}


def trial(frame_bytes: int, frames: int, changes: str = "changed") -> Trial:
    return Trial(
        purpose="test",
        frame_bytes=frame_bytes,
        frames_per_second=FPS,
        duration_ns=frames * 10**9 // FPS,
        phases=Phases(learning=False, drain_ns=10**8, rest_ns=0),
        changes=changes,
    )


def test_rows_are_those_of_the_list_frame_by_frame() -> None:
    chosen = sorted(random.Random(17).sample(range(200_000), 5000))
    toml = f'{LINK}[[rewrite]]\nchanges = ["IP.dscp=8"]\nframes = {chosen}\n[faults]\ncorrupt_ratio = 0.001'
    engine = SimulatedEngine(device(toml))
    rows = Rows()
    engine.start(trial(64, 200_000), stream=1, seed=3, frames=rows)
    facts, _ = engine.finish()
    found = rows.rows()
    corrupt = found["flags"] & CORRUPT != 0
    assert set(found["sequence"][~corrupt]) == set(chosen) - set(found["sequence"][corrupt])
    assert 120 < corrupt.sum() < 280
    assert (found["receive_ns"] > 0).all()
    assert (np.diff(found["receive_ns"]) > 0).all()
    texts = {one.text: one.frames for one in findings(facts)}
    assert texts["IP.dscp 0 to 8"] == (~corrupt).sum()
    assert sum(texts.values()) == len(found)


def test_rows_of_every_frame_have_the_kind_of_the_changed_ones() -> None:
    engine = SimulatedEngine(device(LINK + '[[rewrite]]\nchanges = ["IP.ecn=3"]\nevery = 4'))
    rows = Rows()
    engine.start(trial(64, 1000, "every"), stream=1, seed=3, frames=rows)
    engine.finish()
    found = rows.rows()
    assert len(found) == 1000
    assert ((found["flags"] >> 8 == 1) == (found["sequence"] % 4 == 0)).all()


def test_random_rewritings_of_random_frames_are_found_exactly() -> None:
    chance = random.Random(20261123)
    fields = {"IP.ttl": 255, "IP.dscp": 63, "IP.ecn": 3, "IP.id": 65535, "UDP.dport": 65535, "UDP.sport": 65535}
    for _ in range(20):
        names = chance.sample(sorted(fields), 3)
        rules = [(f"{name}={chance.randint(0, fields[name])}", chance.sample(range(2000), 40)) for name in names]
        toml = LINK + "".join(f'[[rewrite]]\nchanges = ["{text}"]\nframes = {frames}\n' for text, frames in rules)
        engine = SimulatedEngine(device(toml), traffic=Traffic(routes_between([(0, 1)]), plan("changes").contents()))
        rows = Rows()
        engine.start(trial(128, 2000), stream=1, seed=chance.randrange(99), frames=rows)
        facts, _ = engine.finish()
        taken: set[int] = set()
        truth: dict[str, int] = {}
        before = {"IP.ttl": 10, "UDP.dport": 7, "UDP.sport": 49184}
        for text, frames in rules:
            name, _, value = text.partition("=")
            own = set(frames) - taken
            taken |= own
            if int(value) != before.get(name, 0):
                truth[f"{name} {before.get(name, 0)} to {value}"] = len(own)
        assert {one.text: one.frames for one in findings(facts)} == truth


def test_headers_of_many_kinds_are_counted_where_they_have_no_room() -> None:
    engine = SimulatedEngine(
        device(LINK + '[[rewrite]]\nchanges = ["IP.dscp=8"]'),
        traffic=Traffic(
            routes_between([(0, 1)]), plan("changes", modify=["IP.dst=increment(198.19.0.1, count=10000)"]).contents()
        ),
    )
    engine.start(trial(64, 20_000), stream=1, seed=3)
    facts, _ = engine.finish()
    changes = facts.streams[0].changes
    assert changes is not None
    assert changes.changed_frames == 20_000
    assert len(changes.kinds) == 8192
    assert changes.further_frames == 2 * (10_000 - 8192)


def test_an_engine_that_cannot_compare_is_refused_and_so_is_a_mix(tmp_path: Path) -> None:
    from keisoku.subjects.device.record.capabilities import Capabilities

    fpga = Capabilities(
        engine="fpga",
        link_bits_per_second=1e9,
        min_frame_bytes=64,
        max_frame_bytes=None,
        simulated=False,
        transmit_stamp="",
        receive_stamp="",
    )
    with pytest.raises(PlanError, match="changes compares the headers of frames, which the engine fpga cannot"):
        check_ability(parse({"methods": ["changes"], "tx": "fpga:sim#0", "rx": "fpga:sim#1"}), fpga)
    with pytest.raises(PlanError, match="frames of one size"):
        mixed = parse({"methods": ["changes"], "dut": "sim:gs908e", "frame_bytes": "imix"})
        check_ability(mixed, fpga.model_copy(update={"abilities": frozenset({"compare"})}))

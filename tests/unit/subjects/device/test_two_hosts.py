"""Trials over two hosts, without any: what is refused, and what crosses between the hosts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.synthetic_runs import host_run

from keisoku.errors import PlanError
from keisoku.subjects.device.engine.two_host_wire import merged_record, packed, unpacked, without_latency
from keisoku.subjects.device.plan.plan import parse

PLAN = {"methods": ["loss"], "tx": "packet:eth1", "rx": "eth1", "receiver": "192.0.2.2"}
_TABLES = st.lists(
    st.tuples(st.binary(max_size=40), st.binary(max_size=8), st.integers(0, 99), st.booleans(), st.just(0))
)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"methods": ["latency"]}, "measures one-way latency, and the clocks of two hosts are not related"),
        ({"methods": ["sweep"]}, "sweep is not measured over two hosts"),
        ({"frames": True}, "frames of two hosts are not kept"),
        ({"why_lost": True}, "frames that another host sends or receives are not followed"),
        ({"why_late": True}, "frames that another host sends or receives are not followed"),
        ({"receiver": None, "clock": "ptp:192.0.2.9"}, "one host has one clock"),
        ({"pattern": "bidirectional"}, "one port sends and one receives there"),
    ],
)
def test_what_two_hosts_cannot_measure_is_refused(changed: dict[str, Any], said: str) -> None:
    assert parse(PLAN).receiver == "192.0.2.2" and parse({**PLAN, "methods": ["latency"], "clock": "ptp:a"}).clock
    with pytest.raises(PlanError, match=said):
        parse({name: value for name, value in (PLAN | changed).items() if value is not None})


@given(_TABLES, _TABLES)
def test_tables_of_frames_arrive_as_they_were_sent(one: list[Any], other: list[Any]) -> None:
    (first, content), (second, more) = packed(one), packed(other)
    found, rest = unpacked(json.loads(json.dumps(first)), content + more)
    assert found == one and unpacked(second, rest) == (other, b"")
    if content:
        with pytest.raises(ValueError, match="cut off"):
            unpacked(first, content[:-1])


def test_a_record_of_two_hosts_has_no_latency_and_every_count() -> None:
    facts = host_run().records[0].facts
    plain = facts.model_dump(mode="json")
    near = plain | {"links": [1], "interference": {"cores": [1], "threads": [], "span_ns": 5}, "interrupted": True}
    far = plain | {"links": [2], "interference": {"cores": [2], "threads": []}, "transmitters": []}
    far["streams"] = [without_latency(stream) for stream in far["streams"]]
    found = merged_record(near, far)
    assert found["transmitters"] == plain["transmitters"] and found["receivers"] == plain["receivers"]
    assert (found["links"], found["interference"]["cores"], found["interrupted"]) == ([1, 2], [1, 2], True)
    (stream,) = found["streams"]
    tracked, own = stream["tracked"], plain["streams"][0]["tracked"]
    assert tracked["latency"] is None and all(interval["latency"] is None for interval in tracked["series"])
    assert {name for name in own if tracked[name] != own[name]} <= {
        "latency",
        "variation",
        "series",
        "tagged_latency_ns",
    }

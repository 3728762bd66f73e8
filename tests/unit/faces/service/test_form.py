"""Forms: one for every entry that the server carries out, with every setting, and a plan of what was typed."""

from __future__ import annotations

import re

import pytest

from keisoku.errors import PlanError
from keisoku.faces.service.runs import asked_from_afar
from keisoku.faces.service.web.form import (
    Entry,
    Form,
    Mistakes,
    Typed,
    again,
    entries,
    every_entry,
    for_the_page,
)
from keisoku.faces.service.web.labels import LABELS
from keisoku.language import translated, written_in
from keisoku.running.measurement.table import MODULES, find
from keisoku.running.measurement.typed_setting import settings_of
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.table import PROCEDURES, suites

EVERY = {entry.address: entry for entry in every_entry()}
NOT_THERE = {"capture", "snap_bytes", "force", "key_file", "key_id", "undo", "receiver"}
"""What acts on the server's host, or needs another one."""


def as_it_opens(form: Form) -> dict[str, list[str]]:
    """What a browser sends of a new form."""
    return {
        field.name: list(field.typed)
        for group in form.groups()
        for field in group.fields
        if field.value and field.kind not in ("device", "ports")
    }


def test_everything_that_the_server_carries_out_has_a_form() -> None:
    carried_out = {name for name in MODULES if find(name).from_afar is not None}
    assert {entry.name for entry in EVERY.values()} == carried_out | {*PROCEDURES} | {*suites()}
    assert all(group and title for title, group in entries().items())


@pytest.mark.parametrize("entry", EVERY.values(), ids=EVERY.keys())
def test_a_form_makes_a_plan_that_the_server_takes(entry: Entry) -> None:
    form = Form(entry.address)
    needed = (
        {"dut": ["sim:gs908e"]}
        if form.is_device
        else {
            "host": ["192.0.2.7"],
            "target": ["dns:192.0.2.7"],
            "ends": ["192.0.2.7,192.0.2.8"],
            "system": ["sim:e4"],
        }
    )
    methods = {"methods": ["throughput", "loss"]} if entry.name == "device" else {}
    measurement, settings = asked_from_afar(form.document({**as_it_opens(form), **needed, **methods}))
    assert measurement.settings is type(settings)
    if isinstance(settings, Plan):
        expected = suites().get(entry.name) or methods.get("methods") or [entry.name]
        assert settings.methods == tuple(expected)


@pytest.mark.parametrize("entry", EVERY.values(), ids=EVERY.keys())
def test_a_form_has_every_setting_with_a_label_and_what_it_means(entry: Entry) -> None:
    form = Form(entry.address)
    kinds = form.measurement.offers or (form.measurement.settings,)
    offered = {setting.name for setting in settings_of(*kinds)} - NOT_THERE - form.measurement.refuses.keys()
    offered -= {"clock"} if form.is_device else set()  # which relates two hosts
    fields = [field for group in form.groups() for field in group.fields]
    names = [field.name for field in fields]
    assert len(set(names)) == len(names)
    shown = {name.partition(".")[0] for name in names}
    assert offered - shown == ({"tx", "rx", "engine"} & offered if form.least_ports > 2 else {"rx", "engine"} & offered)
    assert offered <= LABELS.keys() | {"about"}
    for field in fields:
        assert field.help or field.kind in ("device", "ports", "several") or field.name.startswith("about."), field.name
        assert not re.search(r"--[a-z]|POST", field.help), field.help
    with written_in("ja"):
        assert all(not translated(field.label).isascii() or field.label.isupper() for field in fields)


def test_what_is_typed_is_read_as_a_command_reads_it() -> None:
    form = Form("latency")
    typed: Typed = {
        "dut": ["lab:bridge"],
        "dut_parameters": ["mtu=9000"],
        "port_engine": ["packet"],
        "frame_bytes": ["64-192:64"],
        "rate_fps": ["50%"],
        "trial_s": ["50ms"],
        "modify": ["UDP.sport=random(1-9)\r\nIP.dst=increment(198.19.0.1, count=2)"],
        "require": ["latency[64].p99 <= 9 us\r\n"],
        "frames": ["yes"],
        "about.note": ["after the update"],
    }
    _, plan = asked_from_afar(form.document(typed))
    assert isinstance(plan, Plan) and (plan.dut, plan.engine) == ("lab:bridge?mtu=9000", "packet")
    assert plan.frame_bytes == (64, 128, 192) and plan.own("latency").trial_s == 0.05  # type: ignore[attr-defined]
    assert len(plan.modify) == 2 and plan.frames and plan.about == {"note": "after the update"}
    assert plan.profile == "quick", "a person waits for it"


def test_ports_of_the_host_are_named_with_their_engine() -> None:
    typed: Typed = {"tx": ["eth1"], "rx": ["eth2"], "port_engine": ["xdp"], "frame_bytes": ["64"]}
    document = Form("loss").document(typed)
    assert (document["tx"], document["rx"]) == ("xdp:eth1", "xdp:eth2") and "engine" not in document
    typed = {"host_ports": ["eth1", "eth2", "eth3"], "ports": ["1,2,3"], "frame_bytes": ["64"]}
    assert Form("head-of-line").document(typed)["ports"] == ["eth1", "eth2", "eth3"]


def test_all_mistakes_are_said_at_once_in_the_words_of_the_form() -> None:
    form = Form("throughput")
    with pytest.raises(Mistakes) as wrong:
        form.document({"dut": ["sim:gs908e"], "trial_s": ["soon"], "maximum_fps": ["much"]})
    assert wrong.value.sentences.keys() == {"trial_s", "maximum_fps"}
    said = form.sentences(PlanError("throughput.rate_fps", "is given beside --size", "leave --size out"))
    assert said == {
        "": "Throughput.rate_fps: is given beside “Frame sizes in bytes”. Leave “Frame sizes in bytes” out."
    }


def test_a_failure_is_said_without_what_only_a_terminal_could_do() -> None:
    error = "eth1: has no link; what was measured is kept, 'keisoku analyse runs/1' shows what it says"
    assert for_the_page(error) == "eth1: has no link"


@pytest.mark.parametrize(
    ("address", "typed"),
    [
        ("throughput", {"dut": ["sim:gs908e"], "frame_bytes": ["64,512"], "trial_s": ["50ms"], "about.site": ["x"]}),
        ("latency", {"dut": ["lab:bridge"], "dut_parameters": ["mtu=9000"], "rate_fps": ["12345.678"]}),
        ("loss", {"tx": ["eth1"], "rx": ["eth2"], "port_engine": ["packet"], "profile": ["short"]}),
        ("device", {"dut": ["sim:gs908e"], "methods": ["throughput", "loss"], "frames": ["yes"]}),
        ("rfc8239", {"dut": ["lab:bridge"], "ports": ["1,2,3"]}),
        ("path-delay", {"host": ["192.0.2.7"], "packets": ["7"], "interval_s": ["1500us"]}),
        ("stream-tcp", {"host": ["192.0.2.7"], "size_bytes": ["64,1024"], "factor": ["congestion=cubic,bbr"]}),
        ("system-limit", {"system": ["sim:e4"], "weight": ["fast=2\nslow1=0.5"], "objective": ["sum_requests"]}),
    ],
)
def test_a_run_opens_the_form_that_it_was_made_by(address: str, typed: dict[str, list[str]]) -> None:
    form = Form(address)
    _, settings = asked_from_afar(form.document({**as_it_opens(form), **typed}))
    found = again(form.measurement.name if form.entry.name != "device" else "device", settings.plain())
    assert found is not None and found[0].entry == form.entry
    assert asked_from_afar(found[0].document(found[1]))[1] == settings


def test_a_run_that_no_form_makes_opens_none() -> None:
    plan = {"methods": ["throughput"], "dut": "sim:gs908e", "frame_bytes": [64]}
    _, settings = asked_from_afar({**plan, "pacing": {"kind": "gaps", "gaps_ns": [1000.0]}})
    assert again("device", settings.plain()) is None

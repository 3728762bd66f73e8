"""Device files: what is read, and the sentence that each mistake gets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keisoku.errors import PlanError
from keisoku.ground.simulated_device.device import SimulatedDevice, find_device, list_devices, parse_device

# E1 Table 4.1: name, slope, constant, largest frame, standard errors of slope and constant.
TABLE_4_1 = [
    ("ax3630s", 7.99, 3556, 9216, 0.001006, 4.44),
    ("lsw4-gt-8ep", 7.98, 1810, 16000, 0.001139, 4.787),
    ("lsw3-gt-5ep", 7.99, 1998, 16367, 0.0003565, 1.748),
    ("catalyst2960g", 9.51, 5155, 9000, 0.001563, 6.838),
    ("catalyst3750e", 9.01, 4624, 9198, 0.0008529, 3.644),
    ("gs908e", 8.00, 811, 9887, 0.00002949, 0.1302),
]


@pytest.mark.parametrize(("name", "slope", "constant", "largest", "slope_error", "constant_error"), TABLE_4_1)
def test_a_device_of_table_4_1_is_shipped_as_published(
    name: str, slope: float, constant: float, largest: int, slope_error: float, constant_error: float
) -> None:
    device = find_device(name)
    published = device.published
    assert published is not None
    assert (published.slope_ns_per_byte, published.constant_ns) == (slope, constant)
    assert (published.slope_error_ns_per_byte, published.constant_error_ns) == (slope_error, constant_error)
    assert device.max_frame_bytes == published.max_frame_bytes == largest
    assert (device.forwarding.ns_per_byte, device.forwarding.constant_ns) == (slope, constant)
    assert device.link_bits_per_second == 1e9
    assert device.title and device.maker and device.class_ in {"business", "home"}


def test_devices_are_listed_by_name() -> None:
    names = [device.name for device in list_devices()]
    assert names == sorted(names)
    assert {row[0] for row in TABLE_4_1} <= set(names)


EVERY_KEY = """
title = "everything"
maker = "me"
class = "software"
year = 2026
ports = 4
link_bits_per_second = 10_000_000_000
max_frame_bytes = 9000
resolution_ns = 8
cable = { length_m = 10, ns_per_m = 5.0 }
forwarding = { mode = "cut-through", ns_per_byte = 0.8, constant_ns = 300, header_bytes = 64, decision_ns = 50 }
output = { buffer_bytes = 65536, service_bits_per_second = 9_000_000_000 }
jitter = { distribution = "normal", spread_ns = 12.5 }
loss = { ratio = 0.001, above_frame_bytes = 1518, above_ratio = 0.5 }
stall = { first_ns = 5, period_ns = 1_000_000, duration_ns = 1000 }
faults = { duplicate_ratio = 0.1, reorder_ratio = 0.2, corrupt_ratio = 0.3 }
clock_offset_ppm = { 2 = -50, 3 = 12.5 }
[[pair]]
from_ports = [1]
to_ports = [3, 4]
extra_latency_ns = 271
forwarding = { ns_per_byte = 0.9, constant_ns = 310 }
max_frame_bytes = 7000
loss = { ratio = 0.8 }
[published]
source = "nobody"
slope_ns_per_byte = 1.0
slope_error_ns_per_byte = 0.1
constant_ns = 2.0
constant_error_ns = 0.1
max_frame_bytes = 9000
[[published_latency]]
frame_bytes = 64
min_ns = 3580
mean_ns = 4860
max_ns = 9180
"""


def test_every_key_is_read_and_the_model_gets_what_it_needs() -> None:
    device = parse_device(EVERY_KEY, "everything")
    assert device.clock_offset_ppm == {2: -50.0, 3: 12.5}
    model = json.loads(device.model_json())
    assert model["pairs"][0]["to_ports"] == [3, 4]
    assert "published" not in model and "title" not in model
    assert (model["forwarding"]["constant_ns"], model["pairs"][0]["forwarding"]["constant_ns"]) == (350, 360)


def test_a_device_is_put_on_other_cables() -> None:
    model = json.loads(find_device("cable").with_cable(100).model_json())
    assert model["forwarding"]["constant_ns"] == pytest.approx(459.913 + 472.284)
    with pytest.raises(PlanError, match="length: gs908e has no cables"):
        find_device("gs908e").with_cable(1)


def test_the_documented_example_is_read() -> None:
    page = (Path(__file__).parents[4] / "docs" / "devices.md").read_text(encoding="utf-8")
    example = page.split("```toml device\n")[1].split("```")[0]
    device = parse_device(example, "documented")
    assert (device.name, device.clock_offset_ppm, device.pairs[0].max_frame_bytes) == (
        "my-switch",
        {2: -50.0},
        7000,
    )
    assert device.output.buffer_bytes == SimulatedDevice(name="", title="").output.buffer_bytes


def test_a_device_survives_being_written_and_read() -> None:
    device = parse_device(EVERY_KEY, "everything")
    assert SimulatedDevice.model_validate_json(device.model_dump_json(by_alias=True)) == device


def test_an_empty_file_is_a_plain_gigabit_switch() -> None:
    device = parse_device("", "plain")
    assert (device.name, device.title, device.ports, device.link_bits_per_second) == (
        "plain",
        "plain",
        2,
        1e9,
    )


@pytest.mark.parametrize(
    ("toml", "sentence"),
    [
        ("prts = 8", "prts: is not a key of a device; did you mean 'ports'?"),
        (
            "[forwarding]\nns_per_bite = 8",
            "forwarding.ns_per_bite: is not a key of a device; did you mean 'ns_per_byte'?",
        ),
        ("ports = '8'", "ports: '8' is not accepted; it must be a valid integer"),
        ("ports = 1", "ports: 1 is not accepted; it must be greater than or equal to 2"),
        ("forwarding = 3", "forwarding: 3 is not accepted; it must be a table"),
        ("[loss]\nratio = 2", "loss.ratio: 2 is not accepted; it must be less than or equal to 1"),
        ("[loss]\nratio = nan", "loss.ratio: nan is not accepted; it must be a finite number"),
        (
            "[loss]\nabove_ratio = 0.2",
            "loss.above_ratio: has no size to apply to; add loss.above_frame_bytes",
        ),
        ("[jitter]\nspread_ns = 5", "jitter.distribution: is missing; add it"),
        (
            "[stall]\nperiod_ns = 5\nduration_ns = 5",
            "stall.duration_ns: 5 is not below the period of 5; "
            "make it shorter, so that the output can send between stalls",
        ),
        (
            "[stall]\nduration_ns = 5",
            "stall: has no time; add stall.period_ns, stall.first_ns, or both",
        ),
        (
            "[forwarding]\nheader_bytes = 14",
            "forwarding.header_bytes: has no meaning for a store-and-forward device; "
            "remove it, or set mode to 'cut-through'",
        ),
        (
            "[output]\nservice_bits_per_second = 2e9",
            "output.service_bits_per_second: 2e+09 is above the link rate of 1e+09; "
            "lower it, or leave it out for the link rate",
        ),
        (
            "[clock_offset_ppm]\n3 = 1.0",
            "clock_offset_ppm: there is no port 3; use 1 to 2, or raise 'ports'",
        ),
        (
            "[[pair]]\nfrom_ports = [1]\nto_ports = [2]\n[[pair]]\nfrom_ports = [1]\nto_ports = [2]",
            "pair: ports 1 to 2 are in two tables; join them",
        ),
        (  # accepted before, as the two after it
            "[[pair]]\nfrom_ports = [1]\nto_ports = [1]",
            "pair: it leads from port 1 to itself; name another port",
        ),
        (
            "[[pair]]\nfrom_ports = [1, 1]\nto_ports = [2]",
            "pair.from_ports: port 1 is listed twice; list each once",
        ),
        (
            "[published]\nsource = 'x'\nports = [2, 2]\nslope_ns_per_byte = 8\nslope_error_ns_per_byte = 1\n"
            "constant_ns = 1\nconstant_error_ns = 1\nmax_frame_bytes = 1518",
            "published.ports: they are one port; name the sending and the receiving one",
        ),
        (
            "title = 'x'\nports =",
            "device: mistaken is not valid TOML: Invalid value (at end of document); correct that line",
        ),
    ],
)
def test_a_mistake_is_named_with_its_remedy(toml: str, sentence: str) -> None:
    with pytest.raises(PlanError) as caught:
        parse_device(toml, "mistaken")
    assert str(caught.value) == sentence


def test_the_line_of_bad_toml_is_named() -> None:
    with pytest.raises(PlanError, match="line 2"):
        parse_device("title = 'x'\nports = = 3\n", "mistaken")


def test_a_users_file_is_found_by_its_path_and_named_in_mistakes(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("ports = 5\n")
    assert find_device(str(path)).name == "mine"
    path.write_text("ports = 0\n")
    with pytest.raises(PlanError, match=r"ports in .*mine\.toml: 0 is not accepted"):
        find_device(str(path))
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(PlanError, match="not UTF-8 text"):
        find_device(str(path))


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="No such file"):
        find_device(str(tmp_path / "none.toml"))
    with pytest.raises(PlanError, match="is a directory, not a file"):
        find_device(str(tmp_path))
    with pytest.raises(PlanError, match="one of apresia3124gt, ax3630s, "):
        find_device("gs908")


def test_a_cable_adds_to_the_decision_too() -> None:
    """Where the decision is what a frame waits for, the cable's length was dropped."""
    text = "cable = {{ length_m = {}, ns_per_m = 5.0 }}\nforwarding = {{ constant_ns = 800, decision_ns = 90000 }}\n"
    short, long = (json.loads(parse_device(text.format(metres), "test").model_json()) for metres in (0, 100))
    for name in ("constant_ns", "decision_ns"):
        assert long["forwarding"][name] - short["forwarding"][name] == 500

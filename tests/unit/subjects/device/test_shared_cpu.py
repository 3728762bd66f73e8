"""A throughput that the tester's CPU bounds, which the device uses too: what the page and pairs say of it."""

from __future__ import annotations

from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.running.measurement.paired_result import compared, judged
from keisoku.running.measurement.paired_settings import PairedSettings
from keisoku.running.measurement.table import find
from keisoku.subjects.device.procedure.rfc2544.throughput import PROCEDURE


def result(cost_ns: float = 1490.0) -> Result:
    """A bound at 64 byte, with the cost of a frame in the device, and one at 512 byte, without."""
    figures = {
        "throughput": Quantity(value=476_000, unit="frames/s", bound="at least"),
        "cost": Quantity(value=cost_ns, unit="ns", interval=Interval(lower=cost_ns - 10, upper=cost_ns + 10)),
        "whole": Quantity(value=2013.5, unit="ns"),
        "core": Quantity(value=671_000, unit="frames/s", interval=Interval(lower=650_000, upper=690_000)),
    }
    bound = {"throughput": figures["throughput"]}
    return Result(
        measurement="throughput", rows=[Row(frame_bytes=64, figures=figures), Row(frame_bytes=512, figures=bound)]
    )


def test_the_page_says_what_the_device_took_of_a_shared_cpu() -> None:
    """The terminal and the result said it, and the first lines of the page did not."""
    assert PROCEDURE.sentence is not None
    said = PROCEDURE.sentence(result())
    assert said.startswith("Forwards at least 476 kframes/s of 64-byte frames")
    assert "took 74 % of the CPU" in said and "1.490 (1.480 … 1.500) µs for each frame of 64 bytes" in said
    assert "512 bytes" not in said, "its cost was not measured"


def test_pairs_of_bounds_say_why_the_cost_is_compared() -> None:
    settings = PairedSettings(of="device", a={"methods": ["throughput"]}, b={"methods": ["throughput"]}, pairs=6)
    a, b = ([[result(cost_ns + n)] for n in range(6)] for cost_ns in (1490.0, 1600.0))
    found = judged(find("device"), settings, a, b, [n / 6 for n in range(1, 7)])
    assert {each.of.figure for each in found} == {"throughput", "cost"}
    remarks = compared(settings, found, a, b, []).remarks
    assert sum("the throughput is a bound on both sides" in remark for remark in remarks) == 1
    assert any(remark.startswith("64 byte: the throughput is a bound") for remark in remarks)

"""A load is frames/s, bit/s, or a share of the line, on the command line and in plans."""

from __future__ import annotations

import pytest

from keisoku.errors import PlanError
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.plan.rate import BitRate, LinePercent, offered_load


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("50kpps", 50_000.0),
        ("2 Mfps", 2e6),
        ("500", 500.0),
        ("500Mbps", BitRate(5e8)),
        ("0.5 Gb/s", BitRate(5e8)),
        ("100 kbit/s", BitRate(1e5)),
        ("50 %", LinePercent(50.0)),
    ],
)
def test_a_load_is_written_as_people_write_it(text: str, wanted: float | BitRate | LinePercent) -> None:
    assert offered_load("--rate", text) == wanted
    if not isinstance(wanted, float):
        assert offered_load("--rate", str(wanted)) == wanted


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("500mbps", "--rate: 'mbps' is no unit of a rate; did you mean 'Mbps'?"),
        ("500MBps", "--rate: 'MBps' is no unit of a rate; did you mean 'Mbps'?"),
        ("5 apples", "--rate: 'apples' is no unit of a rate; write for example 50kpps, 500Mbps or 50%"),
        ("0Mbps", "--rate: '0Mbps' is not above zero; give a positive value"),
        ("120%", "--rate: '120%' is no share of the line rate; give more than 0% and at most 100%"),
    ],
)
def test_what_is_no_load_is_a_sentence(text: str, said: str) -> None:
    with pytest.raises(PlanError) as error:
        offered_load("--rate", text)
    assert str(error.value) == said


def test_a_plan_keeps_the_unit() -> None:
    plan = parse({"methods": ["trial"], "dut": "sim:gs908e", "trial": {"rate_fps": "500Mbps"}})
    assert plan.plain()["trial"]["rate_fps"] == "500 Mbit/s"
    assert parse(plan.plain()) == plan
    with pytest.raises(PlanError, match="'0Mbps' is not above zero"):
        parse({"methods": ["trial"], "dut": "sim:gs908e", "trial": {"rate_fps": "0Mbps"}})

"""PPS and 10 MHz through the whole instrument: the model's reference is a known number of ppm off."""

import json

import pytest
from click.testing import CliRunner
from support.fpga_bench import needs_model

from keisoku.errors import EngineError
from keisoku.faces.cli.main import keisoku
from keisoku.ground.fpga.cable import bare_cable
from keisoku.ground.fpga.instrument import Instrument
from keisoku.ground.fpga.reference import marks

pytestmark = needs_model


@pytest.mark.parametrize(
    ("offset", "arguments"),
    [(12.5, ["--duration", "4ms"]), (-80.0, ["--reference", "pps", "--period", "50us", "--duration", "4ms"])],
)
def test_the_counter_s_frequency_is_found_within_its_uncertainty(offset: float, arguments: list[str]) -> None:
    done = CliRunner().invoke(keisoku, ["fpga", "clock", "fpga:sim", "--offset", str(offset), *arguments, "--json"])
    assert done.exit_code == 0, f"{done.output}\n{done.exception!r}"
    frequency = json.loads(done.stdout)["frequency"]
    # The reference is so much faster that its period is shorter: the counter has counted less at each mark.
    assert abs(frequency["value"] + offset) <= frequency["uncertainty"] < 5


def test_a_reference_that_is_not_connected_is_said() -> None:
    instrument = Instrument.simulated_with(bare_cable(0.0), 1)
    try:
        with pytest.raises(EngineError, match="there is no pps"):
            list(marks(instrument, "pps", 20_000.0, 1, 3))
    finally:
        instrument.close()

"""Modules whose tests pass with unknown values at the start, too: what is not reset is not looked at."""

import pytest
from four_state import simulate_four_state
from simulate import FPGA, generated_registers

TIME = [f"rtl/{name}.sv" for name in ("cdc/sync_bit", "cdc/sync_pulse", "cdc/async_fifo", "time/stamp",
                                      "time/time_base", "time/reference", "time/time_block")]  # fmt: skip


@pytest.mark.parametrize("testcase", [pytest.param("sets_and_captures", marks=pytest.mark.long), "queues_marks"])
def test_time_block(testcase):
    sources = [generated_registers()[0], *TIME, "tb/time_block/time_bench.sv"]
    simulate_four_state("time_bench", sources, FPGA / "tb/time_block/test_time_block.py", testcase=testcase)


@pytest.mark.long
def test_instrument():
    """The whole of it, from the host's bytes to the wire and back."""
    lint = pytest.importorskip("lint")
    sources = lint.Sources()
    needed = sources.needed(sources.home["instrument_loop"])
    simulate_four_state("instrument_loop", needed, FPGA / "tb/instrument/instrument_loop_exercise.py")

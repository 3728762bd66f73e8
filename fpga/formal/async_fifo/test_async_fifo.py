"""The queue between two clocks: for all their edges in the first 16 steps, and its pointers for ever."""

import pytest
from prove import prove, prove_steps

STEPS = 16
RTL = ["rtl/cdc/sync_bit.sv", "rtl/cdc/async_fifo.sv"]
OUTSIDE = [*RTL, "formal/async_fifo/async_fifo_proof.sv"]
FULL = ("async_fifo.sv", "(pointer_t'(3) << (LOG2_DEPTH - 1))", "pointer_t'(7)")
EMPTY = ("async_fifo.sv", "taken_gray != written_gray_there;", "1'b1;")
GRAY = ("async_fifo.sv", "written_gray <= gray(after(written));", "written_gray <= after(written);")


def test_from_outside():
    prove_steps("async_fifo_proof", OUTSIDE, STEPS)


def test_is_full_and_empty():
    prove("async_fifo_proof", OUTSIDE, "cover", 18, clocks=2)


def test_one_bit_changes():
    prove("async_fifo", RTL, "prove", 6, parameters={"WIDTH": 1, "LOG2_DEPTH": 4}, clocks=2)


@pytest.mark.parametrize("mutation", [FULL, EMPTY])
def test_fails_when_mutated(mutation):
    prove_steps("async_fifo_proof", OUTSIDE, STEPS, mutation=mutation)


def test_one_bit_fails_when_mutated():
    prove("async_fifo", RTL, "bmc", 12, parameters={"WIDTH": 1, "LOG2_DEPTH": 4}, clocks=2, mutation=GRAY)

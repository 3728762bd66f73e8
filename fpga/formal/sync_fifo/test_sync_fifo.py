"""The queue within a clock: what goes in comes out, in order, and its flags tell the truth."""

import pytest
from prove import prove

RTL = ["rtl/fifo/sync_fifo.sv"]
OUTSIDE = [*RTL, "formal/sync_fifo/sync_fifo_proof.sv"]
FULL = ("sync_fifo.sv", "(2 ** LOG2_DEPTH - 1)", "(2 ** LOG2_DEPTH)")
ORDER = ("sync_fifo.sv", "out = memory[taken", "out = memory[~taken")


@pytest.mark.parametrize("mode", ["bmc", "cover"])
def test_from_outside(mode):
    prove("sync_fifo_proof", OUTSIDE, mode, 12)


def test_by_induction():
    prove("sync_fifo", RTL, "prove", 4, parameters={"WIDTH": 8, "LOG2_DEPTH": 3})


@pytest.mark.parametrize("mutation", [FULL, ORDER])
def test_fails_when_mutated(mutation):
    prove("sync_fifo_proof", OUTSIDE, "bmc", 12, mutation=mutation)


def test_induction_fails_when_mutated():
    prove("sync_fifo", RTL, "bmc", 14, parameters={"WIDTH": 8, "LOG2_DEPTH": 2}, mutation=ORDER)

"""The CRC of a byte is the standard's of eight bits, and the residue is one number, for every state of the register."""

import pytest
from prove import satisfy

SOURCES = ["formal/crc32/crc32_proof.sv"]
MUTATIONS = {
    "equal": ("crc32_pkg.sv", "32'hEDB8_8320", "32'hEDB8_8321"),
    "residue": ("crc32_pkg.sv", "32'hDEBB_20E3", "32'hDEBB_20E2"),
}


@pytest.mark.parametrize("statement", MUTATIONS)
def test_holds(statement):
    satisfy("crc32_proof", SOURCES, statement)


@pytest.mark.parametrize("statement", MUTATIONS)
def test_fails_when_mutated(statement):
    satisfy("crc32_proof", SOURCES, statement, mutation=MUTATIONS[statement])

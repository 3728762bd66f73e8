"""Registers behind block RAMs move into them where that changes nothing, and stay where it would."""

from typing import Any

import pytest

from keisoku.ground.fpga.output_register import move

CLOCK, ENABLE, OTHER, READ, HELD = 2, 3, 4, 10, 50  # nets; those of words count from READ and HELD


def register(bit: int, **changed: Any) -> dict[str, Any]:
    """A flip-flop behind bit `bit` of the word that the block RAM reads."""
    cell: dict[str, Any] = {
        "type": "TRELLIS_FF",
        "parameters": {"CEMUX": "1 ", "CLKMUX": "CLK", "LSRMUX": "LSR", "REGSET": "RESET"},
        "connections": {"CLK": [CLOCK], "DI": [READ + bit], "LSR": ["0"], "Q": [HELD + bit]},
        "port_directions": {"CLK": "input", "CE": "input", "DI": "input", "LSR": "input", "Q": "output"},
    }
    for name, value in changed.items():
        cell["connections" if isinstance(value, list) else "parameters"][name] = value
    return cell


def netlist(width: int = 18, bits: int = 4, **changed: Any) -> dict[str, Any]:
    """A block RAM whose word of `bits` goes through registers, all of them plain but the last one, to an output."""
    ram: dict[str, Any] = {
        "type": "DP16KD",
        "parameters": {"DATA_WIDTH_A": f"{width:032b}", "DATA_WIDTH_B": f"{width:032b}"}
        | {f"REGMODE_{side}": "NOREG" for side in "AB"},
        "connections": {"CLKA": [CLOCK], "CLKB": [CLOCK], "CEA": ["1"], "CEB": ["1"], "OCEA": ["0"], "OCEB": ["0"]},
        "port_directions": {},
    }
    for bit in range(bits):
        ram["connections"][f"DO{'B' if bit < 18 else 'A'}{bit % 18}"] = [READ + bit]
    ram["port_directions"] = {port: "output" if port.startswith("DO") else "input" for port in ram["connections"]}
    cells = {f"register_{bit}": register(bit, **(changed if bit == bits - 1 else {})) for bit in range(bits)}
    ports = {"word": {"direction": "output", "bits": [HELD + bit for bit in range(bits)]}}
    return {"modules": {"top": {"ports": ports, "cells": {"ram": ram, **cells}}}}


def test_a_plain_register_moves_into_the_memory() -> None:
    design = netlist()
    assert move(design) == 4
    cells = design["modules"]["top"]["cells"]
    assert list(cells) == ["ram"]
    assert [cells["ram"]["connections"][f"DOB{bit}"] for bit in range(4)] == [[HELD + bit] for bit in range(4)]
    assert cells["ram"]["connections"]["OCEB"] == ["1"]
    assert {side: cells["ram"]["parameters"][f"REGMODE_{side}"] for side in "AB"} == {"A": "NOREG", "B": "OUTREG"}


def test_both_halves_of_a_wide_word_move_together() -> None:
    design = netlist(width=36, bits=30)
    assert move(design) == 30
    ram = design["modules"]["top"]["cells"]["ram"]
    assert ram["parameters"]["REGMODE_A"] == ram["parameters"]["REGMODE_B"] == "OUTREG"
    assert ram["connections"]["OCEA"] == ram["connections"]["OCEB"] == ["1"]
    assert ram["connections"]["DOA11"] == [HELD + 29]


def test_a_register_with_the_enable_of_the_reading_port_moves() -> None:
    design = netlist(bits=1, CEMUX="CE", CE=[ENABLE])
    assert move(design) == 0  # the memory reads always
    design["modules"]["top"]["cells"]["ram"]["connections"]["CEB"] = [ENABLE]
    assert move(design) == 1
    assert design["modules"]["top"]["cells"]["ram"]["connections"]["OCEB"] == [ENABLE]


@pytest.mark.parametrize(
    "changed",
    [
        {"CLK": [OTHER]},
        {"CLKMUX": "INV"},
        {"LSR": [OTHER]},
        {"LSRMUX": "INV"},
        {"REGSET": "SET"},
        {"CEMUX": "CE", "CE": [ENABLE]},
        {"CEMUX": "INV", "CE": ["1"]},
        {"DI": [OTHER], "LSR": [READ + 3]},
    ],
)
def test_one_register_that_does_more_keeps_all_where_they_are(changed: dict[str, Any]) -> None:
    design = netlist(**changed)
    assert move(design) == 0
    assert len(design["modules"]["top"]["cells"]) == 5
    assert design["modules"]["top"]["cells"]["ram"]["parameters"]["REGMODE_B"] == "NOREG"


def test_a_word_that_somebody_else_reads_stays() -> None:
    design = netlist()
    design["modules"]["top"]["ports"]["raw"] = {"direction": "output", "bits": [READ]}
    assert move(design) == 0


def test_a_wide_word_stays_if_one_half_cannot_move() -> None:
    assert move(netlist(width=36, bits=30, LSR=[OTHER])) == 0

"""The committed register map is what registers.rdl gives; fields take and put the bits they say."""

import importlib.util
import random
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from keisoku.ground.fpga.register import Field
from keisoku.ground.fpga.registers import REGISTERS

ROOT = Path(__file__).parents[4]


def generator() -> ModuleType:
    for package in ("systemrdl", "peakrdl_regblock"):
        pytest.importorskip(package, reason="the FPGA's tools are not installed")
    specification = importlib.util.spec_from_file_location(
        "generate_registers", ROOT / "fpga" / "generate_registers.py"
    )
    assert specification and specification.loader
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_committed_files_are_what_the_source_gives() -> None:
    generate = generator()
    top = generate.compiled()
    assert (ROOT / "keisoku" / "ground" / "fpga" / "registers.py").read_text() == generate.python_text(top)
    assert (ROOT / "docs" / "registers.md").read_text() == generate.page_text(top)


def test_the_register_block_is_generated(tmp_path: Path) -> None:
    generate = generator()
    package, module = generate.write_rtl(generate.compiled(), tmp_path)
    assert "package registers_pkg" in package.read_text()
    assert "module registers" in module.read_text()


def test_ranges_are_compared_by_their_prefixes() -> None:
    generate = generator()
    chance = random.Random(3)
    for _ in range(50):
        first = 4 * chance.randrange(1 << 18)
        last = min(first + 4 * chance.randrange(1, 1 << chance.randrange(1, 14)), 1 << 20) - 1
        text = generate.within(f"20'h{first:x}", f"20'h{first:x} + 20'd1 * 20'h{last - first:x}")
        terms = re.findall(r"\(s_cpuif_addr\[19:(\d+)\] == (\d+)'h([0-9a-f]+)\)", text)
        assert " | ".join(f"(s_cpuif_addr[19:{bits}] == {width}'h{value})" for bits, width, value in terms) == text
        assert all(int(bits) + int(width) == 20 for bits, width, _ in terms)
        others = [chance.randrange(1 << 20) for _ in range(20)]
        for address in [first, last, max(first - 1, 0), min(last + 1, (1 << 20) - 1), *others]:
            hit = any(address >> int(bits) == int(value, 16) for bits, _, value in terms)
            assert hit == (first <= address <= last)


def test_the_map_starts_as_every_build_does() -> None:
    assert [REGISTERS.id.address, REGISTERS.version.address, REGISTERS.build.address, REGISTERS.ports.address] == [
        0x0,
        0x4,
        0x8,
        0xC,
    ]
    assert REGISTERS.memory.control.address == 0x80
    assert (REGISTERS.window.address, REGISTERS.window.words) == (0x40000, 1024)


def test_fields_take_and_put_their_bits() -> None:
    field = Field(0x84, 4, 2)
    assert field.extract(0xFFFF_FFEF) == 2
    assert field.insert(1, 0xFFFF_FFFF) == 0xFFFF_FFDF
    with pytest.raises(ValueError, match="2 bits"):
        field.insert(4)


def test_a_register_that_is_added_is_in_the_rtl_the_python_and_the_documentation(tmp_path: Path) -> None:
    """docs/recipes.md, "A new FPGA register"."""
    generate = generator()
    source = tmp_path / "registers.rdl"
    before = generate.SOURCE.read_text()
    after = before.replace(
        "    time_registers time_base @0x40;\n",
        '    reg { name = "Word of the host"; field {} value[31:0] = 0; } host_word @0x10;\n'
        "    time_registers time_base @0x40;\n",
    )
    assert before != after
    source.write_text(after)
    top = generate.compiled(source)
    found: dict[str, Any] = {}
    exec(generate.python_text(top), found)
    assert found["REGISTERS"].host_word.value == Field(0x10, 0, 32)
    assert found["REGISTERS"].port[1].transmit.control.address == REGISTERS.port[1].transmit.control.address
    package, module = (file.read_text() for file in generate.write_rtl(top, tmp_path / "rtl"))
    assert "registers__host_word__out_t host_word;" in package
    assert "hwif_out.host_word.value.value = field_storage.host_word.value.value;" in module
    assert "| 0x10 | `host_word` | 31:0 | rw | 0x0 | Word of the host |" in generate.page_text(top)

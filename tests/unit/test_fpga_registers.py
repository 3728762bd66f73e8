"""The committed register map is what registers.rdl gives; fields take and put the bits they say."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from keisoku.fpga.register import Field
from keisoku.fpga.registers import REGISTERS

ROOT = Path(__file__).resolve().parents[2]


def generator() -> ModuleType:
    for package in ("systemrdl", "peakrdl_regblock", "peakrdl_markdown"):
        pytest.importorskip(package, reason="the FPGA's tools are not installed")
    specification = importlib.util.spec_from_file_location(
        "generate_registers", ROOT / "fpga" / "generate_registers.py"
    )
    assert specification and specification.loader
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_committed_files_are_what_the_source_gives(tmp_path: Path) -> None:
    generate = generator()
    top = generate.compiled()
    assert (ROOT / "keisoku" / "fpga" / "registers.py").read_text() == generate.python_text(top)
    generate.write_documentation(top, tmp_path / "registers.md")
    assert (ROOT / "docs" / "registers.md").read_text() == (tmp_path / "registers.md").read_text()


def test_the_register_block_is_generated(tmp_path: Path) -> None:
    generate = generator()
    package, module = generate.write_rtl(generate.compiled(), tmp_path)
    assert "package registers_pkg" in package.read_text()
    assert "module registers" in module.read_text()


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
    assert field.of(0xFFFF_FFEF) == 2
    assert field.put(1, 0xFFFF_FFFF) == 0xFFFF_FFDF
    with pytest.raises(ValueError, match="2 bits"):
        field.put(4)

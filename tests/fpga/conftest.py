"""Lets the tests of the RTL's ladder import what fpga/ holds."""

import sys
from pathlib import Path

FPGA = Path(__file__).resolve().parent.parent.parent / "fpga"
for folder in (FPGA / "tb", FPGA):
    sys.path.insert(0, str(folder))

"""Lets every test file of this folder import `transmit_host` and `transmit_expected`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

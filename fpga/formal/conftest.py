"""Lets every test file below import `prove`, and beside it what it calls."""

import sys
from pathlib import Path

FOLDER = Path(__file__).parent
for folder in (FOLDER, FOLDER.parent / "tb"):
    sys.path.insert(0, str(folder))

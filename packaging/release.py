"""Makes what a release has beside wheels and the Debian package, and checks all of it: `python packaging/release.py`.

`make release` builds the wheels and the package first. Added to dist/ are the container image for this machine's
processor, bills of materials (CycloneDX) of the Python packages and of the crates, and SHA256SUMS of everything. A
release is made of one version: what says another one, or does not hold, ends it with a sentence. Nothing is published.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import subprocess
import sys
import tempfile
import tomllib
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

from clean_root import clean_root
from container import Builder
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation import make_schemabased_validator

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
SUMS = "SHA256SUMS"
EXTRAS = "rows,query,fit,serve,board"
"""As in the Debian packages."""
SCHEMA = SchemaVersion.V1_5
"""The newest that both tools write."""


def main() -> None:
    """Makes and checks; exits with a sentence at the first thing that is wrong."""
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    for old in (*DIST.glob("*.cdx.json"), *DIST.glob("*-image-*.tar"), DIST / SUMS):
        old.unlink(missing_ok=True)
    python_bill(version)
    crates_bill(version)
    image(version)
    made = sorted(path for path in DIST.iterdir() if path.name != SUMS)
    (DIST / SUMS).write_text("".join(f"{_digest(path)}  {path.name}\n" for path in made))
    check(version)


def python_bill(version: str) -> None:
    """Of the wheel with its extras in an environment of its own, at the versions of requirements.lock."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pinned = [line.split()[0] for line in (ROOT / "requirements.lock").read_text().splitlines() if "==" in line]
        (folder / "constraints").write_text("\n".join(line for line in pinned if not line.startswith("#")))
        _run(sys.executable, "-m", "venv", "--without-pip", folder / "venv")
        pip = [sys.executable, "-m", "pip", "--python", folder / "venv", "--quiet", "--disable-pip-version-check"]
        _run(*pip, "install", "--constraint", folder / "constraints", f"{_own_wheel(version)}[{EXTRAS}]")
        bill = DIST / f"keisoku-{version}-python.cdx.json"
        written = ["--output-reproducible", "--spec-version", SCHEMA.to_version(), "--output-file", bill]
        _run(sys.executable, "-m", "cyclonedx_py", "environment", *written, folder / "venv")


def crates_bill(version: str) -> None:
    """Of the crates in the core, and of those in the far end, as Cargo.lock pins them."""
    name = f"keisoku-{version}-crates"
    _run("cargo", "cyclonedx", "--format", "json", "--spec-version", SCHEMA.to_version(), "--override-filename", name)
    for member in _members():
        shutil.move(ROOT / member / f"{name}.json", DIST / f"{name}-{member}.cdx.json")


def image(version: str) -> None:
    """By the Containerfile, on a Debian that is made here: a machine without a registry has none to take it from."""
    with tempfile.TemporaryDirectory() as name, clean_root(Path(name) / "debian", packages=()) as root:
        base = Path(name) / "base.tar"
        _run("tar", "--one-file-system", "-C", root.path, "-cf", base, ".")
        with Builder(Path(name)) as builder:
            builder.base(base)
            builder.build(ROOT / "packaging" / "Containerfile", "keisoku")
            builder.save("keisoku", DIST / f"keisoku-{version}-image-{platform.machine()}.tar", version)


def check(version: str) -> None:
    """Versions, checksums, bills of materials and what a package index would refuse."""
    wheels = sorted(DIST.glob("keisoku-*.whl"))
    said = {wheel.name: _version_of_wheel(wheel) for wheel in wheels}
    for name in ("keisoku", "keisoku-extra"):
        (package,) = DIST.glob(f"{name}_*.deb")
        said[package.name] = _run("dpkg-deb", "--field", package, "Version").rpartition("-")[0]
    crates = {f"keisoku-{member}" for member in _members()}
    for each in tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]:
        if each["name"] in crates:
            said[f"{each['name']} in Cargo.lock"] = each["version"]
    said |= {path.name: path.name.split("-")[1] for path in DIST.glob("*-image-*.tar")}
    validator = make_schemabased_validator(OutputFormat.JSON, SCHEMA)
    for bill in sorted(DIST.glob("*.cdx.json")):
        text = bill.read_text()
        problem = validator.validate_str(text)
        _demand(problem is None, f"{bill.name} is no CycloneDX document: {problem}")
        document = json.loads(text)
        parts = [*document["components"], document["metadata"].get("component", {})]
        own = {part["version"] for part in parts if part.get("name", "").startswith("keisoku")}
        _demand(len(own) == 1, f"{bill.name} names {len(own)} versions of keisoku, not one")
        said[bill.name] = own.pop()
        print(f"{bill.name}: {len(document['components'])} components")
    other = {name: found for name, found in said.items() if found != version}
    _demand(not other, f"Cargo.toml says {version}, but {other}")
    _run(sys.executable, "-m", "twine", "check", "--strict", *wheels)
    for line in (DIST / SUMS).read_text().splitlines():
        digest, _, name = line.partition("  ")
        _demand(_digest(DIST / name) == digest, f"{name} is not what {SUMS} says")
    print(f"version {version} in {', '.join(said)}; {SUMS} has {len((DIST / SUMS).read_text().splitlines())} files")


def _members() -> list[str]:
    """Folders of the crates."""
    members: list[str] = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["members"]
    return members


def _own_wheel(version: str) -> Path:
    found = next(DIST.glob(f"keisoku-{version}-*manylinux*_{platform.machine()}.whl"), None)
    _demand(found is not None, f"dist/ has no wheel of {version} for this machine: run make wheel")
    assert found is not None
    return found


def _version_of_wheel(wheel: Path) -> str:
    with ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return str(Parser().parsestr(archive.read(name).decode())["Version"])


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _run(*command: object) -> str:
    """What it printed; exits with what it said where it fails."""
    words = [str(word) for word in command]
    ended = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    _demand(ended.returncode == 0, f"{' '.join(words[:6])} …: {ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    return ended.stdout


def _demand(holds: bool, sentence: str) -> None:
    if not holds:
        sys.exit(f"keisoku: release: {sentence}")


if __name__ == "__main__":
    main()

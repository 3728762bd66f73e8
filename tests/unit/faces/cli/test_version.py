"""`keisoku --version`, and packages that only some commands need."""

import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from keisoku.faces.cli import main as entry

PROJECT = tomllib.loads((Path(__file__).parents[4] / "pyproject.toml").read_text())["project"]


def test_the_version_tells_the_engines_the_kernel_and_every_library() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "keisoku", "--version"], capture_output=True, text=True, check=True
    ).stdout
    assert said.startswith(f"keisoku {metadata.version('keisoku')}\n")
    assert "engines: packet, simulated, fpga, xdp" in said
    assert "kernel: Linux" in said
    assert "numpy: " in said
    assert "not installed" not in said


def test_a_package_that_an_extra_has_is_asked_for_by_the_name_of_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for package, extra in entry.EXTRAS.items():

        def without(name: str = package, **_: object) -> None:
            raise ModuleNotFoundError(f"No module named '{name}.part'", name=f"{name}.part")

        monkeypatch.setattr(entry, "keisoku", without)
        with pytest.raises(SystemExit) as ended:
            entry.main()
        assert ended.value.code == 2
        assert f"pip install 'keisoku[{extra}]'" in capsys.readouterr().err
        assert extra in PROJECT["optional-dependencies"]


def test_the_debian_package_has_a_package_of_its_own_for_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry, "DEBIAN", Path(entry.__file__).parents[3])
    assert "keisoku-extra" in entry._installing("fit")
    assert "\nPackage: keisoku-extra\n" in (Path(__file__).parents[4] / "debian" / "control").read_text()
    assert entry._installing("cluster") == "pip install 'keisoku[cluster]'"


def test_a_module_of_our_own_that_is_absent_is_not_taken_for_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def without(**_: object) -> None:
        raise ModuleNotFoundError("No module named 'keisoku.nothing'", name="keisoku.nothing")

    monkeypatch.setattr(entry, "keisoku", without)
    with pytest.raises(ModuleNotFoundError):
        entry.main()

"""Whatever file a user names, reading it ends at once, in bounded memory, with its content or with a sentence."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from keisoku.errors import PlanError
from keisoku.faces.otg.serving.server import Listening, Server
from keisoku.ground.host.text_file import MOST_BYTES, MOST_DEPTH, read_text, read_toml
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.simulated_device.device import find_device
from keisoku.running.measurement.plan_file import read as read_plan
from keisoku.running.study.file import find_studies
from keisoku.subjects.clock.stability.phase_file.read import read_phase
from keisoku.subjects.device.calibration.bias import read as read_calibration
from keisoku.subjects.device.capture.find import find
from keisoku.subjects.device.capture.replay import replay
from keisoku.subjects.device.plan.content import pacing
from keisoku.subjects.device.record.trial import Gaps
from keisoku.subjects.path.stamp.key import read_key
from keisoku.subjects.system.simulated.file import read_system

TOML: dict[str, Callable[[Path], object]] = {
    "plan": read_plan,
    "device": lambda path: find_device(str(path)),
    "study": lambda path: find_studies(str(path)),
    "system": read_system,
}
WHOLE: dict[str, Callable[[Path], object]] = TOML | {
    "gaps": lambda path: pacing("pacing", f"gaps:{path}"),
    "key": read_key,
    "tokens": lambda path: Server(Listening(tokens=path, grpc_port=None), None),  # type: ignore[arg-type]  # refused before its use
}
REFUSED = r"is a pipe or a device, not a file|not a readable calibration"
ANY: dict[str, Callable[[Path], object]] = WHOLE | {
    "calibration": read_calibration,
    "phase": read_phase,
    "find": lambda path: find(path, "1"),
    "replay": replay,
}


@pytest.mark.parametrize("read", TOML.values(), ids=TOML)
def test_a_byte_order_mark_was_called_invalid_toml(tmp_path: Path, read: Callable[[Path], object]) -> None:
    """Editors of other systems write one."""
    said = []
    for name, mark in (("plain.toml", b""), ("marked.toml", b"\xef\xbb\xbf")):
        (tmp_path / name).write_bytes(mark + b'nothing = "known"\r\n')
        with pytest.raises(PlanError) as refused:
            read(tmp_path / name)
        said.append(str(refused.value).replace(name, "").replace(name.removesuffix(".toml"), ""))
    assert said[0] == said[1] and "TOML" not in said[0]


def test_a_byte_order_mark_was_taken_for_a_gap_and_refused_in_a_token(tmp_path: Path) -> None:
    (tmp_path / "gaps").write_bytes("\ufeff100\n200\n".encode())
    assert pacing("pacing", f"gaps:{tmp_path / 'gaps'}") == Gaps(gaps_ns=(100, 200))
    assert read_text("tokens", tmp_path / "gaps") == "100\n200\n"


@pytest.mark.parametrize("read", TOML.values(), ids=TOML)
@pytest.mark.parametrize(
    "text",
    [
        f"a = {'[' * 3000}{']' * 3000}",
        f"a = {'{b=' * 3000}1{'}' * 3000}",
        f"{'.'.join('b' * 3000)} = 1",
        f"[{'.'.join('b' * 3000)}]",
    ],
    ids=["arrays", "inline tables", "dotted keys", "headers"],
)
def test_nesting_of_3000_levels_ended_in_a_traceback(tmp_path: Path, read: Callable[[Path], object], text: str) -> None:
    path = tmp_path / "deep.toml"
    path.write_text(text)
    with pytest.raises(PlanError, match=f"more than {MOST_DEPTH} tables or arrays within each other"):
        read(path)


@pytest.mark.parametrize("read", ANY.values(), ids=ANY)
@pytest.mark.timeout(10)
def test_a_fifo_hung(tmp_path: Path, read: Callable[[Path], object]) -> None:
    path = tmp_path / "pipe.toml"
    os.mkfifo(path)
    with pytest.raises(PlanError, match=REFUSED):
        read(path)


@pytest.mark.parametrize("read", ANY.values(), ids=ANY)
def test_dev_zero_was_read_to_11_gigabytes(tmp_path: Path, read: Callable[[Path], object]) -> None:
    path = tmp_path / "zero.toml"
    path.symlink_to("/dev/zero")
    with pytest.raises(PlanError, match=REFUSED):
        read(path)


@pytest.mark.parametrize("read", WHOLE.values(), ids=WHOLE)
def test_a_title_of_10_mb_took_17_s(tmp_path: Path, read: Callable[[Path], object]) -> None:
    path = tmp_path / "long.toml"
    path.write_text(f'title = "{"x" * 10_000_000}"\n')
    with pytest.raises(PlanError, match="is longer than 1024 KiB"):
        read(path)


def test_a_file_may_be_as_long_as_the_bound(tmp_path: Path) -> None:
    path = tmp_path / "full"
    path.write_bytes(b"x" * MOST_BYTES)
    assert len(read_text("file", path)) == MOST_BYTES
    path.write_bytes(b"x" * (MOST_BYTES + 1))
    with pytest.raises(PlanError, match="longer than"):
        read_text("file", path)


def test_nesting_up_to_the_bound_is_read(tmp_path: Path) -> None:
    path = tmp_path / "deep.toml"
    path.write_text(f"a = {'[' * (MOST_DEPTH - 1)}{']' * (MOST_DEPTH - 1)}")
    assert "a" in read_toml("file", path)


@pytest.mark.timeout(10)
@pytest.mark.parametrize("part", ["b", '"b"', "'b'", "b ", "b" * 500])
def test_a_dotted_key_of_1_mb_took_hours(tmp_path: Path, part: str) -> None:
    path = tmp_path / "dotted.toml"
    path.write_text(".".join([part] * (MOST_BYTES // (len(part) + 1) - 4)) + " = 1")
    with pytest.raises(PlanError, match="within each other"):
        read_toml("file", path)


@pytest.mark.timeout(10)
def test_what_looks_like_a_dotted_key_is_read(tmp_path: Path) -> None:
    path = tmp_path / "dots.toml"
    words = f"{'Dots. ' * 30}…{'.' * 1000}{'b' * 400_000}"
    path.write_text(f"{'b' * 500_000} = [{'1.5, 2.5, ' * 1000}]\ntitle = '{words}'\n")
    assert len(read_toml("file", path)) == 2


def test_a_number_of_5000_digits_is_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "digits.toml"
    path.write_text(f"a = {'1' * 5000}")
    with pytest.raises(PlanError, match="is not valid TOML"):
        read_toml("file", path)


def test_a_pipe_in_the_place_of_a_runs_plan_is_no_run(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "plan.toml")
    with pytest.raises(PlanError, match="holds no run"):
        RunDirectory.open(tmp_path)

"""The journal: what is undone, by whom, in which order, and what is not trusted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from keisoku.errors import EngineError
from keisoku.ground.host import undo
from keisoku.ground.host.child import Child
from keisoku.ground.host.process import born_at, end, lives
from keisoku.ground.host.temporary_folder import TemporaryFolder
from keisoku.ground.host.undo import record

_CHILD = """
import os, sys
from pathlib import Path
from keisoku.ground.host import undo
from keisoku.ground.host.temporary_folder import TemporaryFolder
undo.FOLDER = Path(sys.argv[1])
folder = TemporaryFolder("test")
(folder.path / "file").write_text("x")
{}
"""


@pytest.fixture(autouse=True)
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where entries are: of this test only."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(undo, "FOLDER", tmp_path / "journal")
    folder = tmp_path / "journal" if os.geteuid() == 0 else tmp_path / f"keisoku-{os.geteuid()}"
    folder.mkdir(mode=0o700)
    return folder


def child(tmp_path: Path, end: str) -> int:
    command = [sys.executable, "-c", _CHILD.format(end), str(undo.FOLDER)]
    return subprocess.run(command, env=os.environ | {"TMPDIR": str(tmp_path)}, check=False).returncode


def test_an_entry_is_there_before_the_thing_and_gone_after_it(journal: Path) -> None:
    folder = TemporaryFolder("test")
    assert folder.path.stat().st_mode & 0o777 == 0o700
    (entry,) = journal.iterdir()
    assert entry.name.startswith(f"{os.getpid()}-{born_at(os.getpid())}-")
    assert undo.leftovers() == [] and undo.leftovers(force=True) == [entry]
    folder.remove()
    folder.remove()
    assert not folder.path.exists() and not entry.exists()


def test_the_last_thing_is_undone_first_and_what_fails_holds_nothing_up(journal: Path, tmp_path: Path) -> None:
    outer = tmp_path / "keisoku-outer"
    (outer / "keisoku-inner").mkdir(parents=True)
    entries = [
        record("folder", path=str(outer)),
        record("folder", path=str(tmp_path)),  # not named as ours are
        record("folder", path=str(outer / "keisoku-inner")),
        record("namespace", name="default"),
    ]
    with pytest.raises(EngineError, match=rf"default is not a name.*; {tmp_path} is not a folder of keisoku$"):
        undo.undo(*entries)
    assert not outer.exists()
    assert undo.leftovers(force=True) == [entries[1], entries[3]] == sorted(journal.iterdir())
    assert undo.undo(entries[0], entries[2]) == [], "gone already"


def test_what_was_undone_is_told_in_the_order_in_which_it_was(tmp_path: Path) -> None:
    inner = tmp_path / "keisoku-outer" / "keisoku-inner"
    inner.mkdir(parents=True)
    entries = [record("folder", path=str(folder)) for folder in (inner.parent, inner)]
    assert undo.undo(*entries) == [f"removed {inner}", f"removed {inner.parent}"]


def test_a_process_undoes_at_its_exit_what_it_did_not(journal: Path, tmp_path: Path) -> None:
    assert child(tmp_path, "") == 0
    assert not list(journal.iterdir()) and not list(tmp_path.glob("keisoku-test-*"))


def test_what_a_killed_process_left_is_undone_by_the_next(journal: Path, tmp_path: Path) -> None:
    assert child(tmp_path, "os.kill(os.getpid(), 9)") == -signal.SIGKILL
    (folder,) = tmp_path.glob("keisoku-test-*")
    assert len(undo.leftovers()) == 1
    assert child(tmp_path, "sys.exit(not undo.leftovers(force=True))") == 0
    assert not folder.exists() and not list(journal.iterdir())


def test_an_entry_cut_off_while_it_was_written_is_of_nothing(journal: Path) -> None:
    entry = record("folder", path="/keisoku-nothing")
    entry.write_text(entry.read_text()[:20])
    assert undo.undo(entry) == [] and not list(journal.iterdir())


def test_a_number_that_has_passed_to_another_process_is_not_its_owner(journal: Path) -> None:
    entry = record("folder", path="/keisoku-nothing")
    owner, born, number = entry.stem.split("-")
    other = entry.rename(journal / f"{owner}-{int(born) - 1}-{number}.json")
    assert undo.leftovers() == [other]
    assert undo.undo_left() == []
    assert not other.exists()


@pytest.mark.parametrize("what", ["mode", "link"])
def test_a_folder_that_others_could_write_in_is_not_trusted(what: str, journal: Path, tmp_path: Path) -> None:
    entry = record("folder", path="/keisoku-nothing")
    if what == "mode":
        journal.chmod(0o770)
    else:
        journal.symlink_to(journal.rename(tmp_path / "moved"))
    assert entry.exists()
    with pytest.raises(EngineError, match="other users could write in"):
        undo.leftovers(force=True)


def test_a_process_is_ended_by_number_and_birth() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as one:
        born = born_at(one.pid)
        assert not end(one.pid, born - 1) and one.poll() is None
        assert end(one.pid, born)
        assert one.wait() == -signal.SIGTERM
        assert not lives(one.pid, born) and not end(one.pid, born)


def test_a_child_begins_once_its_entry_is_there_and_ends_with_its_process(journal: Path, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    one = Child(["/bin/sh", "-c", f"ls {journal} >{begun}.new; mv {begun}.new {begun}; sleep 60"])
    while not begun.exists():
        assert not one.ended()
        os.sched_yield()
    assert begun.read_text().split() == [one.entry.name]
    one.end()
    one.end()
    assert one.ended() and not list(journal.iterdir())


def test_a_child_whose_entry_cannot_be_written_never_begins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(*_: object, **__: object) -> Path:
        raise EngineError("the disk is full")

    monkeypatch.setattr("keisoku.ground.host.child.record", full)
    with pytest.raises(EngineError, match="full"):
        Child(["touch", str(tmp_path / "begun")])
    assert not (tmp_path / "begun").exists()


@pytest.mark.parametrize(("others", "goes"), [((), True), (("etc/passwd",), False), (("pid",), False)])
def test_where_a_daemon_locked_itself_up_goes_unless_others_use_it(
    others: tuple[str, ...], goes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "daemon"
    monkeypatch.setattr(undo, "CHROOTS", (str(place),))
    entry = record("chroot", path=str(place))
    (place / "etc").mkdir(parents=True)
    for name in ("etc/localtime", *others):
        (place / name).write_text("x")
    assert undo.undo(entry) == ([f"removed {place}"] if goes else [])
    assert place.exists() is not goes and all((place / name).exists() for name in others)
    with pytest.raises(EngineError, match="is not where a daemon locks itself up"):
        undo.undo(record("chroot", path="/"))
    assert Path("/etc").exists()


def test_where_a_daemon_locks_itself_up_stays_while_another_process_uses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that ended took /run/sshd from under the sshd of another one, which then reset each connection."""
    place = tmp_path / "daemon"
    monkeypatch.setattr(undo, "CHROOTS", (str(place),))
    first = undo.record_chroot(place)
    place.mkdir()
    second = undo.record_chroot(place)
    assert undo.undo(*first) == [] and place.exists()
    assert undo.undo(*second) == [f"removed {place}"] and not place.exists()
    place.mkdir()
    assert undo.record_chroot(place) == []

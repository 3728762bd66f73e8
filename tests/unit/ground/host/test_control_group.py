"""Which control groups can limit a disk, from texts of hosts, and what is said where none can."""

from __future__ import annotations

from pathlib import Path

import pytest

from keisoku.errors import EngineError
from keisoku.ground.host import disk_limit
from keisoku.ground.host.control_group import ControlGroup, disk_of, find_hierarchy
from keisoku.ground.host.disk_limit import DiskLimit

V1 = "33 32 0:28 / /sys/fs/cgroup/blkio rw,relatime - cgroup cgroup rw,blkio\n"
OTHER = "34 32 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"


def test_version_1_is_found_by_its_controller() -> None:
    found = find_hierarchy(OTHER + V1, "8:cpu:/x\n7:blkio:/jobs/1\n0::/\n")
    assert found is not None
    assert (found.version, found.root) == (1, Path("/sys/fs/cgroup/blkio"))
    assert found.home == Path("/sys/fs/cgroup/blkio/jobs/1")


@pytest.mark.parametrize(("controllers", "version"), [("cpu io memory", 2), ("hugetlb", None)])
def test_version_2_needs_the_controller_io(tmp_path: Path, controllers: str, version: int | None) -> None:
    (tmp_path / "cgroup.controllers").write_text(controllers)
    found = find_hierarchy(f"30 23 0:26 / {tmp_path} rw - cgroup2 cgroup2 rw,nsdelegate\n", "0::/user.slice/a\n")
    assert (found and found.version) == version
    if found is not None:
        assert found.home == tmp_path / "user.slice/a"


def test_where_nothing_can_limit_a_disk_one_sentence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_hierarchy(OTHER, "8:cpu:/x\n") is None
    assert disk_of(Path("/proc")) is None
    with pytest.raises(EngineError, match="/proc is on no disk of this host that can be limited"):
        DiskLimit(Path("/proc"), read_bps=1e6).__enter__()
    monkeypatch.setattr(disk_limit, "disk_of", lambda path: "8:0")
    monkeypatch.setattr(disk_limit, "find_hierarchy", lambda mounts, places: None)
    with pytest.raises(EngineError, match="no control groups with the controller io"):
        DiskLimit(tmp_path, read_bps=1e6).__enter__()


def test_a_partition_has_the_number_of_its_disk(tmp_path: Path) -> None:
    number = tmp_path.stat().st_dev
    name = f"{number >> 8 & 0xFFF}:{number & 0xFF}"
    disk, part = tmp_path / "sda", tmp_path / "sda/sda1"
    part.mkdir(parents=True)
    (disk / "dev").write_text("8:0\n")
    (part / "dev").write_text(f"{name}\n")
    (part / "partition").write_text("1\n")
    (tmp_path / name).symlink_to(part)
    assert disk_of(tmp_path, tmp_path) == "8:0"


def test_no_other_group_is_removed(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="is not a control group of keisoku"):
        ControlGroup(tmp_path / "system.slice", tmp_path, 2).remove()

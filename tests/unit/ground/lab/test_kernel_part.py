"""Which parts a kernel can load, by the list that depmod made."""

from __future__ import annotations

from pathlib import Path

from keisoku.ground.lab.device.kernel_part import loadable


def test_modules_are_known_by_their_names_however_they_are_packed(tmp_path: Path) -> None:
    lines = (
        "kernel/net/sched/sch_netem.ko.xz:",
        "kernel/drivers/net/vrf.ko: kernel/net/a.ko",
        "extra/xfrm-interface.ko.zst:",
    )
    (tmp_path / "modules.dep").write_text("\n".join(lines))
    assert loadable(tmp_path) == {"sch_netem", "vrf", "xfrm_interface"}
    assert loadable(tmp_path / "absent") == frozenset()

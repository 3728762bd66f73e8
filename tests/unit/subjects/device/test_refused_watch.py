"""What is said where the kernel refuses the programs that watch it."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest

from keisoku.errors import PlanError
from keisoku.subjects.device.engine import drop_watch, hop_watch

INSTALL = Path(__file__).parents[4] / "docs/install.md"


@pytest.mark.parametrize("module", [drop_watch, hop_watch])
def test_a_refused_watch_asks_for_no_older_linux_than_keisoku_needs(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It asked for 5.5 and was refused by 5.10, whose verifier knows no atomic addition that answers (5.12)."""

    def refuses(*ports: object) -> None:
        raise RuntimeError("the kernel's verifier refuses it: BPF_STX uses reserved fields")

    monkeypatch.setattr(module, "CoreWatch", refuses)
    (needed,) = re.findall(r"Linux (\d+\.\d+) or newer", INSTALL.read_text())
    watch = drop_watch.DropWatch if module is drop_watch else hop_watch.HopWatch
    with pytest.raises(PlanError, match=f"reserved fields; run it as root on Linux {needed} or newer with BTF"):
        watch([])

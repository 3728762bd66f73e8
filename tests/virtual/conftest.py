"""Where there is no virtual kernel, its tests are skipped: `make test-virtual` builds it."""

from __future__ import annotations

import pytest

from keisoku.ground.virtual_kernel.build import is_built


@pytest.fixture(autouse=True)
def _kernel() -> None:
    if not is_built():
        pytest.skip("there is no virtual kernel: 'keisoku vlab kernel' builds it")

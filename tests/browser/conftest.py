"""One headless browser for all pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.chromium import CHROMIUM, DRIVER, started


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if not (CHROMIUM and DRIVER):
        pytest.skip("needs chromium and chromedriver (Debian: chromium chromium-driver)")
    driver = started(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()

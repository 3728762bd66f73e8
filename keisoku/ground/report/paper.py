"""A page as a PDF, by Chromium, which lays it out as it does when a reader prints it. It asks no network at all."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from keisoku.errors import KeisokuError, excerpt

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
"""Programs that print alike."""
PATIENCE_S = 120
_FLAGS = (
    "--headless=new",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--no-pdf-header-footer",
)


def printed(html: str) -> bytes:
    """The page on A4 or letter, as the browser is set up. Raises KeisokuError if no browser is there or it fails."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        raise KeisokuError("--format pdf: Chromium makes it, and is not there; install it: sudo apt install chromium")
    with TemporaryDirectory(prefix="keisoku-pdf-") as folder:
        page, made = Path(folder) / "report.html", Path(folder) / "report.pdf"
        page.write_text(html, encoding="utf-8")
        # Chromium's own sandbox refuses root; the page is keisoku's own, and its policy forbids every request.
        own = ["--no-sandbox"] if os.geteuid() == 0 else []
        words = [browser, *_FLAGS, *own, f"--user-data-dir={folder}/profile", f"--print-to-pdf={made}", page.as_uri()]
        try:
            ended = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        except subprocess.TimeoutExpired as error:
            raise KeisokuError(f"--format pdf: {browser} did not end within {PATIENCE_S} s; try again") from error
        if not made.is_file():
            said = excerpt(ended.stderr.strip().splitlines()[-1] if ended.stderr.strip() else "it said nothing")
            raise KeisokuError(f"--format pdf: {browser} made none: {said}; print report.html with a browser instead")
        return made.read_bytes()

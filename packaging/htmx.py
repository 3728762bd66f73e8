"""Fetches htmx (0BSD licence), of a locked version and checksum, by npm, for the page of `keisoku serve`."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VERSION = "2.0.11"
SHA512 = "Thx/WtpeOQqSrqBCw/A1cwGJGg4UrVa3+sW0GmrM3p4gJgO89ecH4qtbnyzDDWFvBTqjnIMCgELTNt636dtamA=="
"""As `npm view htmx.org@VERSION dist.integrity` shows it."""
MEMBER = "package/dist/htmx.min.js"
TARGET = Path(__file__).parents[1] / "keisoku/faces/service/web/static/htmx.min.js"


def main() -> int:
    """Writes the script, unless it is there in this version."""
    if TARGET.is_file() and f'version:"{VERSION}"' in TARGET.read_text(encoding="utf-8"):
        return 0
    with tempfile.TemporaryDirectory() as folder:
        options = ["--loglevel=error", "--ignore-scripts", "--pack-destination", folder]
        try:
            ended = subprocess.run(
                ["npm", "pack", *options, f"htmx.org@{VERSION}"],
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
            )
        except FileNotFoundError:
            print("keisoku: npm is not installed, which fetches htmx", file=sys.stderr)
            return 1
        except subprocess.TimeoutExpired:
            print("keisoku: npm did not fetch htmx in two minutes", file=sys.stderr)
            return 1
        archives = list(Path(folder).glob("*.tgz"))
        if ended.returncode != 0 or len(archives) != 1:
            print(f"keisoku: npm does not fetch htmx: {' '.join(ended.stderr.split())[:200]}", file=sys.stderr)
            return 1
        if base64.b64encode(hashlib.sha512(archives[0].read_bytes()).digest()).decode() != SHA512:
            print(f"keisoku: htmx {VERSION} is not what was locked; it is not used", file=sys.stderr)
            return 1
        with tarfile.open(archives[0]) as files:
            script = files.extractfile(MEMBER)
            assert script is not None, MEMBER
            TARGET.write_bytes(script.read())
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Fetches htmx (0BSD licence), of a locked version and checksum, for the page of `keisoku serve`."""

from __future__ import annotations

import base64
import hashlib
import io
import sys
import tarfile
import urllib.request
from pathlib import Path

VERSION = "2.0.11"
SHA512 = "Thx/WtpeOQqSrqBCw/A1cwGJGg4UrVa3+sW0GmrM3p4gJgO89ecH4qtbnyzDDWFvBTqjnIMCgELTNt636dtamA=="
"""As `npm view htmx.org@VERSION dist.integrity` shows it."""
ARCHIVE = f"https://registry.npmjs.org/htmx.org/-/htmx.org-{VERSION}.tgz"
MEMBER = "package/dist/htmx.min.js"
TARGET = Path(__file__).parents[1] / "keisoku/service/web/static/htmx.min.js"
MOST_BYTES = 4 << 20


def main() -> int:
    """Writes the script, unless it is there in this version."""
    if TARGET.is_file() and f'version:"{VERSION}"' in TARGET.read_text(encoding="utf-8"):
        return 0
    try:
        with urllib.request.urlopen(ARCHIVE, timeout=60) as answer:
            archive = answer.read(MOST_BYTES)
    except OSError as error:
        print(f"keisoku: {ARCHIVE}: {error}", file=sys.stderr)
        return 1
    if base64.b64encode(hashlib.sha512(archive).digest()).decode() != SHA512:
        print(f"keisoku: {ARCHIVE} is not what was locked; it is not used", file=sys.stderr)
        return 1
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        script = files.extractfile(MEMBER)
        assert script is not None, MEMBER
        TARGET.write_bytes(script.read())
    return 0


if __name__ == "__main__":
    sys.exit(main())

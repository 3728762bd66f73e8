"""A certificate for a server on loopback, which clients can trust by itself, and a file of tokens."""

from __future__ import annotations

import subprocess
from pathlib import Path


def self_signed(folder: Path) -> tuple[Path, Path]:
    """PEM files of the certificate and of its key."""
    certificate, key = folder / "c.pem", folder / "k.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"),
            *("-days", "1", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    return certificate, key


def token_file(folder: Path, *lines: str) -> Path:
    """Lines NAME:TOKEN, which only the owner may read."""
    tokens = folder / "tokens"
    tokens.write_text("".join(f"{line}\n" for line in lines))
    tokens.chmod(0o600)
    return tokens

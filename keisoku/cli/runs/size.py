"""Sizes of files in words."""

from __future__ import annotations

_UNITS = ("B", "kB", "MB", "GB", "TB")


def size_text(size_bytes: float) -> str:
    """Three digits and a unit: '12 B', '1.23 MB'."""
    unit = 0
    while size_bytes >= 999.5 and unit < len(_UNITS) - 1:
        size_bytes, unit = size_bytes / 1000, unit + 1
    return f"{size_bytes:.3g} {_UNITS[unit]}"

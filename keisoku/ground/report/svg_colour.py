"""Colours of a static picture: the names that plots use, in shades that suit light and dark pages."""

from __future__ import annotations

from collections.abc import Sequence

_DEVICES = ("#0072b2", "#d55e00", "#009e73", "#b0508a", "#2f8fd0", "#c79100")
_SIZES = ("#7b5ea7", "#3b6fb5", "#21918c", "#4fb856", "#d2b200")
_HEAT = ("#440154", "#3b528b", "#21918c", "#5ec962", "#fde725")
_MUTED = "#848b96"
HEAT_STEPS = 5
"""Shades by which a legend shows the colours of cells."""


def colour(name: str | None) -> tuple[str, float]:
    """A name of `keisoku/ground/report/plot.py` as a shade and its opacity; any other text is a shade itself."""
    if name is None:
        return _MUTED, 1.0
    if not name.startswith("@"):
        return name, 1.0
    kind, *more = name[1:].split(":")
    if kind == "device":
        return _DEVICES[int(more[0]) % len(_DEVICES)], float(more[1]) if len(more) > 1 else 1.0
    if kind == "size":
        position, sizes = int(more[0]), int(more[1])
        return _between(_SIZES, position / (sizes - 1) if sizes > 1 else 0.0), 1.0
    return _MUTED, 1.0


def themed(name: str | None) -> tuple[str, float]:
    """As `colour`, with its opacity, in the shade of the page around the picture if that has one (`style.css`)."""
    shade, opacity = colour(name)
    if name and name.startswith("@device"):
        return f"var(--device-{int(name.split(':')[1]) % len(_DEVICES)},{shade})", opacity
    return (f"var(--muted,{shade})", opacity) if shade == _MUTED else (shade, opacity)


def heat(share: float) -> str:
    """The shade of a cell by its value's position (0 to 1) between the smallest and the largest."""
    return _between(_HEAT, share)


def _between(shades: Sequence[str], share: float) -> str:
    at = min(max(share, 0.0), 1.0) * (len(shades) - 1)
    low = min(int(at), len(shades) - 2)
    one, other = (_channels(shade) for shade in shades[low : low + 2])
    mixed = (round(a + (b - a) * (at - low)) for a, b in zip(one, other, strict=True))
    return f"rgb({','.join(map(str, mixed))})"


def _channels(shade: str) -> list[int]:
    return [int(shade[at : at + 2], 16) for at in (1, 3, 5)]

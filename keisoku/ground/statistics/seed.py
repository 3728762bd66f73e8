"""Seeds of the parts of a whole that has one: trials of a run, runs of a repetition. Draws nothing itself.

A part must not have the seed of another whole's part, or runs with neighbouring seeds would be made of the same trials.
"""

from __future__ import annotations

DEFAULT = 1
"""Of whatever is asked for without a seed."""
_GOLDEN, _ALL = 0x9E37_79B9_7F4A_7C15, 2**64 - 1


def mixed(seed: int, index: int) -> int:
    """The seed of the part of this number, below 2^63 as TOML needs it: SplitMix64's output of that number (Steele,
    Lea and Flood, OOPSLA 2014), begun at what it makes of the whole's seed."""
    return _finished(_finished(seed & _ALL) + (index + 1) * _GOLDEN & _ALL) >> 1


def _finished(state: int) -> int:
    state = (state ^ state >> 30) * 0xBF58_476D_1CE4_E5B9 & _ALL
    state = (state ^ state >> 27) * 0x94D0_49BB_1331_11EB & _ALL
    return state ^ state >> 31

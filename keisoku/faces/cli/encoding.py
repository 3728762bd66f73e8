"""What a stream cannot encode is written in letters that it can: on no terminal does a text end in an error.

It changes standard output and standard error of the process, and no file.
"""

from __future__ import annotations

import codecs
import io
import sys

_NAME = "keisoku.readable"
_ASCII = "keisoku_ascii"
"""ASCII by a name that click does not know: to a stream of the known name it writes UTF-8, which nobody could read."""
_INSTEAD = str.maketrans(
    {
        "…": "...",
        "–": "-",
        "—": "-",
        "−": "-",
        "⁻": "-",
        "±": "+-",
        "×": "x",
        "·": "-",
        "µ": "u",
        "μ": "u",
        "√": "sqrt ",
        "“": '"',
        "”": '"',
        "≈": "~",
        "≤": "<=",
        "≥": ">=",
        "→": "->",
        "§": "#",  # of a clause, and of a mark beside a figure
        **dict.fromkeys("▏▎▍▌▋▊▉█▂▃▄▅▆▇", "#"),
        "▁": "_",
        "✓": "+",
        "✗": "!",
        "✅": "[ok]",
        "❌": "[failed]",
        "⚠": "[warning]",
        "\ufe0f": "",
        "†": "(+)",
        "‡": "(++)",
        "¶": "(p)",
        "α": "alpha",
        "δ": "delta",
        "Δ": "Delta",
        "ρ": "rho",
        "σ": "sigma",
        "Σ": "Sigma",
        "τ": "tau",
        "χ": "chi",
    }
)


def write_all() -> None:
    """From now on both streams write every text, also names of files that are in no encoding at all."""
    codecs.register_error(_NAME, _written)
    codecs.register(_named)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            is_ascii = codecs.lookup(stream.encoding).name == "ascii"
            stream.reconfigure(encoding=_ASCII if is_ascii else None, errors=_NAME)


def can_write(text: str) -> bool:
    """Whether both streams have these letters, and not others instead."""
    try:
        for stream in (sys.stdout, sys.stderr):
            text.encode(getattr(stream, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _named(name: str) -> codecs.CodecInfo | None:
    if name != _ASCII:
        return None
    known = codecs.lookup("ascii")
    return codecs.CodecInfo(*known, known.incrementalencoder, known.incrementaldecoder, name=_ASCII)


def _written(error: UnicodeError) -> tuple[str, int]:
    """Each letter by itself: as above, without its accent, else by its number."""
    assert isinstance(error, UnicodeEncodeError)
    from unicodedata import normalize  # of no use to whoever has UTF-8

    found = ""
    for letter in error.object[error.start : error.end]:
        plain = letter.translate(_INSTEAD)
        if not plain.isascii():
            parts = normalize("NFKD", letter)
            plain = parts.translate(_INSTEAD).encode("ascii", "ignore").decode()
            plain = plain or parts.encode("ascii", "backslashreplace").decode()
        found += plain
    return found, error.end

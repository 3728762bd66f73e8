"""Files as broken disks, broken editors and tired people leave them: seeded changes of texts and of bytes."""

from __future__ import annotations

from random import Random

ODD = (
    "",
    "0",
    "-1",
    "1e400",
    "1e308",
    "1e-308",
    "nan",
    "-inf",
    "9" * 400,
    "true",
    "[]",
    "{}",
    "[[[[[[",
    '""',
    '"\\u0000"',
    '"64"',
    '"xdp:lo"',
    "[1, 'a', {}]",
    "1979-05-27T07:32:00Z",
    "{ a = { b = { c = 1 } } }",
)
"""Values in place of those of a file of TOML: wrong kinds, and the ends of the right ones."""
_CHARACTERS = "\x00\n\t \"'=[]{}#,.-+eE09xé計\ufeff"


def malformed(text: str, chance: Random) -> str:
    """A file of TOML with one to three mistakes; by chance it may still be right."""
    for _ in range(chance.randint(1, 3)):
        text = chance.choice(_MISTAKES)(text, chance)
    return text


def damaged(content: bytes, chance: Random) -> bytes:
    """The bytes of a file after a fault: cut off, one bit changed, a stretch of zeros or of noise."""
    if not content:
        return chance.randbytes(chance.randint(1, 50))
    at = chance.randrange(len(content))
    kind = chance.choice(("cut", "cut", "bit", "zeros", "noise"))
    if kind == "cut":
        return content[:at]
    if kind == "bit":
        return content[:at] + bytes([content[at] ^ (1 << chance.randrange(8))]) + content[at + 1 :]
    count = min(chance.randint(1, 4096), len(content) - at)
    return content[:at] + (bytes(count) if kind == "zeros" else chance.randbytes(count)) + content[at + count :]


def _another_value(text: str, chance: Random) -> str:
    lines = text.split("\n")
    settings = [number for number, line in enumerate(lines) if "=" in line and not line.startswith("#")]
    if settings:
        number = chance.choice(settings)
        lines[number] = f"{lines[number].split('=', 1)[0]}= {chance.choice(ODD)}"
    return "\n".join(lines)


def _another_name(text: str, chance: Random) -> str:
    lines = text.split("\n")
    number = chance.randrange(len(lines))
    lines[number] = chance.choice("abz_-. ") + lines[number]
    return "\n".join(lines)


def _moved_line(text: str, chance: Random) -> str:
    lines = text.split("\n")
    lines.insert(chance.randrange(len(lines)), lines.pop(chance.randrange(len(lines))))
    return "\n".join(lines)


def _line_twice(text: str, chance: Random) -> str:
    lines = text.split("\n")
    lines.insert(chance.randrange(len(lines)), chance.choice(lines))
    return "\n".join(lines)


def _cut(text: str, chance: Random) -> str:
    return text[: chance.randrange(len(text) + 1)]


def _character(text: str, chance: Random) -> str:
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice(_CHARACTERS) + text[at + chance.randint(0, 1) :]


_MISTAKES = (_another_value, _another_value, _another_name, _moved_line, _line_twice, _cut, _character)

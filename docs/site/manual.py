"""Pages of the manual, one for each command, in the language of man(7): for `make wheel` and `make deb`.

`python docs/site/manual.py DIRECTORY` writes them there, and `python docs/site/manual.py WHEEL…` into finished wheels,
from which pip installs them into share/man. click-man has no pages of commands that are loaded when they are used.
"""

from __future__ import annotations

import base64
import hashlib
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import click
from generated import command_of, context_of, paragraphs

from keisoku.faces.cli.main import GROUPS

_FOLDER = "data/share/man/man1"


def pages() -> dict[str, str]:
    """The text of each page by the name of its file: 'keisoku-path-one-packet.1'."""
    return {f"{'-'.join(['keisoku', *words])}.1": page(words) for words in _all([])}


def page(words: list[str]) -> str:
    """The page of a command; that of `keisoku` itself for no words."""
    command, context = command_of(words), context_of(words)
    title = "-".join(["keisoku", *words])
    (_, first), *rest = paragraphs(command.help or "")
    lines = [
        f'.TH {_escaped(title.upper())} 1 "" "keisoku {version("keisoku")}" "keisoku manual"',
        ".SH NAME",
        rf"{_escaped(title)} \- {_escaped(first.partition('. ')[0].rstrip('.'))}",
        ".SH SYNOPSIS",
        rf"\fB{_escaped(' '.join(['keisoku', *words]))}\fR {_escaped(' '.join(command.collect_usage_pieces(context)))}",
        ".SH DESCRIPTION",
        *_text(first),
    ]
    for is_code, text in rest:
        lines += [".PP", *(_code(text) if is_code else _text(text))]
    records = [option.get_help_record(context) for option in command.get_params(context)]
    if options := [record for record in records if record is not None and record[1]]:
        lines.append(".SH OPTIONS")
        for names, meaning in options:
            lines += [".TP", rf"\fB{_escaped(names)}\fR", *_text(meaning)]
    if isinstance(command, click.Group):
        lines.append(".SH COMMANDS")
        for heading, names in ({"": command.list_commands(context)} if words else GROUPS).items():
            lines += [f".SS {_escaped(heading)}"] if heading else []
            for name in names:
                inner = command.get_command(context, name)
                assert inner is not None, "it stands in the list of commands"
                lines += [".TP", rf"\fB{_escaped('-'.join([title, name]))}\fR(1)"]
                lines += _text(inner.get_short_help_str(limit=1000))
    if words:
        lines += [".SH SEE ALSO", rf"\fB{_escaped('-'.join(['keisoku', *words[:-1]]))}\fR(1)"]
    return "\n".join(lines) + "\n"


def write(folder: Path) -> None:
    """All pages into this folder, which is made if there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


def add_to_wheel(wheel: Path) -> None:
    """All pages into a wheel, which lists them like its other files."""
    made = wheel.with_suffix(".part")
    stem = "-".join(wheel.name.split("-")[:2])
    record = f"{stem}.dist-info/RECORD"
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        own = f"{stem}.data/{_FOLDER}/"
        for entry in old.infolist():
            if entry.filename != record and not entry.filename.startswith(own):
                new.writestr(entry, old.read(entry), zipfile.ZIP_DEFLATED)
        listed = [line for line in old.read(record).decode().splitlines() if not line.startswith(own)]
        for name, text in pages().items():
            content = text.encode()
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            new.writestr(zipfile.ZipInfo(f"{own}{name}"), content, zipfile.ZIP_DEFLATED)
            listed.insert(-1, f"{own}{name},sha256={digest},{len(content)}")
        new.writestr(old.getinfo(record), "\n".join(listed) + "\n", zipfile.ZIP_DEFLATED)
    made.replace(wheel)


def _all(words: list[str]) -> Iterator[list[str]]:
    yield words
    command = command_of(words)
    if isinstance(command, click.Group):
        for name in command.list_commands(context_of(words)):
            yield from _all([*words, name])


def _text(text: str) -> list[str]:
    """One paragraph: troff breaks its lines by itself."""
    return [_escaped(" ".join(text.split()))]


def _code(text: str) -> list[str]:
    return [".RS 4", ".nf", *(_escaped(line) for line in text.splitlines()), ".fi", ".RE"]


def _escaped(text: str) -> str:
    r"""Text that troff takes as it stands: a line that begins with a dot would be a request, and - a hyphen."""
    found = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{found}" if found[:1] in (".", "'") else found


if __name__ == "__main__":
    for given in map(Path, sys.argv[1:]):
        if given.suffix == ".whl":
            add_to_wheel(given)
        else:
            write(given)

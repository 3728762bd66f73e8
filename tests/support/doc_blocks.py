"""Code blocks of the documentation, with what each says that it needs.

The word after a block's language says how it is tried:

    (none)    it runs as it stands, in `make test`
    long      it runs, in `make test-docs`
    lab       it runs there as root, beside ports eth1 to eth4 of a bridge and a host far.example (192.0.2.7)
    install   it runs in a clean Debian (packaging/test_install.py)
    hours, hosts, hardware, shown
              it is not run: it takes hours, needs hosts, files or runs of the reader, or hardware, or is a part of
              something; its syntax and every option are checked
    device, network, plan, ports, study, system
              a TOML file of that kind: it is read
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import generated

from keisoku.faces.cli.main import keisoku

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path for pattern in ("*.md", "docs/**/*.md", "benchmarks/*.md", "fpga/board/**/*.md") for path in ROOT.glob(pattern)
)
RUN = ("", "long", "lab")
CHECKED = ("hours", "hosts", "hardware", "shown", "install")
FILES = ("device", "network", "plan", "ports", "study", "system")
PLAIN = ("text", "console")
_FENCE = re.compile(r"^( *)```(.*)$")


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    page: str
    line: int
    language: str
    needs: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks(path: Path, fill: bool = False) -> list[Block]:
    """Those of a page; with `fill` also those that the site generates."""
    text = path.read_text(encoding="utf-8")
    lines = (generated.filled(text) if fill else text).splitlines()
    found, at = [], 0
    while at < len(lines):
        if begin := _FENCE.match(lines[at]):
            indent, info = begin.groups()
            end = next(place for place in range(at + 1, len(lines)) if lines[place] == f"{indent}```")
            words = [*info.split(), "", ""]
            inside = "\n".join(line.removeprefix(indent) for line in lines[at + 1 : end])
            page = path.relative_to(ROOT).as_posix()
            found.append(Block(page, at + 1, words[0], words[1], inside + "\n"))
            at = end
        at += 1
    return found


def commands(text: str) -> Iterator[list[str]]:
    """The words behind each `keisoku` of a shell block or a console."""
    whole = ""
    for line in text.replace("\\\n", " ").splitlines():
        whole += f" {line.removeprefix('$ ').strip()}"
        try:
            words = shlex.split(whole, comments=True)
        except ValueError:  # a quotation goes on in the next line
            continue
        whole = ""
        while "keisoku" in words:
            words = words[words.index("keisoku") + 1 :]
            ends = [place for place, word in enumerate(words) if word in ("||", "&&", "|", ";", ">", "&", "do", "done")]
            yield words[: min(ends, default=len(words))]


def check(words: list[str]) -> None:
    """Reads a command line as the command would, without carrying it out. Raises click.UsageError."""
    command: click.Command = keisoku
    context = click.Context(command, info_name="keisoku")
    while isinstance(command, click.Group):
        name = words[0] if words else ""
        inner = command.get_command(context, name)
        if inner is None:
            raise click.UsageError(f"there is no command {name!r} of {context.command_path}")
        words, command = words[1:], inner
        context = click.Context(command, info_name=name, parent=context, **command.context_settings)
    if getattr(command, "ignore_unknown_options", False) or command.context_settings.get("ignore_unknown_options"):
        return
    command.make_parser(context).parse_args(list(words))

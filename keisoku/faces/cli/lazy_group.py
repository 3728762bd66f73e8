"""A group that imports a command when it is used, so that neither a command nor the list of all waits for the imports
of others."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NamedTuple

import click

from keisoku.running.measurement.table import MODULES

_SENTENCE = 300
"""Characters of the longest first sentence: none is cut."""


class Place(NamedTuple):
    """Where a command is."""

    module: str
    """Its variable `command` is the command."""
    sentence: str
    """The first of the command's help, without the full stop."""


class LazyGroup(click.Group):
    """`places` has the commands by name.

    `measurements` is the first word of those entries of the table of measurements that are commands of this group, and
    `sentences` has the first sentence of the help of each.
    """

    def __init__(
        self,
        *settings: Any,
        places: Mapping[str, Place],
        measurements: str = "",
        sentences: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(*settings, **more)
        self._places, self._measurements, self._sentences = dict(places), measurements, dict(sentences or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Measurements in the order of the table, then the other commands by name."""
        return [*self._measured(), *sorted({*super().list_commands(ctx), *self._places})]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name; None if there is none."""
        if cmd_name in self._measured():
            from keisoku.faces.cli import measuring

            return measuring.command(f"{self._measurements} {cmd_name}")
        if cmd_name not in self._places:
            return super().get_command(ctx, cmd_name)
        command = import_module(self._places[cmd_name].module).command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it; a name that is none is refused with the nearest one."""
        name, names = args[0], self.list_commands(ctx)
        if name not in names and (near := get_close_matches(name, names, 1)):
            ctx.fail(f"No such command '{name}' (did you mean '{near[0]}'?)")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each with the first sentence of its help."""
        self.write_commands(formatter, "Commands", {name: self.sentence(ctx, name) for name in self.list_commands(ctx)})

    def write_commands(self, formatter: click.HelpFormatter, title: str, sentences: Mapping[str, str]) -> None:
        """A section of the help, whose lines are folded alike in all sections."""
        with formatter.section(title):
            formatter.write_dl(list(sentences.items()))

    def sentence(self, ctx: click.Context, name: str) -> str:
        """The first of a command's help, without loading the command where it is known."""
        if name in self._places:
            return self._places[name].sentence
        if name in self._sentences:
            return self._sentences[name]
        command = self.get_command(ctx, name)
        assert command is not None, "it stands in the list of commands"
        return command.get_short_help_str(limit=_SENTENCE)

    def _measured(self) -> list[str]:
        group = f"{self._measurements} "
        return [name.removeprefix(group) for name in MODULES if self._measurements and name.startswith(group)]

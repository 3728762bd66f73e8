"""A group that imports a command when it is used, so that no command waits for the imports of others."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """`modules` has the module of each command by name; the module's `command` is the command.

    `measurements` is the first word of those entries of the table of measurements that are commands of this group.
    """

    def __init__(self, *settings: Any, modules: Mapping[str, str], measurements: str = "", **more: Any) -> None:
        super().__init__(*settings, **more)
        self._modules, self._measurements = dict(modules), measurements

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Measurements in the order of the table, then the other commands by name."""
        return [*self._measured(), *sorted({*super().list_commands(ctx), *self._modules})]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name; None if there is none."""
        if cmd_name in self._measured():
            from keisoku.cli import measuring

            return measuring.command(f"{self._measurements} {cmd_name}")
        if cmd_name not in self._modules:
            return super().get_command(ctx, cmd_name)
        command = import_module(self._modules[cmd_name]).command
        assert isinstance(command, click.Command)
        return command

    def _measured(self) -> list[str]:
        if not self._measurements:
            return []
        from keisoku.cli import measuring

        return measuring.names(self._measurements)

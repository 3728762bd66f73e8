"""`keisoku app`: the group of commands about whole systems of servers and clients. It holds no command itself.

Its commands load what searches and simulates, which takes longer than most commands need to start: so each is imported
when it is called, not before.
"""

from __future__ import annotations

from importlib import import_module

import click

COMMANDS = {"load": "app_load", "limit": "app_limit", "govern": "app_govern", "analyse": "app_analyse"}
"""Modules of keisoku.cli by the command that they hold as `command`."""


class _Commands(click.Group):
    """Commands that are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"keisoku.cli.{COMMANDS[cmd_name]}").command
        return command


@click.group("app", cls=_Commands)
def command() -> None:
    """Measures whole systems of servers and clients, and finds the limit in the network that serves them best."""

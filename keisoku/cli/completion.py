"""`keisoku completion`: the script with which a shell completes commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Prints the script with which SHELL completes commands and options of keisoku.

    \b
    eval "$(keisoku completion bash)"
    eval "$(keisoku completion zsh)"
    keisoku completion fish >~/.config/fish/completions/keisoku.fish
    """
    found = get_completion_class(shell)
    assert found is not None, "click knows all three"
    click.echo(found(context.find_root().command, {}, "keisoku", "_KEISOKU_COMPLETE").source())

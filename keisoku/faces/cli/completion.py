"""`keisoku completion`: the script with which a shell completes commands, options and values."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")
_BASH = """\
_keisoku_completion() {
    local kind word
    COMPREPLY=()
    while IFS=, read -r kind word; do
        if [[ $kind == file ]]; then
            compopt -o default
        else
            COMPREPLY+=("$word")
        fi
    done < <(_KEISOKU_COMPLETE=bash_complete COMP_LINE="${COMP_LINE:0:COMP_POINT}" "$1" 2>/dev/null)
}
complete -o nosort -F _keisoku_completion keisoku"""
"""Not click's, which hands over the words that bash made: it cuts xdp:eth1 at the colon."""


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Prints the script with which SHELL completes commands, options, devices, ports and studies of keisoku.

    \b
    eval "$(keisoku completion bash)"
    eval "$(keisoku completion zsh)"
    keisoku completion fish >~/.config/fish/completions/keisoku.fish
    """
    found = get_completion_class(shell)
    assert found is not None, "click knows all three"
    script = (
        found(context.find_root().command, {}, "keisoku", "_KEISOKU_COMPLETE").source() if shell != "bash" else _BASH
    )
    click.echo(script)

"""Writes keisoku/faces/cli/words.json, from which shells complete, from the commands.

Run `python packaging/completion_words.py` after a change of commands or options.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import click

from keisoku.faces.cli.completing import FILE, FLAG, MANY, MEASUREMENT, PORT, TEXT
from keisoku.faces.cli.main import keisoku as group
from keisoku.faces.cli.measuring import MeasuringCommand
from keisoku.ground.lab.device.catalogue import FAMILIES
from keisoku.ground.simulated_device.device import list_devices
from keisoku.running.measurement.table import DEVICE, MODULES, OF_RUNS
from keisoku.running.study.file import shipped
from keisoku.subjects.device.record.interference import PortEngine
from keisoku.subjects.device.table import PROCEDURES

FOUND = Path(__file__).parents[1] / "keisoku" / "faces" / "cli" / "words.json"
_KINDS = {
    "dut": "device",
    "tx": PORT,
    "rx": PORT,
    "ports": PORT,
    "device": "lab",
    "name": "study",
    "words": MEASUREMENT,
}
"""Of options and arguments by the name of their parameter, where they have a metavar of `_METAVARS` or none."""
_METAVARS = ("URI", "PORT", "PORTS", "PORT...", "STUDY", "COMMAND…", None)


def words() -> dict[str, Any]:
    """What `keisoku/faces/cli/completing.py` reads."""
    tree = _node(group, click.Context(group, **group.context_settings))
    procedures = [tree["commands"][each.command] for each in PROCEDURES.values()]
    others = [_of(tree, name) for name in MODULES if name not in (DEVICE, *OF_RUNS)]
    shared = {}
    for name, nodes in (("procedure", procedures), ("measurement", others)):
        common = set.intersection(*({*node["options"].items()} for node in nodes))
        shared[name] = {option: kind for option, kind in nodes[0]["options"].items() if (option, kind) in common}
        for node in nodes:
            node["shared"] = name
            node["options"] = {each: kind for each, kind in node["options"].items() if (each, kind) not in common}
    experiments = dict.fromkeys(name.partition("-")[0] for name in shipped())
    return {
        "values": {
            "device": [
                *(f"lab:{kind}" for kind in FAMILIES),
                *(f"sim:{device.name}" for device in list_devices()),
            ],
            "engine": list(get_args(PortEngine)),
            "lab": list(FAMILIES),
            "study": list(dict.fromkeys([*experiments, *shipped()])),
            MEASUREMENT: sorted(
                {name.split()[0] for name, node in tree["commands"].items() if _measures(name)} | {"run"}
            ),
        },
        "shared": shared,
        "commands": tree,
    }


def text() -> str:
    """The file: an option a line."""
    return json.dumps(words(), ensure_ascii=False, indent=1) + "\n"


def _of(tree: dict[str, Any], name: str) -> dict[str, Any]:
    for word in name.split():
        tree = tree["commands"][word]
    return tree


def _measures(name: str) -> bool:
    command = group.get_command(click.Context(group), name)
    if isinstance(command, click.Group):
        inner = click.Context(command)
        return any(
            isinstance(command.get_command(inner, each), MeasuringCommand) for each in command.list_commands(inner)
        )
    return isinstance(command, MeasuringCommand)


def _node(command: click.Command, context: click.Context) -> dict[str, Any]:
    # Not `get_params`: click keeps the option for help that it made first, with the names that it had then.
    params = [each for each in command.params if not getattr(each, "hidden", False)]
    helping = command.get_help_option_names(context)
    found: dict[str, Any] = {
        "help": command.get_short_help_str(limit=200),
        "options": {
            name: _kind(each)
            for each in params
            if isinstance(each, click.Option)
            for name in (*each.opts, *each.secondary_opts)
        }
        | {name: FLAG for name in context.help_option_names if name in helping},
    }
    if arguments := [
        _kind(each) + (MANY if each.nargs == -1 else "") for each in params if isinstance(each, click.Argument)
    ]:
        found["arguments"] = arguments
    if isinstance(command, click.Group):
        inner = {name: command.get_command(context, name) for name in command.list_commands(context)}
        found["commands"] = {
            name: _node(each, click.Context(each, parent=context)) for name, each in inner.items() if each is not None
        }
    return found


def _kind(param: click.Parameter) -> str:
    if isinstance(param, click.Option) and (param.is_flag or param.count):
        return FLAG
    if isinstance(param.type, click.Choice):
        return "|".join(map(str, param.type.choices))
    if isinstance(param.type, click.Path) or "FILE" in (param.metavar or ""):
        return FILE
    is_text = param.metavar in _METAVARS and param.type in (click.STRING, click.UNPROCESSED)
    return _KINDS.get(str(param.name), TEXT) if is_text else TEXT


if __name__ == "__main__":
    FOUND.write_text(text(), encoding="utf-8")

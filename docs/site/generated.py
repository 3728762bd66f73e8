"""What the site says by itself of measurements and commands, as Markdown: from the table of measurements and the
parser.

A page has a mark, `<!-- generated: measurement throughput -->` or `<!-- generated: commands Switches -->`, which
`filled` replaces.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import Literal, get_args, get_origin

import clauses
import click
from pydantic import BaseModel

from keisoku.faces.cli.help_sections import FIRST
from keisoku.faces.cli.main import GROUPS
from keisoku.faces.cli.main import keisoku as group
from keisoku.ground.lab.device.catalogue import KINDS
from keisoku.ground.lab.device.device import LabDevice
from keisoku.ground.run.settings import docstrings
from keisoku.ground.simulated_device.device import SECTIONS, SimulatedDevice, list_devices
from keisoku.running.measurement.plan_values import DEVICE
from keisoku.running.measurement.table import MODULES, OF_RUNS, find
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.record.queries import QUERIES
from keisoku.subjects.device.table import PROCEDURES

MARK = re.compile(r"<!-- generated: (\w+) (.*?) -->")
_CODE = "\b"
"""Before a paragraph of a command's help that keeps its lines: its examples."""
_PAGES = Path(__file__).parents[1]
_NARROW_PX = 380
_LISTS = ("Options of procedures", "Options of other measurements")


def filled(text: str, picture: Callable[..., str] = lambda *_: "") -> str:
    """A page with its marks replaced; `picture` makes that of a measurement, of a width in pixels, which takes seconds.

    Raises KeyError for a mark of something that does not exist.
    """
    makers: dict[str, Callable[[str], str]] = {
        "pictures": lambda names: side_by_side([picture(name, _NARROW_PX) for name in names.split()]),
        "measurement": lambda name: measurement(name, picture(name)),
        "commands": commands,
        "options": shared_options,
        "pages": pages,
        "devices": lab_devices,
        "procedures": procedures,
        "simulated": simulated,
        "queries": lambda _: queries(),
        "clauses": lambda _: clauses.table(),
    }
    return MARK.sub(lambda mark: makers[mark[1]](mark[2]), text)


def side_by_side(pictures: Sequence[str]) -> str:
    """Pictures in one row, or below each other where the window is narrow."""
    columns = "display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(18rem,1fr))"
    return f'<div style="{columns}">\n{"".join(pictures)}\n</div>'


def names() -> list[str]:
    """All measurements of the table, procedures by the names of their commands."""
    return [*_commands_of_procedures(), *(name for name in MODULES if name != DEVICE)]


def _commands_of_procedures() -> list[str]:
    return [each.command for each in PROCEDURES.values()]


def page_name(measurement: str) -> str:
    """The file of a measurement's page, without its ending."""
    return measurement.replace(" ", "-")


def measurement(name: str, picture: str = "") -> str:
    """The frame of reference of a measurement: what stands in the table, a picture of a result, its settings, those
    that people use first, and how it proceeds."""
    procedure = next((each for each in PROCEDURES.values() if each.command == name), None)
    command = command_of(name.split())
    lines = _procedure(procedure) if procedure else _entry(name)
    own = _own(command)
    by_name = {option.name: option for option in command.params if option not in own}
    first = [by_name[name] for name in FIRST if name in by_name]
    return "\n".join(
        [
            *lines,
            "",
            *([picture, ""] if picture else []),
            *("### Settings that people use first", "", *_options(first), ""),
            *("### Settings of its own", "", *_options(own), ""),
            "All others: [options that measurements share](../commands/options.md).",
            "",
        ]
    )


def pages(named: str) -> str:
    """Those of the named pages of docs/ that there are, for a navigation."""
    return "\n".join(name for name in named.split() if (_PAGES / f"{name}.md").exists())


def procedures(standard: str) -> str:
    """All procedures, or those of a standard, with their pages."""
    lines = ["| procedure | standard | ports | what it measures |", "|---|---|---|---|"]
    for each in PROCEDURES.values():
        if standard == "all" or each.standard.startswith(f"{standard} "):
            link = f"[`{each.command}`](measurements/{each.command}.md)"
            lines.append(f"| {link} | {_cell(each.standard)} | {_least(each)} | {_cell(each.summary)} |")
    return "\n".join(lines)


def simulated(part: str) -> str:
    """Models or keys of simulated devices."""
    return {"models": device_models, "keys": device_keys}[part]()


def device_models() -> str:
    """The simulated devices that come with keisoku, and the line of each."""
    lines = ["| name | device | ports | ns/byte | constant ns | largest frame |", "|---|---|---:|---:|---:|---:|"]
    for each in list_devices():
        title, line = _cell(f"{each.maker} {each.title}"), each.forwarding
        numbers = f"{each.ports} | {line.ns_per_byte:g} | {line.constant_ns:g} | {each.max_frame_bytes or '–'}"
        lines.append(f"| `{each.name}` | {title} | {numbers} |")
    return "\n".join(lines)


def device_keys() -> str:
    """All keys of a device file, by section."""
    told, top = docstrings(SimulatedDevice), SimulatedDevice.model_fields
    names = {field.alias or key: key for key, field in top.items()}
    lines: list[str] = []
    first: dict[type[BaseModel], str] = {}
    for section, kind in SECTIONS.items():
        key = names.get(section, "")
        header = f"[[{section}]]" if key and get_origin(top[key].annotation) is list else f"[{section}]"
        if kind in first:
            lines += [f"**`{header}`**: as `{first[kind]}`.", ""]
            continue
        first[kind] = header
        if section:
            meaning = " ".join(f"{inspect.getdoc(kind)} {told.get(key, '')}".split())
            lines += [f"**`{header}`**: {_escaped(meaning)}", ""]
        paths = {one: f"{section}.{field.alias or one}".strip(".") for one, field in kind.model_fields.items()}
        rows = [_key(kind, one) for one, path in paths.items() if path not in SECTIONS]
        lines += ["| key | default | meaning |", "|---|---|---|", *rows, ""]
    return "\n".join(lines).replace("; None: ", "; left out: ").replace("None: ", "Left out: ")


def _key(kind: type[BaseModel], name: str) -> str:
    field = kind.model_fields[name]
    default = "" if kind is SimulatedDevice else "needed"
    if not field.is_required():
        value = field.get_default(call_default_factory=True)
        default = "" if value in (None, {}) else f"`{json.dumps(value)}`"
    choices = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
    values = " or ".join(f"`{json.dumps(each)}`" for each in choices)
    meaning = _cell(f"{docstrings(kind).get(name, '')} {values}")
    return f"| `{field.alias or name}` | {default} | {meaning} |"


def queries() -> str:
    """All named queries about frames, with their parameters and columns."""
    lines: list[str] = []
    for name, query in QUERIES.items():
        lines += [f"### `{name}`", "", f"`{name}({query.parameters})`", ""]
        lines += ["| column | meaning |", "|---|---|"]
        lines += [f"| `{column}` | {meaning} |" for column, meaning in query.columns.items()]
        lines.append("")
    return "\n".join(lines)


def commands(title: str) -> str:
    """All commands of a group of `keisoku --help`, with the commands of each."""
    lines: list[str] = []
    for name in GROUPS[title]:
        lines += _reference([name], 2)
    return "\n".join(lines)


def shared_options(title: str) -> str:
    """Options that all procedures have, or all other measurements."""
    place = _LISTS.index(title)
    found, example = _shared()[place], command_of(_kinds()[place][0].split())
    return "\n".join(_options([option for option in example.params if option.name in found]))


def lab_devices(_: str) -> str:
    """All devices of the lab in their groups: how each is written, what it is, its ports, its parts of the kernel."""
    lines: list[str] = []
    for title, devices in KINDS.items():
        rows = [(f"`{_written(device)}`", _about(device)) for device in devices]
        lines += [f"**{title[0].upper()}{title[1:]}**", "", *_table(("device", "what it is"), rows), ""]
    return "\n".join(lines)


def _written(device: type[LabDevice]) -> str:
    return f"{device.family}?{device.parameters}" if device.parameters else device.family


def _about(device: type[LabDevice]) -> str:
    ports = f"{2 if device.most_ports == 2 else f'2–{device.most_ports}'} ports."
    parts = ", ".join(f"{part.module} ({part.option})" for part in device.parts)
    needs = f" Needs {parts}." if parts else ""
    return f"{(inspect.getdoc(device) or '').splitlines()[0]} {ports}{needs}"


def _procedure(procedure: Procedure) -> list[str]:
    facts = [
        ("Command", f"`keisoku {procedure.command}`"),
        ("In a plan, in Python", f"`{procedure.name}`"),
        ("Standard", procedure.standard),
        ("Figure of a criterion that names none", f"`{procedure.figure}`"),
        ("Ports", _ports(procedure)),
        ("Frame sizes if none are given", procedure.sizes or "those of RFC 2544"),
    ]
    if procedure.simulated_sizes:
        facts.append(("the same of a simulated device", procedure.simulated_sizes))
    if procedure.searches:
        facts.append(("Load if none is given", "the throughput, which it searches for first"))
    if procedure.needs:
        facts.append(("The engine must be able to", ", ".join(need.replace("_", " ") for need in procedure.needs)))
    example = ["", *_example(procedure.example)] if procedure.example else []
    how = [
        "",
        "### How it proceeds",
        "",
        _paragraphs(inspect.getdoc(import_module(procedure.generator.__module__)) or ""),
    ]
    return [procedure.summary, "", *_table(("", ""), facts), *example, *how]


def _ports(procedure: Procedure) -> str:
    least = _least(procedure)
    return f"{least}; which sends to which is part of the procedure" if procedure.own_flows else least


def _least(procedure: Procedure) -> str:
    return f"{procedure.least_ports}{', or a multiple' if procedure.ports_in_blocks else ' or more'}"


def _entry(name: str) -> list[str]:
    entry = find(name)
    facts = [
        ("Command", f"`keisoku {name}`"),
        ("In Python", f"`ks.{name}(…)`" if name in ("ab", "bisect") else f'`ks.measure("{name}", …)`'),
        ("Figure of a criterion that names none", f"`{entry.figure}`"),
        ("An interrupted run goes on with `keisoku run --resume`", "yes" if entry.resumes else "no"),
        ("The server carries it out", "yes" if entry.from_afar else "no"),
    ]
    return [entry.summary, "", *_table(("", ""), facts), "", *_help(entry.help)]


def _reference(words: list[str], level: int) -> Iterator[str]:
    """A command, then the commands of a group."""
    command = command_of(words)
    context = context_of(words)
    yield from (f"{'#' * level} keisoku {' '.join(words)}", "")
    usage = " ".join(command.collect_usage_pieces(context))
    yield from ("```text", f"{context.command_path} {usage}", "```", "")
    yield from _help(command.help or "")
    yield from ("", *_options(_own(command)), "")
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from _reference([*words, name], level + 1)


def _own(command: click.Command) -> list[click.Parameter]:
    """Options of a command besides those that all measurements of its kind have."""
    known = {option.name for option in command.params}
    shared = next((names for names in _shared() if names <= known), set())
    return [option for option in command.params if option.name not in shared and not getattr(option, "hidden", False)]


@cache
def _shared() -> tuple[set[str], set[str]]:
    """Names of the options of all procedures, and of all other measurements."""
    first, second = (
        set.intersection(*({str(option.name) for option in command_of(name.split()).params} for name in kind))
        for kind in _kinds()
    )
    return first - {"duration"}, second


def _kinds() -> tuple[list[str], list[str]]:
    """Commands of all procedures, and of all other measurements."""
    return list(_commands_of_procedures()), [name for name in MODULES if name not in (DEVICE, *OF_RUNS)]


def _options(options: Iterable[click.Parameter]) -> list[str]:
    rows = []
    for option in options:
        if record := option.get_help_record(click.Context(group)):
            rows.append((f"`{record[0]}`", record[1]))
    return _table(("option", "meaning"), rows) if rows else ["It has none."]


def paragraphs(text: str) -> list[tuple[bool, str]]:
    """Those of a command's help; True before one that keeps its lines: its examples."""
    found = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        is_code = paragraph.startswith(_CODE)
        kept = dedent(paragraph.removeprefix(_CODE).lstrip("\n")) if is_code else " ".join(paragraph.split())
        found.append((is_code, kept))
    return found


def _help(text: str) -> list[str]:
    """A command's help: examples become code."""
    lines: list[str] = []
    for is_code, paragraph in paragraphs(text):
        lines += [*(_example(paragraph) if is_code else [_escaped(paragraph)]), ""]
    return lines


def _example(text: str) -> list[str]:
    """Commands, whose options a test checks, or other text that keeps its lines."""
    return [f"```{'sh shown' if text.startswith('keisoku') else 'text'}", text, "```"]


def _paragraphs(text: str) -> str:
    """A docstring as paragraphs."""
    return "\n\n".join(_escaped(" ".join(part.split())) for part in re.split(r"\n\s*\n", text))


def _table(head: tuple[str, str], rows: Iterable[tuple[str, str]]) -> list[str]:
    cells = [f"| {_cell(first)} | {_cell(second)} |" for first, second in rows]
    return [f"| {head[0]} | {head[1]} |", "|---|---|", *cells]


def _cell(text: str) -> str:
    text = text if text.startswith("`") else _escaped(text)
    return " ".join(text.split()).replace("|", "\\|")


def _escaped(text: str) -> str:
    """Words that Markdown would take for marks, outside code."""
    parts = text.split("`")
    parts[::2] = [re.sub(r"([*_<\[])", r"\\\1", part) for part in parts[::2]]
    return "`".join(parts)


def command_of(words: Iterable[str]) -> click.Command:
    """The command of these words. Raises KeyError if there is none."""
    found: click.Command = group
    for word in words:
        assert isinstance(found, click.Group)
        inner = found.get_command(click.Context(found), word)
        if inner is None:
            raise KeyError(word)
        found = inner
    return found


def context_of(words: list[str]) -> click.Context:
    """Of that command, with those of its groups."""
    context = click.Context(group, info_name="keisoku")
    for at in range(len(words)):
        context = click.Context(command_of(words[: at + 1]), info_name=words[at], parent=context)
    return context

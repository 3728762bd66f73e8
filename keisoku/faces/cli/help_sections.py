"""The help of a command with many options: those that people use first, and all of them by section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill

import click

from keisoku.running.measurement import setting_order

_OUTPUT = ("dry_run", "out", "as_json", "verbose", "plain", "lang")
FIRST = (*setting_order.FIRST, "dry_run", "out", "as_json")
"""Parameters in the order in which people need them."""
MANY = 30
"""A command of fewer options shows them all."""
SECTIONS: Mapping[str, tuple[str, ...]] = {
    title: (*names, *(_OUTPUT if title == setting_order.RECORDS else ()))
    for title, names in setting_order.SECTIONS.items()
}
"""What is in none of them is the measurement's own (`OWN`)."""
OWN = setting_order.OWN
_ALL = "keisoku.all_options"
"""In the context of a command whose whole help is asked for."""


class ManyOptions(click.Command):
    """Its help has the first options, and `--help-all` has all of them, if there are many."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """With `--help-all` before `--help`, where that shows less."""
        found = super().get_params(ctx)
        if len(found) < MANY:
            return found
        return [*found[:-1], _help_all(), found[-1]]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options of the command."""
        records = {
            param: record for param in self.get_params(ctx) if (record := param.get_help_record(ctx)) is not None
        }
        if len(records) < MANY:
            super().format_options(ctx, formatter)
        elif ctx.meta.get(_ALL):
            for title, params in _sections(list(records)).items():
                _write(formatter, title, [records[param] for param in params])
        else:
            by_name = {param.name: param for param in records}
            first = [by_name[name] for name in FIRST if name in by_name]
            own = [param for param in _sections(list(records))[OWN] if param not in first]
            _write(formatter, "Options", [records[param] for param in first])
            names = " ".join(param.opts[0] for param in own)
            formatter.write("\n")
            for line in (
                f"Of this measurement alone: {names}" if own else "",
                f"All {len(records)} options: {ctx.command_path} --help-all",
            ):
                if line:
                    formatter.write(fill(line, formatter.width, break_on_hyphens=False) + "\n")


def _sections(params: Sequence[click.Parameter]) -> dict[str, list[click.Parameter]]:
    """All of them by section, the measurement's own first."""
    place = {name: title for title, names in SECTIONS.items() for name in names}
    found: dict[str, list[click.Parameter]] = {OWN: [], **{title: [] for title in SECTIONS}}
    for param in params:
        is_help = "--help" in param.opts or "--help-all" in param.opts
        found[setting_order.RECORDS if is_help else place.get(param.name or "", OWN)].append(param)
    return found


def _write(formatter: click.HelpFormatter, title: str, records: Sequence[tuple[str, str]]) -> None:
    if records:
        with formatter.section(title):
            formatter.write_dl(records)


def _help_all() -> click.Option:
    return click.Option(
        ["--help-all"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_show_all,
        help="Show all options, by section, and exit.",
    )


def _show_all(ctx: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()

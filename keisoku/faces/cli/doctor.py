"""`keisoku doctor`: what this machine can measure, and what stands in the way, with the command that mends it."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress

import click

from keisoku.errors import PlanError
from keisoku.faces.cli import interruption
from keisoku.faces.cli.exit_code import FAILED
from keisoku.faces.cli.folding import fold
from keisoku.faces.cli.lang import LANG
from keisoku.ground.host.checkup.finding import Finding
from keisoku.language import join_texts, phrase, plural, translated

_MARKS = {"good": "✓", "note": "·", "problem": "✗"}


@click.command("doctor", context_settings={"allow_interspersed_args": False})
@click.option("--fix", is_flag=True, help="mend what is safe to change, and set it back at the end")
@LANG
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[COMMAND]")
def command(fix: bool, command: tuple[str, ...]) -> None:
    """Says what this machine can measure, what would distort a measurement, and how to fix that.

    With --fix, pause frames and Energy-Efficient Ethernet are turned off (not at the port of the default route) and the
    CPUs' governor is set to 'performance', while COMMAND runs; without a COMMAND until Ctrl-C. All is then set back as
    it was found; what a killed process left, the next command that needs root sets back, or 'keisoku clean'.

    The exit code is 2 if a problem remains.

    \b
    keisoku doctor
    keisoku doctor --fix keisoku throughput --tx eth1 --rx eth2
    """
    if command and not fix:
        raise PlanError("COMMAND", f"'{command[0]}' is run with --fix only", "write --fix before it, or leave it out")
    from keisoku.ground.host.checkup.machine import machine_findings
    from keisoku.subjects.device.testbed.device_checkup import (  # with netlink: not for help
        device_findings,
        first_measurement,
    )
    from keisoku.subjects.device.testbed.host_port_list import list_ports
    from keisoku.subjects.device.testbed.port_checkup import port_findings

    ports = list_ports()
    findings = [*device_findings(ports), *machine_findings(), *port_findings(ports)]
    for about in dict.fromkeys(finding.about for finding in findings):
        click.echo(translated(about))
        for finding in findings:
            if finding.about == about:
                click.echo(_lines(finding))
    problems = [finding for finding in findings if finding.grade == "problem"]
    if not fix:
        click.echo(translated(summary(findings)))
        click.echo(translated(phrase("to begin: {command}", command=first_measurement(ports))))
        sys.exit(FAILED if problems else 0)
    sys.exit(_mended(findings, command))


def _lines(finding: Finding) -> str:
    text = fold(join_texts("", ["  ", _MARKS[finding.grade], " ", finding.said]), sys.stdout, indent="    ")
    # Not folded, so that a command can be copied.
    return f"{text}\n      {translated(finding.remedy)}" if finding.remedy else text


def summary(findings: list[Finding]) -> str:
    """How many findings there are that somebody has to know of; 'no problem' only where there is none."""
    problems = sum(finding.grade == "problem" for finding in findings)
    mendable = sum(finding.mend is not None for finding in findings)
    notes = sum(finding.grade == "note" for finding in findings)
    found = []
    if problems:
        found.append(plural("{count} problem", "{count} problems", count=problems))
    if notes:
        found.append(
            plural(
                "{count} finding limits what a figure can say (marked ·)",
                "{count} findings limit what a figure can say (marked ·)",
                count=notes,
            )
        )
    said = join_texts("; ", found) if found else phrase("no problem")
    if not mendable:
        return said
    return phrase("{said}; --fix repairs {mendable} of them while a command runs", said=said, mendable=mendable)


def _mended(findings: list[Finding], command: tuple[str, ...]) -> int:
    from keisoku.ground.host import undo
    from keisoku.ground.host.checkup.mending import mend

    entries = mend(findings)
    try:
        for finding in findings:
            if finding.mend is not None:
                click.echo(translated(phrase("mended: {about}: {said}", about=finding.about, said=finding.mend.said)))
        if command:
            try:
                return subprocess.run(command, check=False).returncode
            except OSError as error:
                raise PlanError(
                    "COMMAND", f"{command[0]} cannot be run: {error.strerror}", "check its spelling and its path"
                ) from error
        kept = phrase("kept until Ctrl-C") if entries else phrase("there is nothing that --fix may change")
        click.echo(translated(kept))
        if entries:
            with suppress(KeyboardInterrupt):
                interruption.wait()
        return 0
    finally:
        for said in undo.undo(*entries):
            click.echo(translated(said))

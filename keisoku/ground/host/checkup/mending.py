"""Carries out what `Mend` says, with an entry in the journal before each change, so that all is set back at the end."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from keisoku.errors import EngineError
from keisoku.ground.host import undo
from keisoku.ground.host.checkup.finding import Finding
from keisoku.ground.host.governor import governors, set_governors
from keisoku.ground.host.interface import Interface, change, line_settings


def mend(findings: Iterable[Finding]) -> list[Path]:
    """Mends all that can be; returns the entries of the journal. Raises EngineError if the host refuses a change, after
    what was done before it has been set back."""
    entries: list[Path] = []
    undo.undo_left()
    for finding in findings:
        if finding.mend is None:
            continue
        try:
            entries.append(_carried_out(finding))
        except EngineError:
            undo.undo(*entries)
            raise
    return entries


def _carried_out(finding: Finding) -> Path:
    assert finding.mend is not None
    key, wanted = finding.mend.key, finding.mend.wanted
    if key == "governor":
        before = governors()
        entry = undo.record("governors", before=before)
        set_governors(dict.fromkeys(before, str(wanted)))
        return entry
    interface = Interface.find(finding.about, None)
    entry = undo.record("settings", interface=vars(interface), before={key: line_settings(interface.name)[key]})
    change(interface.name, {key: int(wanted)})
    return entry

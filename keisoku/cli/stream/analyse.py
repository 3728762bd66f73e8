"""`keisoku stream analyse`: the result and report of a run made again from its raw data, without measuring."""

from __future__ import annotations

from keisoku.cli.analysing import Analyses
from keisoku.stream import run as stream_run
from keisoku.stream.file import run as file_run

ANALYSES = Analyses(
    {
        **dict.fromkeys(stream_run.KINDS.values(), stream_run.analyse),
        file_run.KIND: file_run.analyse,
    }
)

command = ANALYSES.command()

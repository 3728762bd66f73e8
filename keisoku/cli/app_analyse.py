"""`keisoku app analyse`: the result and report of a run made again from its intervals, without measuring."""

from __future__ import annotations

from keisoku.application import govern_observation, govern_run, limit_observation, limit_run
from keisoku.cli.analysing import Analyses
from keisoku.client_load import load_analysis, load_run

ANALYSES = Analyses(
    {
        limit_run.KIND: limit_observation.analyse,
        govern_run.KIND: govern_observation.analyse,
        load_run.KIND: load_analysis.analyse,
    }
)

command = ANALYSES.command()

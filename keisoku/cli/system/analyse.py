"""`keisoku app analyse`: the result and report of a run made again from its intervals, without measuring."""

from __future__ import annotations

from keisoku.cli.analysing import Analyses
from keisoku.system.govern import analysis as govern_observation
from keisoku.system.govern import run as govern_run
from keisoku.system.load import analysis as load_analysis
from keisoku.system.load import run as load_run
from keisoku.system.search import analysis as limit_observation
from keisoku.system.search import run as limit_run

ANALYSES = Analyses(
    {
        limit_run.KIND: limit_observation.analyse,
        govern_run.KIND: govern_observation.analyse,
        load_run.KIND: load_analysis.analyse,
    }
)

command = ANALYSES.command()

"""`keisoku path analyse`: the result and report of a run made again from its raw data, without measuring."""

from __future__ import annotations

from keisoku.cli.analysing import Analyses
from keisoku.path import (
    delay,
    delay_run,
    one_packet,
    one_packet_run,
    pair_analysis,
    pair_run,
    source_comparison,
    source_run,
)

ANALYSES = Analyses(
    {
        one_packet.KIND: one_packet_run.analyse,
        pair_analysis.KIND: pair_run.analyse,
        delay.KIND: delay_run.analyse,
        source_comparison.KIND: source_run.analyse,
    }
)

command = ANALYSES.command()

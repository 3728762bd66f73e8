"""`keisoku path analyse`: the result and report of a run made again from its raw data, without measuring."""

from __future__ import annotations

from keisoku.cli.analysing import Analyses
from keisoku.path.one_packet import analysis as one_packet
from keisoku.path.one_packet import run as one_packet_run
from keisoku.path.packet_pair import analysis as pair_analysis
from keisoku.path.packet_pair import run as pair_run
from keisoku.path.sources import analysis as source_comparison
from keisoku.path.sources import run as source_run
from keisoku.path.stamp import run as delay_run
from keisoku.path.stamp import sender as delay

ANALYSES = Analyses(
    {
        one_packet.KIND: one_packet_run.analyse,
        pair_analysis.KIND: pair_run.analyse,
        delay.KIND: delay_run.analyse,
        source_comparison.KIND: source_run.analyse,
    }
)

command = ANALYSES.command()

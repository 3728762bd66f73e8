"""What a person reads of a run: HTML with plots, tables on a terminal, CSV.

Computes no figure of a result and never changes one; it only shows.
"""

from keisoku.report.csv import write_csv
from keisoku.report.html import Criterion, render_html
from keisoku.report.text import print_results

__all__ = ["Criterion", "print_results", "render_html", "write_csv"]

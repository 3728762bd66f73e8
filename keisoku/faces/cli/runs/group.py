"""`keisoku runs`: the group of commands about the kept runs of a laboratory. It holds no command itself."""

from __future__ import annotations

import click

from keisoku.faces.cli.lazy_group import LazyGroup, Place


@click.group(
    "runs",
    cls=LazyGroup,
    measurements="runs",
    sentences={
        "import": "Keeps the published results of CSIT, NFVbench or TRex as a run, so that others can be compared with"
        " them.",
    },
    places={
        "list": Place("keisoku.faces.cli.runs.list", "Lists the runs of FOLDER, the newest first."),
        "show": Place(
            "keisoku.faces.cli.runs.show", "Shows what RUN is and holds, and which of its files are damaged."
        ),
        "compare": Place(
            "keisoku.faces.cli.compare", "Compares RUNS of the same measurement; or one run with an earlier one."
        ),
        "prune": Place("keisoku.faces.cli.runs.prune", "Removes old runs of FOLDER, after it has shown which."),
    },
)
def command() -> None:
    """Lists, shows, compares, imports and removes the kept runs of a laboratory."""

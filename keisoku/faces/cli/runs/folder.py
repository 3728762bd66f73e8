"""The folder that `keisoku runs list` and `prune` look at."""

from __future__ import annotations

from pathlib import Path

from keisoku.errors import PlanError
from keisoku.ground.host.text_file import unreadable
from keisoku.ground.run.directory import RUNS

_REMEDY = "give a folder that holds directories of runs"


def checked(folder: Path) -> Path:
    """The folder, if it can be looked into. Raises PlanError otherwise, or if it is a run.

    That of runs without --out need not be there yet.
    """
    try:
        next(folder.iterdir(), None)
    except FileNotFoundError as error:
        if folder != RUNS:
            raise PlanError("FOLDER", f"there is no {folder}", _REMEDY) from error
    except NotADirectoryError as error:
        raise PlanError("FOLDER", f"{folder} is a file", _REMEDY) from error
    except OSError as error:
        raise unreadable("FOLDER", folder, error) from error
    if (folder / "plan.toml").is_file():
        raise PlanError("FOLDER", f"{folder} is a run itself", "give the folder that it is in, or use 'runs show'")
    return folder

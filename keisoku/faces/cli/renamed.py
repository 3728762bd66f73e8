"""Options that have a new name: the error for an old name gives the new one."""

from __future__ import annotations

GO_ON = "'keisoku run --resume DIRECTORY'"
RENAMED = {
    "--trials": "--repetitions",
    "--repeats": "--repetitions",
    "--samples": "--repetitions",
    "--blocks": "--repetitions",
    "--most-runs": "--most-repetitions",
    "--sizes": "--size",
    "--least-runs": "--repetitions",
    "--port": "--client",
    "--time": "--duration",
    "--for": "--duration",
    "--per-second": "--rate",
    "--resume": GO_ON,
}

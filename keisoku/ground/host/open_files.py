"""How many files, and so connections, this process may have open."""

from __future__ import annotations

import resource

from keisoku.errors import PlanError

_OTHERS = 1024
"""Files besides the connections."""


def allow_files(field: str, connections: int) -> None:
    """Every connection is an open file. Raises PlanError for `field` if the system does not allow as many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _OTHERS
    if soft != resource.RLIM_INFINITY and soft < wanted:
        if hard != resource.RLIM_INFINITY and hard < wanted:
            raise PlanError(
                field,
                f"{connections} connections need {wanted} open files, and this host allows a process {hard}",
                "use fewer of them, or allow more by 'ulimit -n'",
            )
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))

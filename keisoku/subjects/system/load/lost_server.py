"""Runs in which a server did not answer to the end: it was absent or unreachable, or it was lost in between.

Such a run says nothing about how fast the server is: it is in no rate, and its cause is told.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from keisoku.language import join_texts, phrase

SLICE_S = 0.1
_SILENT_S, _SILENT_SHARE = 0.5, 0.1
"""A server that has not answered for so long at the end of a run, and for that share of it, may be lost."""
_BY_CHANCE = 1e-9
"""Least probability with which answers that come at random times would all be in the part before."""
_FAILED = 0.5
"""For clients that do not report when answers came: this share of requests failed."""
_WORDS = {
    "refused": phrase("connections were refused"),
    "not_connected": phrase("connections could not be made"),
    "broken": phrase("connections broke"),
    "timed_out": phrase("requests timed out"),
    "timeout": phrase("requests timed out"),
    "malformed": phrase("answers were no HTTP"),
    "local": phrase("requests failed at this host, for lack of local ports for example"),
    "refusals": phrase("answers had an error status"),
    "failed": phrase("requests failed"),
    "given_up": phrase("requests had no answer when the run ended"),
}

Run = Mapping[str, Any]


def silent_since_s(run: Run, answers: Sequence[int]) -> float | None:
    """When the last answer came, in s since the run began, if the server was lost then; None if it was not.

    0: it never answered. `answers` are those of each tenth of a second, empty if the client does not report them.
    """
    if not run["completed"]:
        return 0.0
    took_s = (run["ended_ns"] - run["began_ns"]) / 1e9
    if not answers:
        failed = run["failed"] - json.loads(run["failures"]).get("refusals", 0)
        return took_s if failed > _FAILED * (failed + run["completed"]) else None
    last = max(place for place, count in enumerate(answers) if count)
    until_s = (last + 1) * SLICE_S
    silent_s = took_s - until_s
    if silent_s <= max(_SILENT_S, _SILENT_SHARE * took_s):
        return None
    by_chance = run["completed"] * math.log(until_s / took_s)
    return until_s if by_chance < math.log(_BY_CHANCE) else None


def cause(runs: Sequence[Run]) -> str:
    """What became of the requests instead: '1,204 connections were refused'."""
    why: dict[str, int] = {}
    for run in runs:
        for name, count in json.loads(run["failures"]).items():
            why[name] = why.get(name, 0) + count
        why["given_up"] = why.get("given_up", 0) + int(run["given_up"])
    said = [failures(name, count) for name, count in sorted(why.items()) if count]
    return join_texts(", ", said) if said else phrase("no request was sent")


def failures(name: str, count: int) -> str:
    """'1,204 connections were refused', by the name that a client's program gives to this failure."""
    return phrase("{count:,} {what}", count=count, what=_WORDS.get(name, name.replace("_", " ")))

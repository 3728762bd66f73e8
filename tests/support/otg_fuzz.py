"""Schemathesis against the server: with OTG's document and with keisoku's own. Whatever comes, no 5xx and no end.

    python tests/support/otg_fuzz.py --minutes 5 [--document openapi.yaml]

`--document` is OTG's own, of github.com/open-traffic-generator/models (artifacts/openapi.yaml); without it that of
`otg_document` is taken.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from copy import deepcopy
from pathlib import Path
from typing import Any

import schemathesis
import yaml
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from keisoku.faces.otg.control.controller import Controller
from keisoku.faces.otg.serving.server import Listening, Server
from keisoku.faces.service.openapi import openapi
from keisoku.faces.service.operation import BASE
from support.otg_document import document
from support.otg_server import key_of

_PLAN = ("phases", "seed")
_EXAMPLES = 5
OTG_CHECKS = [not_a_server_error]
OWN_CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


def requests_of(found: dict[str, Any]) -> list[Any]:
    """Of each operation of a document what can be sent to it: a strategy of Hypothesis. Making them takes a while."""
    operations: list[Any] = list(schemathesis.openapi.from_dict(found).get_all_operations())
    return [operation.ok().as_strategy() for operation in operations]


def fuzz(server: Server, requests: list[Any], checks: list[Any], examples: int, number: int = 0) -> Counter[int]:
    """Sends so many requests to each operation, with the server's key; answers by status. Raises what a check raises.

    The same `number` makes the same requests.
    """
    answers: Counter[int] = Counter()
    for request in requests:

        @seed(number)
        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
        )
        @given(case=request)
        def ask(case: Any) -> None:
            answer = case.call(base_url=server.url, headers=key_of(server), timeout=60)
            answers[answer.status_code] += 1
            case.validate_response(answer, checks=checks)

        ask()
    return answers


def own_document(run: str) -> dict[str, Any]:
    """keisoku's, narrowed to plans of which some can be measured, in a moment, and to a run that there is."""
    found = deepcopy(openapi())
    plan = found["components"]["schemas"]["Plan"]
    plan["properties"] = {name: plan["properties"][name] for name in _PLAN} | {
        "methods": {
            "type": "array",
            "items": {"enum": ["trial", "throughput"]},
            "minItems": 1,
            "maxItems": 2,
            "uniqueItems": True,
        },
        "dut": {"enum": ["sim:gs908e", "sim:sf4024fl", "sim:nothing", "gs908e"]},
        "frame_bytes": {"enum": [[64], [64, 1518], "imix", "64-128:32", [1]]},
        "headers": {"enum": ["ipv4", "ethernet", "Ether()/IP()/UDP()", "Ether("]},
        "require": {"enum": [[], ["trial.loss <= 1 %"], ["loss"]]},
        "trial": _only(trial_s=[-1, 0.001], rate_fps=[1, 1e5]),
        "throughput": _only(trial_s=[0.001]),
    }
    plan["required"] = ["methods", "dut", "trial", "throughput"]
    for path, methods in found["paths"].items():
        for operation in methods.values():
            for parameter in operation.get("parameters", []) if "{run}" in path else []:
                parameter["schema"] = {"enum": [run, "nobody"]}
    return found


def _only(**values: list[Any]) -> dict[str, Any]:
    properties = {name: {"enum": allowed} for name, allowed in values.items()}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def some_run(server: Server) -> str:
    """The name of a run that has been started."""
    plan = {"methods": ["trial"], "dut": "sim:gs908e", "frame_bytes": [64], "trial": {"trial_s": 0.001}}
    request = urllib.request.Request(f"{server.url}{BASE}/runs", json.dumps(plan).encode(), key_of(server))
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(json.load(answer)["run"])


def answers_still(url: str) -> bool:
    """Whether the server goes on."""
    with urllib.request.urlopen(f"{url}/capabilities/version", timeout=30) as answer:
        return bool(answer.status == 200)


def main() -> int:
    """Rounds of both documents until the time is over."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--document", type=Path)
    given_ = parser.parse_args()
    otg = document() if given_.document is None else yaml.safe_load(given_.document.read_text(encoding="utf-8"))
    totals: Counter[int] = Counter()
    number = 0
    with (
        tempfile.TemporaryDirectory() as folder,
        Server(Listening(http_port=0, grpc_port=None), Controller(runs=Path(folder))) as server,
    ):
        run = some_run(server)
        asked: list[tuple[list[Any], list[Any]]] = [
            (requests_of(otg), OTG_CHECKS),
            (requests_of(own_document(run)), OWN_CHECKS),
            (requests_of(openapi()), OWN_CHECKS),
        ]
        until = time.monotonic() + 60 * given_.minutes
        while time.monotonic() < until:
            for requests, checks in asked:
                totals += fuzz(server, requests, checks, _EXAMPLES, number)
            number += 1
            print(f"round {number}: {sum(totals.values())} requests, {dict(sorted(totals.items()))}", flush=True)
        alive = answers_still(server.url)
    print("answers still" if alive else "does not answer any more")
    return 0 if alive else 1


if __name__ == "__main__":
    sys.exit(main())

"""The network namespace of a container or a pod, by its name: asked of the container runtime's own command.

It starts and changes no container.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from keisoku.errors import PlanError

_FORM = re.compile(r"(?P<kind>container|pod):(?P<name>.*)")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
"""What runtimes allow; never an option of theirs."""
_PATIENCE_S = 20.0
CONTAINERS = ("docker", "podman", "nerdctl", "crictl", "crun", "runc")
PODS = ("crictl",)
"""Commands that know them, in the order in which they are asked."""


def namespace_of(text: str, field: str = "namespace") -> str:
    """The path of the namespace where `text` is container:NAME or pod:NAMESPACE/NAME; any other text unchanged.

    Raises PlanError naming `field`, with what to do where there is no runtime, or no such container that runs.
    """
    found = _FORM.fullmatch(text)
    if found is None:
        return text
    kind, name = found["kind"], found["name"]
    parts = name.split("/") if kind == "pod" else [name]
    if len(parts) != (2 if kind == "pod" else 1) or not all(_NAME.fullmatch(part) for part in parts):
        raise PlanError(field, f"'{text}' names no {kind}", "write container:NAME or pod:NAMESPACE/NAME")
    known = PODS if kind == "pod" else CONTAINERS
    runtimes = [one for one in known if shutil.which(one)]
    if not runtimes:
        problem = f"no runtime on this host knows {text}"
        raise PlanError(field, problem, f"install one of {', '.join(known)}, or name a namespace of 'ip netns'")
    for runtime in runtimes:
        for process in _processes(runtime, kind, parts):
            return f"/proc/{process}/ns/net"
    problem = f"no {kind} that runs is called {name} (asked: {', '.join(runtimes)})"
    raise PlanError(field, problem, "start it, correct its name, or run keisoku as the user who started it")


def _processes(runtime: str, kind: str, parts: list[str]) -> Iterator[int]:
    """The first process of the container or pod, if the runtime knows it and it runs."""
    for asked in _questions(runtime, kind, parts):
        with suppress(LookupError, TypeError, ValueError):
            told = json.loads(_said(runtime, *asked))
            process = int(_process_of(runtime, told))
            if process > 0:
                yield process


def _questions(runtime: str, kind: str, parts: list[str]) -> Iterator[tuple[str, ...]]:
    name = parts[-1]
    if kind == "pod":
        for one in _said(
            runtime, "pods", "--quiet", "--state", "ready", "--namespace", parts[0], "--name", f"^{name}$"
        ).split():
            yield "inspectp", one
    elif runtime == "crictl":
        for one in _said(runtime, "ps", "--quiet", "--state", "running", "--name", f"^{name}$").split():
            yield "inspect", one
    elif runtime in ("crun", "runc"):
        yield "state", name
    else:
        yield "container", "inspect", name


def _process_of(runtime: str, told: Any) -> Any:
    match runtime:
        case "crun" | "runc":
            return told["pid"]
        case "crictl":
            return told["info"]["pid"]
    return told[0]["State"]["Pid"]


def _said(*words: str) -> str:
    """What a command prints; nothing if it fails, as where it does not know the name or its daemon is not there."""
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_PATIENCE_S, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""

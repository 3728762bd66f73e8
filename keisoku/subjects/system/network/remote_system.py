"""Ports of another host over ssh, where keisoku is installed: this end (`RemoteSystem`), and the far one (`serve`).

The far end is a `NetworkSystem` with a journal and a guard of its own. It hears this end every second: when it hears
nothing for `PATIENCE_S` it lifts all limits and waits; when the connection or this process is gone it lifts them and
ends. One line of JSON for each request and answer.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import secrets
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from shlex import quote
from typing import Any, Self

from keisoku.errors import EngineError, KeisokuError, PlanError
from keisoku.subjects.system.load.ssh_hosts import SshHosts
from keisoku.subjects.system.network.net_file import NetFile, checked, governed_ports
from keisoku.subjects.system.network.network_system import NetworkSystem
from keisoku.subjects.system.observation import ClientView, Observation
from keisoku.subjects.system.shaping.guard import BEAT_S, PATIENCE_S
from keisoku.subjects.system.state import State

ALIVE = "."
READY_S, ANSWER_S = 30.0, 15.0
"""Beyond the interval that was asked for."""
_END_S = 5.0


class RemoteSystem:
    """A `System` (keisoku/subjects/system/system.py) of the ports that a file with a `host` names."""

    def __init__(self, file: NetFile) -> None:
        self._file = file
        self._stack = ExitStack()
        self._ports: dict[str, float] = {}
        self._facts: dict[str, Any] = {}
        self._writing = threading.Lock()
        self._over = threading.Event()
        self._child: subprocess.Popen[str] | None = None
        self._said: queue.Queue[str] = queue.Queue()

    @property
    def ports(self) -> Mapping[str, float]:
        """In bit/s, as the other host says; known once it is entered."""
        return self._ports

    def limit(self, limits: Mapping[str, float | None]) -> None:
        """In bit/s, at the other host."""
        self._ask({"limit": dict(limits)}, ANSWER_S)

    def observe(self, seconds: float) -> Observation:
        """By the other host's own clock. Raises EngineError if its keisoku is of another version."""
        told = self._ask({"observe": seconds}, seconds + ANSWER_S)
        try:
            clients = tuple(ClientView(**client) for client in told["clients"])
            return Observation(told["seconds"], clients, told["server_line_bps"])
        except (KeyError, TypeError) as error:
            raise EngineError(f"the keisoku at {self._file.host} is of another version: {error}") from error

    def now_s(self) -> float:
        """CLOCK_MONOTONIC."""
        return time.monotonic()

    def truth(self) -> State | None:
        """Unknown."""
        return None

    def facts(self) -> dict[str, Any]:
        """Those of the other host's ports, and which host that is."""
        return {**self._facts, "host": self._file.host, "title": self._file.title}

    def __enter__(self) -> Self:
        assert self._file.host
        config = Path(self._file.ssh_config) if self._file.ssh_config else None
        with ExitStack() as stack:
            hosts = stack.enter_context(SshHosts(config))
            token = f"keisoku-{secrets.token_hex(8)}"
            plan = self._file.model_dump_json(exclude_none=True, exclude={"host", "ssh_config"})
            text = (
                f"command -v keisoku >/dev/null || {{ echo '{token} missing'; exit 0; }}\n"
                f"exec keisoku system ports {token} {quote(plan)}"
            )
            self._begin(hosts.command(self._file.host, text), token)
            stack.callback(self._end)
            told = self._answer(READY_S)
            self._ports, self._facts = told["ports"], told["facts"]
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _begin(self, command: list[str], token: str) -> None:
        pipe = subprocess.PIPE
        # Of a session of its own: Ctrl-C is for us, and it ends when we let go of it.
        self._child = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, bufsize=1, start_new_session=True
        )
        for work in (self._beat, lambda: self._listen(token)):
            threading.Thread(target=work, daemon=True).start()

    def _end(self) -> None:
        child, self._child = self._child, None
        self._over.set()
        if child is None:
            return
        with contextlib.suppress(OSError):
            if child.stdin:
                child.stdin.close()
        try:
            # The far end has lifted its limits when it ends.
            child.wait(_END_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()

    def _ask(self, asked: Mapping[str, Any], patience_s: float) -> dict[str, Any]:
        self._write(json.dumps(asked))
        return self._answer(patience_s)

    def _answer(self, patience_s: float) -> dict[str, Any]:
        host = self._file.host
        try:
            line = self._said.get(timeout=patience_s)
        except queue.Empty:
            raise EngineError(f"{host} does not answer; the limits there are lifted") from None
        if line == "missing":
            raise PlanError("system", f"keisoku is not installed at {host}", "install it there, of the same version")
        if not line:
            words = self._child.stderr.read().strip().splitlines() if self._child and self._child.stderr else []
            raise EngineError(f"{host} was lost: {words[-1] if words else 'the connection is gone'}")
        told: dict[str, Any] = json.loads(line)
        if problem := told.get("error"):
            raise EngineError(f"{host}: {problem}")
        return told

    def _write(self, line: str) -> None:
        with self._writing, contextlib.suppress(OSError, ValueError):
            if self._child and self._child.stdin:
                self._child.stdin.write(f"{line}\n")
                self._child.stdin.flush()

    def _beat(self) -> None:
        while not self._over.wait(BEAT_S):
            self._write(ALIVE)

    def _listen(self, token: str) -> None:
        child = self._child
        assert child and child.stdout
        for line in child.stdout:
            # Text before our own is a login's greeting.
            if line.startswith(f"{token} "):
                self._said.put(line[len(token) + 1 :].strip())
        self._said.put("")


def serve(token: str, plan: str, tell: Callable[[str], None], source: int = 0) -> None:
    """Limits and observes as the lines from `source` ask, until there are no more; no limit is left."""
    asked: queue.Queue[dict[str, Any]] = queue.Queue()

    def say(told: Mapping[str, Any]) -> None:
        tell(f"{token} {json.dumps(told)}\n")

    try:
        with NetworkSystem(governed_ports(file := checked(json.loads(plan))), file.server_line_bps) as system:
            lock = threading.Lock()
            threading.Thread(target=_hear, args=(source, asked, system, lock), daemon=True).start()
            say({"ports": dict(system.ports), "facts": system.facts()})
            while True:
                request = asked.get()
                if "limit" in request:
                    with lock:
                        system.limit(request["limit"])
                    say({})
                else:
                    say(asdict(system.observe(request["observe"])))
    except KeisokuError as error:
        say({"error": str(error)})


def _hear(source: int, asked: queue.Queue[dict[str, Any]], system: NetworkSystem, lock: threading.Lock) -> None:
    """Requests, and the sign of life that must come between them."""
    waiting, lifted = b"", False
    while True:
        if not select.select([source], [], [], PATIENCE_S)[0]:
            if not lifted:
                with lock, contextlib.suppress(KeisokuError):
                    system.limit({})
            lifted = True
            continue
        heard = os.read(source, 1 << 16)
        if not heard:
            with lock:
                system.__exit__()
            sys.stdout.flush()
            # Whatever interval is being observed: nobody waits for it any more.
            os._exit(0)
        lifted = False
        *lines, waiting = (waiting + heard).split(b"\n")
        for line in lines:
            if line.strip() != ALIVE.encode():
                asked.put(json.loads(line))

"""keisoku's own client on another host: this end (`RemoteClient`), and the far one (`serve`: `keisoku system client`).

Both speak as a watched script does (keisoku/subjects/system/load/watched_script.py); the client's run is sent as JSON.
"""

from __future__ import annotations

import json
import os
import secrets
import select
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from shlex import quote
from typing import Any

from keisoku.errors import EngineError, PlanError
from keisoku.subjects.system.load.client_load import ClientLoad
from keisoku.subjects.system.load.client_run import ClientRun
from keisoku.subjects.system.load.own_client import OwnClient
from keisoku.subjects.system.load.ssh_hosts import SshHosts
from keisoku.subjects.system.load.watched_script import ALIVE, GO, SAID, SILENCE_S
from keisoku.subjects.system.load.watched_session import WatchedSession

_HEAD_START_S = 0.01
"""For its threads."""


class RemoteClient:
    """Ready from the start. Raises PlanError where keisoku is not installed, EngineError if the host is not reached."""

    def __init__(self, load: ClientLoad, hosts: SshHosts) -> None:
        load.check()
        assert load.ssh
        self._load = load
        token = f"keisoku-{secrets.token_hex(8)}"
        plan = json.dumps(asdict(replace(load, ssh=None, namespace=None, offset_s=0.0)))
        text = (
            f"command -v keisoku >/dev/null || {{ echo {token} missing; exit 0; }}\n"
            f"ulimit -S -n {load.connections + 1024} 2>/dev/null\n"
            f"exec keisoku system client {token} {quote(plan)}"
        )
        self._session = WatchedSession(hosts.command(load.ssh, text), token, f"keisoku of {load.name} at {load.ssh}")
        if not self._session.ready():
            raise PlanError(
                "with", f"keisoku is not installed at {load.ssh}", "install it there, or use ab, wrk or oha"
            )

    def begin(self, at_ns: int) -> None:
        """At that time of CLOCK_MONOTONIC."""
        self._session.begin(at_ns)

    def finish(self) -> ClientRun:
        """Waits for its end; its times by this host's clock. Raises EngineError if it failed."""
        ended = self._session.finish().succeeded(f"keisoku of {self._load.name}")
        return read(ended.said, ended.began_ns)

    def stop(self) -> None:
        """Ends it early, without figures."""
        self._session.stop()


def read(said: str, began_ns: int) -> ClientRun:
    """A run from its JSON, moved to where it began by the clock here. Raises EngineError if it is none."""
    try:
        told: dict[str, Any] = json.loads(said)
        told["latencies"] = tuple((int(low), int(high), int(count)) for low, high, count in told["latencies"])
        told["slices"] = tuple((int(requests), int(size)) for requests, size in told["slices"])
        found = ClientRun(**told)
        return replace(found, began_ns=began_ns, ended_ns=began_ns + found.ended_ns - found.began_ns)
    except (KeyError, TypeError, ValueError) as error:
        raise EngineError(f"the keisoku there is of another version: {error}") from error


def serve(token: str, plan: str, tell: Callable[[bytes], None], source: int = 0) -> None:
    """Carries out the plan's load at the command on `source`, and reports; ends when the connection is lost."""
    told = json.loads(plan)
    load = ClientLoad(**{**told, "paths": tuple((str(path), float(weight)) for path, weight in told["paths"])})
    client = OwnClient(load)
    tell(f"{token} ready\n".encode())
    while (word := _heard(source)) == ALIVE:
        pass
    if word != GO:
        return
    at_ns = time.monotonic_ns() + round(_HEAD_START_S * 1e9)
    client.begin(at_ns)
    time.sleep(_HEAD_START_S)
    tell(f"{token} begun\n".encode())
    threading.Thread(target=_watch, args=(source,), daemon=True).start()
    said = json.dumps(asdict(client.finish())).encode()
    tell(f"{token} file {SAID} {len(said)}\n".encode() + said + f"\n{token} ended 0\n".encode())


def _heard(source: int) -> bytes:
    """A word; empty at the end, or when none comes in time."""
    ready, _, _ = select.select([source], [], [], SILENCE_S)
    return os.read(source, 1) if ready else b""


def _watch(source: int) -> None:
    while _heard(source) == ALIVE:
        pass
    os._exit(1)

"""`WatchedSession`: this end of a watched script that runs here or on another host: heartbeat, start, output."""

from __future__ import annotations

import contextlib
import subprocess
import threading
import time
from collections.abc import Sequence

from keisoku.errors import EngineError
from keisoku.ground.host.namespace import named, run_in_namespace
from keisoku.subjects.system.load.invocation import Ended
from keisoku.subjects.system.load.watched_script import ALIVE, ALIVE_S, COMPLAINED, GO, SAID, Telling

READY_S = 30.0
_END_S = 5.0


class WatchedSession:
    """`command` runs the script of `token`. `whose` names it in errors."""

    def __init__(self, command: Sequence[str], token: str, whose: str, namespace: str | None = None) -> None:
        self._whose = whose
        self._telling = Telling(token)
        self._changed = threading.Condition()
        self._over = threading.Event()
        self._writing = threading.Lock()
        self._closed = False
        self._go_ns = self._begun_ns = 0
        self._complaints: list[bytes] = []

        def spawn() -> subprocess.Popen[bytes]:
            pipe = subprocess.PIPE
            # Of a session of its own: Ctrl-C is for us, and it ends when we let go of it.
            return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, start_new_session=True)

        self._child = run_in_namespace(named(namespace), spawn)
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._beat, self._listen, self._hear)]
        for thread in self._threads:
            thread.start()

    def ready(self) -> bool:
        """Waits until it can begin; False if there is no such program there. Raises EngineError if it cannot begin."""
        with self._changed:
            self._changed.wait_for(lambda: self._told(self._telling.ready or self._telling.missing), READY_S)
        if self._telling.missing:
            self._close()
            return False
        if not self._telling.ready:
            words = self._last_words()
            self.stop()
            raise EngineError(f"{self._whose} cannot be started: {words or 'it printed nothing'}")
        return True

    def begin(self, at_ns: int) -> None:
        """At that time of CLOCK_MONOTONIC; returns before."""
        self._threads.append(threading.Thread(target=self._go, args=(at_ns,), daemon=True))
        self._threads[-1].start()

    def finish(self) -> Ended:
        """Waits for its end. Raises EngineError if it was lost."""
        self._over.wait()
        telling = self._telling
        self._close()
        if telling.code is None:
            raise EngineError(
                f"{self._whose} was lost before it ended: {self._last_words() or 'the connection is gone'}"
            )
        texts = dict(telling.texts())
        said, complained = texts.pop(SAID, ""), texts.pop(COMPLAINED, "")
        return Ended(telling.code, said, complained, texts, (self._go_ns + self._begun_ns) // 2)

    def stop(self) -> None:
        """Closes the connection; the watchdog there then kills the program."""
        self._close()

    def _close(self) -> None:
        with self._writing:
            self._closed = True
            with contextlib.suppress(OSError):
                if self._child.stdin:
                    self._child.stdin.close()
        try:
            self._child.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._child.kill()
            self._child.wait()

    def _go(self, at_ns: int) -> None:
        if self._over.wait(max(0.0, (at_ns - time.monotonic_ns()) / 1e9)):
            return
        self._go_ns = time.monotonic_ns()
        self._write(GO)

    def _beat(self) -> None:
        while not self._over.wait(ALIVE_S):
            self._write(ALIVE)

    def _write(self, word: bytes) -> None:
        with self._writing, contextlib.suppress(OSError):
            if not self._closed and self._child.stdin:
                self._child.stdin.write(word)

    def _listen(self) -> None:
        assert self._child.stdout
        while part := self._child.stdout.read(1 << 16):
            with self._changed:
                self._telling.feed(part)
                if self._telling.begun and not self._begun_ns:
                    self._begun_ns = time.monotonic_ns()
                self._changed.notify_all()
                if self._telling.code is not None:
                    break
        self._over.set()
        with self._changed:
            self._changed.notify_all()

    def _hear(self) -> None:
        assert self._child.stderr
        while part := self._child.stderr.read(1 << 12):
            self._complaints.append(part)

    def _told(self, so_far: bool) -> bool:
        return so_far or self._over.is_set()

    def _last_words(self) -> str:
        lines = b"".join(self._complaints).decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else ""

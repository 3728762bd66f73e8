"""The guest's only process beside the kernel: imports everything once, and forks for each case that the host asks for.

The host and this process exchange lines of JSON over a virtual serial port.
"""

from __future__ import annotations

import json
import os
import platform
import select
import signal
import subprocess
import time
import traceback
from pathlib import Path
from typing import Any

import pytest

from drivers.driver import DRIVERS

LIMIT_S = 600.0
"""Of a case; then it is killed. On a quiet machine most take less than ten seconds."""
TESTS_LIMIT_S = 3600.0
"""Of all tests of a request together; each has its own limit besides."""
TREE = Path(__file__).parents[2]


class Channel:
    """The virtual serial port."""

    def __init__(self) -> None:
        deadline = time.monotonic() + 60
        while True:
            found = [path.parent.name for path in Path("/sys/class/virtio-ports").glob("*/name") if _is_ours(path)]
            if found and Path("/dev", found[0]).exists():
                break
            if time.monotonic() > deadline:
                raise TimeoutError("there is no virtual serial port")
            time.sleep(0.1)
        self._file = os.open(Path("/dev", found[0]), os.O_RDWR)
        self._waiting = b""
        self.number = 0
        """Of the case that the host asked for last: each message says to which it belongs."""

    def send(self, message: dict[str, Any]) -> None:
        rest = json.dumps(message | {"number": self.number}).encode() + b"\n"
        while rest:
            rest = rest[os.write(self._file, rest) :]

    def receive(self) -> dict[str, Any]:
        while b"\n" not in self._waiting:
            got = os.read(self._file, 65_536)
            if not got:  # the host has not opened its end yet, or has closed it
                time.sleep(0.2)
            self._waiting += got
        line, _, self._waiting = self._waiting.partition(b"\n")
        told: dict[str, Any] = json.loads(line)
        return told

    def ask(self, name: str, *parameters: Any) -> None:
        """Has the host do something to the machine."""
        self.send({"ask": [name, *parameters]})
        answer = self.receive()
        if "error" in answer:
            raise RuntimeError(answer["error"])


def main() -> None:
    began = time.monotonic()
    _prepare()
    from drivers.bed import Bed
    from drivers.cases import CASES

    channel = Channel()
    by_name = {case.name: case for case in CASES}
    imported_s = time.monotonic() - began
    channel.send({"kernel": platform.release(), "uptime_s": time.monotonic(), "imported_s": imported_s})
    while True:
        asked = channel.receive()
        if not asked.keys() & {"case", "tests"}:
            continue  # an answer to a case that was ended before it came
        channel.number = asked.get("number", 0)
        start = time.monotonic()
        child = os.fork()
        if child == 0 and "tests" in asked:
            channel.send({"code": _test(asked["tests"], channel)})
            os._exit(0)
        if child == 0:
            told: dict[str, Any]
            try:
                case = by_name[asked["case"]]
                bed = Bed(asked["driver"], asked["engine"], channel.ask)
                bed.restore()
                case.work(bed)
                told = {"outcome": "passed", "reason": "", "shown": bed.shown}
            except BaseException as error:
                told = {"outcome": "failed", "reason": _told(error), "shown": ""}
            channel.send(told | {"seconds": time.monotonic() - start})
            os._exit(0)
        limit_s = TESTS_LIMIT_S if "tests" in asked else LIMIT_S
        if not _ended(child, limit_s):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            late = {"outcome": "failed", "reason": f"still not ready after {limit_s:.0f} s", "shown": ""}
            channel.send(late | {"seconds": limit_s, "code": -1})


def _prepare() -> None:
    """What an operating system's start would do."""
    Path("/proc/sys/net/ipv6/conf/default/disable_ipv6").write_text("1")
    Path("/proc/sys/net/ipv6/conf/all/disable_ipv6").write_text("1")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for driver in DRIVERS:
        subprocess.run(["modprobe", driver.name], check=True)


class _Reporter:
    """A plugin of pytest that sends each report to the host."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._is_spoiled = False
        """A phase of this attempt at the test failed while the machine was held up, so that another attempt follows."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        outcome: str = report.outcome
        self._is_spoiled = outcome == "rerun" or (self._is_spoiled and report.when != "setup")
        self._channel.send({"report": report._to_json()})

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        if not self._is_spoiled:  # pytest says so after each attempt
            self._channel.send({"finished": nodeid})


def _test(names: list[str], channel: Channel) -> int:
    os.chdir(TREE)
    # The channel is the only way out; what is written goes to the console.
    return int(pytest.main([*names, "-q", "-p", "no:cacheprovider", "--timeout=600"], plugins=[_Reporter(channel)]))


def _is_ours(path: Path) -> bool:
    return path.read_text().strip() == "keisoku"


def _told(error: BaseException) -> str:
    lines = traceback.format_exception(error)
    print("".join(lines), flush=True)
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if "/drivers/" in frame.filename]
    place = f"{Path(own[-1].filename).name}:{own[-1].lineno} {own[-1].line}" if own else ""
    return f"{type(error).__name__}: {error} [{place}]"


def _ended(child: int, limit_s: float) -> bool:
    """Waits for it, with a limit."""
    handle = os.pidfd_open(child)
    try:
        if not select.select([handle], [], [], limit_s)[0]:
            return False
    finally:
        os.close(handle)
    os.waitpid(child, 0)
    return True


if __name__ == "__main__":
    main()

"""Two ports of one driver, joined by a cable, as a case uses them. Runs in the guest."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from drivers.driver import BY_NAME, ENDS
from keisoku.subjects.device.engine.engine import Engine
from keisoku.subjects.device.engine.port_capture import PortCapture
from keisoku.subjects.device.engine.wired import WiredEngine
from keisoku.subjects.device.plan.ability import check_ability
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.plan_testbed import wanted_testbed, wanted_traffic
from keisoku.subjects.device.record.arrival import ENTRY
from keisoku.subjects.device.record.facts import Facts
from keisoku.subjects.device.record.trial import NS_PER_S, Flow, Phases, Trial
from keisoku.subjects.device.record.validity import reasons
from keisoku.subjects.device.testbed.host_ports import HostPortsTestbed

FRAMES = 100
FRAMES_PER_SECOND = 400.0
"""So slow that an emulated processor on a busy host keeps up; no case is about a rate."""
_OF_STREAMS_PER_SECOND = 60.0
_PATIENCE_S = 120.0
_CARRIER_S = 60.0
_OF_A_SLOW_MACHINE = (
    "longer than intended", "the host stopped the sender", "the hypervisor took", "stood still", "frames still arrived",
    "clock source",
)  # fmt: skip
"""Reasons against a trial that an emulated machine gives, whatever the driver does."""


class Rows:
    """The rows of a trial's frames."""

    def __init__(self) -> None:
        self._entries = b""

    def append(self, entries: bytes) -> None:
        self._entries += entries

    def array(self) -> np.ndarray[tuple[int], np.dtype[np.void]]:
        return np.frombuffer(self._entries, ENTRY)


class Bed:
    """The ports of a driver; `ask` has the host do something to cards and cables."""

    def __init__(self, driver: str, engine: str | None, ask: Callable[..., None]) -> None:
        self.driver = BY_NAME[driver]
        self.engine = engine or "packet"
        self.ask = ask
        self.shown = ""
        """What the case saw, for the table."""
        self._stream = 1

    # Interfaces

    def port(self, end: int) -> str:
        return self.driver.port(end)

    @property
    def sender(self) -> str:
        """The engine under test, where the driver can send with it."""
        return "packet" if self.engine == "xdp" and not self.driver.native_xdp else self.engine

    def restore(self) -> None:
        """Brings cards, cables, names and settings back to how cases find them."""
        if not Path("/sys/module", self.driver.name).exists():
            subprocess.run(["modprobe", self.driver.name], check=True)
        for end in range(ENDS):
            if self._named(end) is None:
                self.ask("plug", self.driver.name, end)
            self.ask("set_link", self.driver.name, end, True)
        until(lambda: all(self._named(end) for end in range(ENDS)), "the cards to be there")
        for end in range(ENDS):
            found, name = str(self._named(end)), self.port(end)
            if found != name:
                ip("link", "set", found, "down")
                ip("link", "set", found, "name", name)
            if self.fact(end, "mtu") != "1500":
                ip("link", "set", name, "mtu", "1500")
            if not int(self.fact(end, "flags"), 16) & 1:
                ip("link", "set", name, "up")
        self.until_carrier()

    def until_carrier(self) -> None:
        until(lambda: all(self.carrier(end) for end in range(ENDS)), "both carriers")

    def until_carrier_of(self, end: int) -> None:
        until(lambda: self.carrier(end), "the carrier")

    def carrier(self, end: int) -> bool:
        try:
            return self.fact(end, "carrier") == "1"
        except OSError:  # the interface is gone or down
            return False

    def fact(self, end: int, name: str) -> str:
        """A file of the interface in sysfs."""
        return Path("/sys/class/net", self.port(end), name).read_text().strip()

    def promiscuity(self, end: int) -> int:
        return int(json.loads(ip("-d", "-j", "link", "show", self.port(end)))[0]["promiscuity"])

    def ethtool(self, *arguments: str) -> bool:
        """Whether the driver did it."""
        return subprocess.run(["ethtool", *arguments], capture_output=True, check=False).returncode == 0

    def ethtool_shows(self, *arguments: str) -> str:
        return subprocess.run(["ethtool", *arguments], capture_output=True, text=True, check=False).stdout

    def set_link(self, end: int, up: bool) -> None:
        self.ask("set_link", self.driver.name, end, up)
        until(lambda: self.carrier(end) == up, f"the carrier to be {'there' if up else 'gone'}")

    def cut(self, end: int) -> None:
        """Pulls out the cable and does not wait."""
        self.ask("set_link", self.driver.name, end, False)

    def unplug(self, end: int) -> None:
        self.ask("unplug", self.driver.name, end)

    def _named(self, end: int) -> str | None:
        for address in Path("/sys/class/net").glob("*/address"):
            if address.read_text().strip() == self.driver.mac(end):
                return address.parent.name
        return None

    # Trials

    @contextmanager
    def opened(
        self,
        sending: str,
        receiving: str,
        sizes: Sequence[int] = (128,),
        capture: Path | None = None,
        **plan: Any,
    ) -> Iterator[WiredEngine]:
        """The engine of a plan from port 0 to port 1, without a warm-up, whose flood would say nothing here."""
        if self.driver.stamps == "all":
            # QEMU's card is asked to stamp every frame, accepts, and stamps none: a case of its own.
            plan.setdefault("stamps", "software")
        source = {"methods": ["trial"], "tx": f"{sending}:{self.port(0)}", "rx": f"{receiving}:{self.port(1)}"}
        wanted = parse(source | {"frame_bytes": tuple(sizes)} | plan)
        with ExitStack() as stack:
            testbed = stack.enter_context(closing(HostPortsTestbed(wanted_testbed(wanted))))
            traffic_of = wanted_traffic(wanted)
            traffic = traffic_of.on(testbed.routes(traffic_of))
            file = None if capture is None else PortCapture(capture, 0, lambda line: None)
            rate = testbed.line_rate(0)
            ports, context, why = testbed.ports, testbed.context(), traffic_of.why_lost
            engine = WiredEngine(ports, traffic, rate, context, file, None, warm_up=False, why_lost=why)
            stack.enter_context(closing(engine))
            check_ability(wanted, engine.capabilities)
            yield engine

    def trial(
        self,
        frames: int = FRAMES,
        frame_bytes: int = 128,
        rate: float = FRAMES_PER_SECOND,
        sizes: tuple[int, ...] | None = None,
        both_ways: bool = False,
    ) -> Trial:
        """So patient that every frame is sent on the slowest machine."""
        ways = [(0, 1), (1, 0)] if both_ways else [(0, 1)]
        duration_ns = round(frames / rate * NS_PER_S)
        return Trial(
            purpose="test",
            frame_bytes=frame_bytes,
            frames_per_second=rate,
            duration_ns=round(_PATIENCE_S * NS_PER_S),
            phases=Phases(learning=False, learning_wait_ns=0, drain_ns=NS_PER_S, rest_ns=0),
            flows=tuple(Flow(transmit=tx, receive=rx, duration_ns=duration_ns, frame_bytes=sizes) for tx, rx in ways),
        )

    def streams_trial(self, frames: int) -> Trial:
        """With all streams of the plan. Its load ends in time, so it is slower still: a machine that stands still for a
        while sends less."""
        duration_ns = round(frames / _OF_STREAMS_PER_SECOND * NS_PER_S)
        trial = self.trial(frames, rate=_OF_STREAMS_PER_SECOND)
        return trial.model_copy(update={"flows": (), "duration_ns": duration_ns})

    def carry(
        self,
        engine: Engine,
        trial: Trial,
        meanwhile: Callable[[], object] | None = None,
        after_frames: int = 50,
        rows: Rows | None = None,
    ) -> Facts:
        """The facts of a trial; `meanwhile` is done once so many frames were offered."""
        engine.start(trial, stream=self._stream, seed=0, frames=rows)
        self._stream += 64
        try:
            if meanwhile is not None:
                until(lambda: _gone_so_far(engine) >= after_frames, "frames to be sent")
                meanwhile()
        except BaseException:
            engine.stop()
            raise
        finally:
            facts, _ = engine.finish()
        return facts

    def complete(self, trial: Trial, facts: Facts) -> None:
        """Every frame was sent, arrived once, whole and in order, and nothing is said against the trial."""
        meant = sum(trial.frames_of(one.port) for one in facts.transmitters)
        assert facts.sent.offered_frames == meant, f"{facts.sent.offered_frames} of {meant} frames were sent"
        self.arrived(trial, facts)

    def arrived(self, trial: Trial, facts: Facts) -> None:
        """Every frame that was sent, and at least half of those that were to be, arrived once, whole and in order, and
        nothing is said against the trial."""
        tracked, offered = facts.tracked, facts.sent.offered_frames
        meant = sum(trial.frames_of(one.port) for one in facts.transmitters)
        told = [one for one in self.against(trial, facts) if not one.startswith("the tester offered ")]
        seen = (tracked.forwarded_frames, tracked.lost_frames)
        assert seen == (offered, 0) and 2 * offered >= meant, f"arrived, lost: {seen} of {offered} of {meant}; {told}"
        assert (tracked.corrupt.count, tracked.duplicated.count, tracked.reordered.count) == (0, 0, 0)
        assert not told, told

    def against(self, trial: Trial, facts: Facts) -> list[str]:
        """Reasons against the trial that are not those of a slow machine."""
        return [one for one in reasons(trial, facts) if not of_a_slow_machine(one)]


def of_a_slow_machine(reason: str) -> bool:
    return any(words in reason for words in _OF_A_SLOW_MACHINE)


def _gone_so_far(engine: Engine) -> int:
    progress = engine.wait(0.05)
    if progress.finished:
        raise AssertionError("the trial was over before the case could do anything")
    return progress.offered_frames


def ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], capture_output=True, text=True, check=True).stdout


def until(true: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _CARRIER_S
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {_CARRIER_S:.0f} s for {what}")
        time.sleep(0.05)


def refusal(work: Callable[[], object], *errors: type[Exception]) -> str:
    """The sentence with which something is refused."""
    try:
        work()
    except errors as error:
        return str(error)
    raise AssertionError("it was not refused")

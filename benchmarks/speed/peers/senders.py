"""The peers: each a command that sends 64-byte frames from one end of a pair, pinned and hurried as keisoku is.

None of them stamps, numbers, checks or tracks a frame. Whatever is started here is ended here, by its own
process group.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from peers.compiled import Compiled
from peers.pair import Pair

Name = Literal["af_xdp", "bare", "trafgen", "tcpreplay", "iperf3"]
PROGRAMS: dict[Name, str] = {"trafgen": "trafgen", "tcpreplay": "tcpreplay", "iperf3": "iperf3"}
"""What of them Debian has; the AF_XDP sender and the bare one are our own."""
_PRIORITY = "1"
"""Of the real-time class, as keisoku's sender has it: before every other program on its CPU."""
_GRACE_S = 3.0
_LONGER_THAN_ANY_S = 3600
_PCAP_FRAMES = 1000
_BARE_BATCH = 64
"""keisoku's largest."""


@dataclass(frozen=True)
class Sender:
    """A peer with one way of running it; `options` are added to its command."""

    name: Name
    options: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join((self.name, *self.options))

    @contextmanager
    def running(
        self, compiled: Compiled, pair: Pair, folder: Path, frames_per_second: float | None = None
    ) -> Iterator[int]:
        """Sends inside the context, as fast as it can or at a rate (`bare`: only as fast as it can).

        Yields its process group. Raises RuntimeError if it ended by itself.
        """
        program, *rest = _COMMANDS[self.name](compiled, pair, folder, frames_per_second)
        hurried = ["chrt", "--fifo", _PRIORITY, "taskset", "-c", str(min(os.sched_getaffinity(0)))]
        with contextlib.ExitStack() as stack:
            if self.name == "iperf3":
                _listening(stack.enter_context(_process(pair.far.inside("iperf3", "--server", "--forceflush"))))
            sender = stack.enter_context(_process(pair.near.inside(*hurried, program, *self.options, *rest)))
            yield sender.pid
            if sender.poll() is not None:
                raise RuntimeError(f"{self} ended by itself")


@contextmanager
def _process(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Runs in a group of its own: trafgen leaves a child behind when only its parent is told to end."""
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=quiet, stdout=subprocess.PIPE, stderr=quiet, start_new_session=True)
    assert process.stdout
    try:
        yield process
    finally:
        process.stdout.close()
        for number in (signal.SIGINT, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE_S)


def _listening(server: subprocess.Popen[bytes]) -> None:
    assert server.stdout
    if not any(b"listening" in line for line in server.stdout):
        raise RuntimeError("the iperf3 server does not start")


def _af_xdp(compiled: Compiled, pair: Pair, _: Path, frames_per_second: float | None) -> list[str]:
    command = [str(compiled.af_xdp), pair.near.interface, pair.frame().hex(), str(_LONGER_THAN_ANY_S)]
    return command + ([] if frames_per_second is None else [str(frames_per_second)])


def _bare(compiled: Compiled, pair: Pair, _: Path, __: float | None) -> list[str]:
    frame = pair.frame().hex()
    return [str(compiled.bare), str(compiled.bare_program), pair.near.interface, frame, str(_BARE_BATCH)]


def _trafgen(_: Compiled, pair: Pair, folder: Path, frames_per_second: float | None) -> list[str]:
    description = folder / "frame.cfg"
    description.write_text("{ " + ", ".join(f"0x{byte:02x}" for byte in pair.frame()) + " }\n")
    # Without --notouch-irq it moves interrupts of the host and leaves them moved.
    command = ["trafgen", "--notouch-irq", "--cpus", "1", "--no-cpu-stats"]
    command += ["--conf", str(description), "--out", pair.near.interface]
    return command + ([] if frames_per_second is None else ["--gap", f"{round(1e9 / frames_per_second)}ns"])


def _tcpreplay(_: Compiled, pair: Pair, folder: Path, frames_per_second: float | None) -> list[str]:
    file = folder / "frames.pcap"
    frame = pair.frame()
    number = (0).to_bytes(8, "little") + len(frame).to_bytes(4, "little") * 2
    head = bytes.fromhex("d4c3b2a1 0200 0400 00000000 00000000 ffff0000 01000000")
    file.write_bytes(head + (number + frame) * _PCAP_FRAMES)
    pace = ["--topspeed"] if frames_per_second is None else [f"--pps={frames_per_second:g}"]
    command = ["tcpreplay", "--quiet", "--preload-pcap", "--no-flow-stats", "--loop=0", *pace]
    return [*command, f"--intf1={pair.near.interface}", str(file)]


def _iperf3(_: Compiled, pair: Pair, __: Path, frames_per_second: float | None) -> list[str]:
    payload_bytes = len(pair.frame()) - 42
    # 0: as much as there can be.
    bits = 0 if frames_per_second is None else round(frames_per_second * payload_bytes * 8)
    command = ["iperf3", "--udp", "--length", str(payload_bytes), "--bandwidth", str(bits)]
    return [*command, "--client", pair.far.ipv4, "--bind", pair.near.ipv4, "--time", str(_LONGER_THAN_ANY_S)]


_COMMANDS = {"af_xdp": _af_xdp, "bare": _bare, "trafgen": _trafgen, "tcpreplay": _tcpreplay, "iperf3": _iperf3}

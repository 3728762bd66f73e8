"""Whether interruptions by real protocols agree with two independent observers: a capture and the kernel's own words.

    python benchmarks/accuracy/convergence_observed.py [EVENTS] [DEVICE[:EVENT] …]

Needs root, FRR, keepalived and dumpcap. Devices of the lab are interrupted `EVENTS` times (default 5), each time
undone, in a trial each. A trial that the host disturbed has no figures and is made again on a new device, up to twice
as many as are needed on a calm host. Beside it, in the device's namespaces:

- dumpcap writes, with the kernel's timestamps, which frames enter the device and which leave it. A frame is known
  by its last bytes, whatever they mean; one that did not leave is lost. An interruption lasts from the entry of the
  last frame before it to that of the first behind it, less the time between two frames.
- `ip -ts monitor` (`bridge -timestamp monitor` for bridges) prints when links, routes and addresses behind ports
  changed.

A line for each event goes to the terminal, then the table of docs/how-we-know/devices.md.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from scapy.utils import RawPcapNgReader
from support.lab_trials import on_lab
from support.trials import drive

from keisoku.ground.lab.device.lab import Lab
from keisoku.ground.lab.device.port import LabPort
from keisoku.ground.run.result import Row
from keisoku.subjects.device.calibration.bias import Bias
from keisoku.subjects.device.method.method import begin
from keisoku.subjects.device.plan.plan import parse
from keisoku.subjects.device.procedure.rfc6412.convergence import HOPS

FLOWS = 5
FPS = 5000.0
GAP_S = FLOWS / FPS
_SOURCE_PORT, _IDENTITY = slice(34, 36), slice(-18, None)
"""Of UDP in IPv4 without options or tags: flows differ by the one, frames by the other."""
_STAMP = re.compile(r"Timestamp: \w+ (.*) (\d+) usec")
_PATIENCE_S = 10.0
Words = tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """A device, what happens to it, and with which words the kernel tells of it."""

    device: str
    event: str
    watch_s: float
    way_lost: Words = ()
    """The interruption is from this message to `way_found`; without it, `way_found` is the end of the convergence;
    without both, the kernel tells of nothing that the frames depend on."""
    way_found: Words = ()
    old_lost: Words = ()
    old_found: Words = ()
    """The same of what undoes the event, where that interrupts the frames again."""
    monitor: Words = ("ip", "-ts", "monitor", "route", "link")
    ports: int = 2
    is_settled_last: bool = False
    """The kernel may tell of the way several times before it stays; the last time counts."""


_UPPER, _LOWER = ("upper", "state DOWN"), ("198.18.2.0/24", "dev lower")
_ADDRESSES = ("bridge", "-timestamp", "monitor", "fdb")
"""Behind which of its ports the bridge before the routers has learnt that an address is."""
CASES = (
    Case("diamond?bfd=off", "link-down", 2.0, _UPPER, _LOWER),
    Case("diamond?routing=isis&bfd=off", "link-down", 3.0, _UPPER, _LOWER),
    Case("diamond?routing=bgp&bfd=off", "link-down", 2.0, _UPPER, _LOWER),
    Case("diamond?routing=bgp", "route-withdrawn", 2.0, (), _LOWER),
    Case("diamond", "neighbour-lost", 4.0, (), _LOWER),
    Case("diamond", "next-hop-killed", 6.0, (), _LOWER),
    Case("diamond?routing=isis", "neighbour-lost", 4.0, (), _LOWER),
    Case("diamond?routing=bgp", "next-hop-killed", 4.0, (), _LOWER),
    Case("diamond?bfd=off", "neighbour-lost", 7.0, (), _LOWER),
    Case(
        "vrrp",
        "master-killed",
        1.5,
        way_found=("00:00:5e:00:01:01", "dev backup"),
        monitor=_ADDRESSES,
        ports=3,
        is_settled_last=True,
    ),
    Case("vrrp", "link-down", 1.5, ports=3),
    Case("ecmp", "member-lost", 1.0, ports=3),
    Case("router", "rebooted", 1.0),
    Case("bridge", "rebooted", 1.0),
    Case("nat", "conntrack-flushed", 0.5),
    Case(
        "stp",
        "port-blocked",
        6.0,
        ("second-first@", "state disabled"),
        ("second-third@", "state forwarding"),
        ("second-third@", "state blocking"),
        ("first-second@", "state forwarding"),
        monitor=("bridge", "-timestamp", "monitor", "link"),
    ),
)


@dataclass
class Seen:
    """An event, by keisoku and by both observers; times in ms."""

    name: str
    value: float
    bounds: tuple[float, float]
    lost: int
    capture: float
    capture_lost: int
    kernel_of: tuple[float, float, float] | None
    """The figure that the kernel's words are compared with, and its interval."""
    kernel: float | None


@dataclass
class Observed:
    """What the observers wrote down, and when the lab caused each event, in s of the host's own time."""

    said: list[str] = field(default_factory=list)
    entered: dict[bytes, list[tuple[float, bool]]] = field(default_factory=dict)
    """Of each flow: when each frame entered, and whether it left."""
    happened: list[float] = field(default_factory=list)

    def moments(self, words: Words) -> list[float]:
        """When the kernel told of changes with all these words, except of what it removed."""
        found = []
        at_s = 0.0
        for line in self.said:
            if stamp := _STAMP.match(line):  # `bridge` writes it on a line of its own
                at_s = datetime.strptime(stamp[1], "%b %d %H:%M:%S %Y").timestamp() + int(stamp[2]) / 1e6
            elif line.startswith("[2"):
                at_s = datetime.fromisoformat(line[1 : line.index("]")]).timestamp()
            if all(word in line for word in words) and "Deleted" not in line:
                found.append(at_s)
        return found

    def interrupted(self, begin_s: float, end_s: float) -> tuple[float, int]:
        """The longest time in which a flow lost its frames, of interruptions that began between, and the lost frames
        of all flows."""
        longest_s, lost = 0.0, 0
        for frames in self.entered.values():
            own_s, passed_s, missing_s = 0.0, 0.0, list[float]()
            for at_s, left in frames:
                if not left:
                    missing_s.append(at_s)
                    continue
                if missing_s and begin_s - GAP_S <= missing_s[0] < end_s - GAP_S:
                    own_s += at_s - passed_s - GAP_S
                    lost += len(missing_s)
                passed_s, missing_s = at_s, []
            longest_s = max(longest_s, own_s)
        return longest_s, lost


@contextmanager
def captured(port: LabPort, folder: Path) -> Iterator[Path]:
    """What enters and leaves the device at a port meanwhile, in a file."""
    assert port.dut_namespace_path and port.dut_interface
    path = folder / f"{port.dut_interface}.pcapng"
    words = ["dumpcap", "-q", "-i", port.dut_interface, "-f", "udp", "-B", "64", "-w", str(path)]
    command = ["ip", "netns", "exec", port.dut_namespace_path.name, *words]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as child:
        try:
            deadline = time.monotonic() + _PATIENCE_S
            while not path.exists() or not path.stat().st_size:
                if child.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"dumpcap does not capture at {port.dut_interface}")
                time.sleep(0.05)
            yield path
        finally:
            time.sleep(0.5)  # what the kernel still keeps for it
            child.terminate()


@contextmanager
def listened(namespace: str, words: Sequence[str], into: list[str]) -> Iterator[None]:
    """What the kernel says of itself in a namespace meanwhile."""
    command = ["ip", "netns", "exec", namespace, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield
        finally:
            time.sleep(0.2)
            child.terminate()
            into += (child.stdout.read() if child.stdout else "").splitlines()


def read(path: Path) -> Iterator[tuple[float, bytes]]:
    """Frames of a capture, with their times in s."""
    with RawPcapNgReader(str(path)) as reader:
        meta: Any  # Declared as that of the older format.
        for frame, meta in reader:
            yield ((meta.tshigh << 32) + meta.tslow) / meta.tsresol, frame


def passages(entry: Path, exits: Sequence[Path]) -> dict[bytes, list[tuple[float, bool]]]:
    """Of each flow: when each frame entered, and whether it left."""
    left = {frame[_IDENTITY] for path in exits for _, frame in read(path)}
    found: dict[bytes, list[tuple[float, bool]]] = defaultdict(list)
    for at_s, frame in read(entry):
        found[frame[_SOURCE_PORT]].append((at_s, frame[_IDENTITY] in left))
    return found


def measured(case: Case) -> tuple[list[Row], Observed]:
    """The rows of events, and what was observed; of the trial on which the rows rest."""
    source: dict[str, Any] = {"methods": ["convergence"], "dut": f"lab:{case.device}", "frame_bytes": [64]}
    if case.ports > 2:
        source |= {"ports": [str(number + 1) for number in range(case.ports)], "pattern": "either"}
    own = {"event": case.event, "rate_fps": FPS, "stable_s": 0.5, "watch_s": case.watch_s}
    phases = {"learning_wait_s": 0.1, "drain_s": 0.1, "rest_s": 5.0}
    plan = parse({**source, "streams": FLOWS, "convergence": own, "phases": phases})
    seen = Observed()
    with Lab(case.device, ports=case.ports) as lab, TemporaryDirectory() as name, ExitStack() as stack:
        happen = lab.happen

        def noted(event: str, undo: bool = False) -> int | None:
            seen.happened.append(time.time())
            return happen(event, undo)

        lab.happen = noted  # type: ignore[method-assign]
        engine = on_lab(plan, lab)
        stack.callback(engine.close)
        place = str(lab.context()["namespaces"][1])  # type: ignore[index]
        stack.enter_context(listened(place, case.monitor, seen.said))
        paths = [stack.enter_context(captured(port, Path(name))) for port in lab.ports]
        method = begin("convergence", plan, engine.capabilities, Bias(), {})
        result, records = drive("convergence", method, engine, seed=lambda index: index, streams=4096)
        stack.close()
        seen.entered = passages(paths[0], paths[1:])
    assert result is not None
    rows = [row for row in result.rows if row.group != HOPS and row.case.startswith(case.event)]
    events = len(records[0].trial.events)
    used = (result.rows[0].trial or 0) * events
    seen.happened = seen.happened[used : used + events]
    if len(rows) != events:
        said = "; ".join(str(row.remark) for row in result.rows)
        print(f"{case.device} {case.event}: not measured: {said}", flush=True)
        return [], seen
    return rows, seen


def compared(case: Case, rows: list[Row], seen: Observed) -> Iterator[Seen]:
    """Each event by all three."""
    ends = [*seen.happened[1:], seen.happened[-1] + case.watch_s]
    for row, begin_s, end_s in zip(rows, seen.happened, ends, strict=True):
        figure = row.figures["interruption"]
        low, high = figure.bounds or (figure.value, figure.value)
        kernel_of, kernel = None, None
        undone = "undone" in row.case
        way_lost, way_found = (case.old_lost, case.old_found) if undone else (case.way_lost, case.way_found)
        if way_found:
            own = row.figures.get("interruption" if way_lost else "convergence")
            lost = [begin_s]
            if way_lost:
                lost = [at for at in seen.moments(way_lost) if begin_s <= at < end_s][:1]
            found = [at for at in seen.moments(way_found) if lost and lost[0] < at < end_s]
            if own is not None and found:
                at_s = found[-1 if case.is_settled_last else 0]
                least, most = own.bounds or (own.value, own.value)
                kernel_of = own.value / 1e6, least / 1e6, most / 1e6
                kernel = (at_s - lost[0]) * 1e3
        capture_s, lost_frames = seen.interrupted(begin_s, end_s)
        yield Seen(
            name=row.case,
            value=figure.value / 1e6,
            bounds=(low / 1e6, high / 1e6),
            lost=round(row.figures["lost"].value),
            capture=capture_s * 1e3,
            capture_lost=lost_frames,
            kernel_of=kernel_of,
            kernel=kernel,
        )


def line(case: Case, one: Seen) -> str:
    """Of one event, for the terminal."""
    said = f"{case.device} {one.name}: {one.value:.1f} ms ({one.bounds[0]:.1f} to {one.bounds[1]:.1f}), lost {one.lost}"
    said += f"; capture {one.capture:.1f}, lost {one.capture_lost}"
    if one.kernel is not None and one.kernel_of is not None:
        value, low, high = one.kernel_of
        said += f"; kernel {one.kernel:.1f} for {value:.1f} ({low:.1f} to {high:.1f})"
    return said


def distance(value: float, low: float, high: float) -> float:
    """How far outside an interval a value is."""
    return max(0.0, low - value, value - high)


def summary(case: Case, found: list[Seen]) -> list[str]:
    """Rows of the table: of events, and of what undoes them if that interrupted anything."""
    rows = []
    for undone in (False, True):
        own = [one for one in found if ("undone" in one.name) == undone]
        if not own or (undone and not any(one.lost for one in own)):
            continue
        values = [one.value for one in own]
        # The capture knows each end to a frame gap, too.
        inside = sum(distance(one.capture, *one.bounds) <= GAP_S * 1e3 for one in own)
        by_kernel = [
            distance(one.kernel, *one.kernel_of[1:])
            for one in own
            if one.kernel is not None and one.kernel_of is not None
        ]
        cells = [
            f"`{case.device}`",
            case.event + (" undone" if undone else ""),
            str(len(own)),
            f"{min(values):.1f} to {max(values):.1f}",
            f"{sum(one.lost == one.capture_lost for one in own)} of {len(own)}",
            f"{inside} of {len(own)}",
            f"{max(abs(one.value - one.capture) for one in own):.2f}",
            ("interruption" if case.way_lost else "convergence") if by_kernel else "",
            f"{sum(off == 0 for off in by_kernel)} of {len(by_kernel)}" if by_kernel else "",
            f"{max(by_kernel):.1f}" if by_kernel else "",
        ]
        rows.append("| " + " | ".join(cells) + " |")
    return rows


def observed(case: Case, events: int) -> list[Seen]:
    """So many events and what undid them; fewer if the host disturbs too many trials."""
    found: list[Seen] = []
    for _ in range(2 * events):
        rows, seen = measured(case)
        if rows:
            own = list(compared(case, rows, seen))
            for one in own:
                print(line(case, one), flush=True)
            found += own
        if sum("undone" not in one.name for one in found) >= events:
            break
    return found


def main() -> None:
    """Prints lines, then the table."""
    events = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    table = []
    for case in CASES:
        if sys.argv[2:] and not {case.device, f"{case.device}:{case.event}"} & set(sys.argv[2:]):
            continue
        found = observed(case, events)
        if not found:
            table.append(f"| `{case.device}` | {case.event} | not measured |" + " |" * 7)
        table += summary(case, found)
    heads = ["device", "event", "events", "interruption, ms", "lost frames as in the capture"]
    heads += ["capture inside ± 1 gap", "largest difference, ms", "kernel's words are of", "inside", "farthest, ms"]
    print("| " + " | ".join(heads) + " |\n" + "|---" * len(heads) + "|")
    print("\n".join(table))


if __name__ == "__main__":
    main()

"""TCP over a token bucket of 100 Mb/s: what `stream tcp` says beside what arrived at the receiver's interface.

Run: python benchmarks/speed/stream_link.py [--trials N] [--hogs N]. Needs root and gcc. `near`: the bucket is the
queueing discipline of the sender's own interface; `middle`: it is a router's, and drops. Busy processes (`--hogs` for
each CPU) take the CPUs from both ends. Each trial is compared with the segments of the same time as the kernel stamped
them, and each group of trials, stopped by the rule of `stream tcp`, with the mean of all trials.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
from pyroute2 import IPRoute

from keisoku.ground.host.namespace import Namespace
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.ground.lab.path.hop import Hop
from keisoku.ground.lab.path.lab import PathLab
from keisoku.subjects.stream.analysis import bit_rate
from keisoku.subjects.stream.confidence import Confidence
from keisoku.subjects.stream.measure import bare_server
from keisoku.subjects.stream.run import total_bps
from keisoku.subjects.stream.session import StreamSession
from keisoku.subjects.stream.trial import StreamTrial

LINK_BPS, BUCKET_BYTES = 100_000_000, 32_000
PAYLOAD = 1448 / 1514
"""Of a frame as the bucket counts it."""
WARM_UP_S = 0.2
_HERE = Path(__file__).parent
_ROOT = 0xFFFFFFFF


@contextmanager
def near() -> Iterator[tuple[StreamSession, Namespace, str]]:
    """The bucket is on the sender's own interface."""
    with bare_server() as (lab, server):
        place = Namespace(lab.tester_namespace)
        place.run(_bucket)
        with StreamSession(Place(server_address(lab), place.name), server.port) as session:
            yield session, Namespace(lab.target_namespace), "up"


def server_address(lab: object) -> str:
    """Of a bare path's far end."""
    from keisoku.ground.lab.path.bare_path import TARGET_ADDRESS

    return TARGET_ADDRESS


def _bucket() -> None:
    with IPRoute() as ip:
        index = ip.link_lookup(ifname="down")[0]
        ip.tc("add", "tbf", index, rate=LINK_BPS // 8, burst=BUCKET_BYTES, limit=300_000, parent=_ROOT)


@contextmanager
def middle() -> Iterator[tuple[StreamSession, Namespace, str]]:
    """The bucket is in a router, whose queue drops."""
    with PathLab([Hop(LINK_BPS, bucket_bytes=BUCKET_BYTES, queue_bytes=100_000)]) as lab:
        far = Namespace(lab.target_namespace)
        with (
            FarEnd("stream", Place(lab.target_address, far.name)) as server,
            StreamSession(Place(lab.target_address, lab.tester_namespace), server.port) as session,
        ):
            yield session, far, far.run(_only_interface)


def _only_interface() -> str:
    with IPRoute() as ip:
        names = [str(link.get_attr("IFLA_IFNAME")) for link in ip.get_links()]
    (name,) = [name for name in names if name != "lo"]
    return name


@contextmanager
def hogs(each_cpu: int) -> Iterator[None]:
    """Busy processes, in a session of their own."""
    script = "import os, threading\nfor _ in range(N - 1):\n    if os.fork() == 0: break\nwhile True: pass\n"
    count = each_cpu * (os.cpu_count() or 1)
    if not count:
        yield
        return
    program = [sys.executable, "-c", script.replace("N", str(count))]
    busy = subprocess.Popen(program, start_new_session=True)
    try:
        yield
    finally:
        os.killpg(busy.pid, 9)
        busy.wait()


def wire(far: Namespace, interface: str, program: Path) -> subprocess.Popen[str]:
    """What arrives there, from now on."""
    pipe = subprocess.PIPE
    seen = far.run(lambda: subprocess.Popen([program, interface], stdin=pipe, stdout=pipe, stderr=pipe, text=True))
    assert seen.stdout and seen.stdout.readline() == "ready\n"
    return seen


def measured(bed: str, trials: int, each_cpu: int, trial: StreamTrial) -> dict[str, list[float]]:
    """bit/s of each trial: as `stream tcp` has it, and of all segments at the interface in the same time."""
    found: dict[str, list[float]] = {"stream": [], "wire": []}
    spans = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="keisoku-bench-")))
        subprocess.run(["gcc", "-O2", str(_HERE / "peers" / "arrivals.c"), "-o", str(folder / "arrivals")], check=True)
        session, far, interface = stack.enter_context({"near": near, "middle": middle}[bed]())
        seen = wire(far, interface, folder / "arrivals")
        stack.enter_context(hogs(each_cpu))
        for _ in range(trials):
            from_ns = time.time_ns()
            rows = session.measure(trial)
            assert not any(row["error"] for row in rows), rows
            spans.append((from_ns, time.time_ns()))
            found["stream"].append(total_bps(rows))
        told, complained = seen.communicate("end\n")
        print(complained.strip(), file=sys.stderr)
    segments = np.array([line.split() for line in told.splitlines()], dtype=np.int64)
    for from_ns, until_ns in spans:
        own = segments[(segments[:, 0] >= from_ns) & (segments[:, 0] <= until_ns)]
        found["wire"].append(goodput(own, trial.duration_s))
    known = [place for place, bps in enumerate(found["wire"]) if bps > 0]
    found = {name: [values[place] for place in known] for name, values in found.items()}
    return found


def goodput(segments: np.ndarray, duration_s: float) -> float:
    """bit/s of what came for the first time, from 0.2 s on until the senders ended, whose last segments may have to be
    repeated for long: of segments with time, ports, first number, bytes. 0 if nothing came then."""
    streams = [ports for ports in np.unique(segments[:, 1]) if segments[segments[:, 1] == ports, 3].sum() > 100_000]
    mine = segments[np.isin(segments[:, 1], streams)]
    settled_ns = mine[0, 0] + round(WARM_UP_S * 1e9)
    mine = mine[mine[:, 0] <= mine[0, 0] + round(duration_s * 1e9)]
    last_ns = mine[-1, 0]
    total, begin_ns = 0, None
    # Bytes by number: true where they came before.
    came = {}
    for ports in streams:
        numbers = mine[mine[:, 1] == ports, 2]
        came[ports] = (int(numbers.min()), np.zeros(int(numbers.max() - numbers.min()) + 70_000, dtype=bool))
    for at_ns, ports, number, count in mine:
        start, bytes_ = came[ports]
        part = bytes_[number - start : number - start + count]
        new = int(count - part.sum())
        part[:] = True
        if at_ns >= settled_ns:
            if begin_ns is None:
                begin_ns = at_ns
            else:
                total += new
    return 0.0 if begin_ns is None or last_ns == begin_ns else 8e9 * total / float(last_ns - begin_ns)


def said(found: dict[str, list[float]], duration_s: float) -> str:
    """A row of the table."""
    values, truths = found["stream"], found["wire"]
    allowed = LINK_BPS * PAYLOAD + 8 * BUCKET_BYTES / (duration_s - WARM_UP_S)
    truth = statistics.fmean(truths)
    held, groups = coverage(values, truths)
    errors = [100 * (value / true - 1) for value, true in zip(values, truths, strict=True)]
    above = sum(value > allowed for value in values)
    mean, mean_error, deviation = statistics.fmean(values), statistics.fmean(errors), statistics.pstdev(errors)
    return (
        f"{len(values)} trials, {above} above the link; greatest {max(values) / 1e6:.2f}"
        f" (wire {max(truths) / 1e6:.2f}),"
        f" mean {mean / 1e6:.3f} (wire {truth / 1e6:.3f}) Mb/s; error of a trial {mean_error:+.3f} ± {deviation:.3f} %,"
        f" at most {max(map(abs, errors)):.2f} %; {held} of {groups} intervals contain the wire's mean of their trials"
    )


def coverage(values: Sequence[float], truths: Sequence[float], rule: Confidence | None = None) -> tuple[int, int]:
    """How many intervals contain the mean of what arrived in their trials, of how many groups that the rule ended."""
    rule = rule or Confidence()
    held = groups = first = 0
    for last in range(1, len(values) + 1):
        group = values[first:last]
        if rule.settled(group):
            truth = statistics.fmean(truths[first:last])
            low, high = bit_rate(group, rule).bounds or (truth, truth)
            held += low <= truth <= high
            groups, first = groups + 1, last
    return held, groups


def main() -> None:
    """Prints a row for each bed."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--trials", type=int, default=90)
    options.add_argument("--hogs", type=int, nargs="+", default=[0, 4], help="busy processes for each CPU")
    options.add_argument("--streams", type=int, default=1)
    options.add_argument("--congestion", help="algorithm, such as bbr")
    options.add_argument("--duration", type=float, default=1.0, help="of a trial, in s")
    options.add_argument("--beds", nargs="+", default=["near", "middle"])
    options.add_argument("--keep", type=Path, help="folder for the figures of all trials")
    chosen = options.parse_args()
    trial = StreamTrial(
        protocol="tcp",
        message_bytes=65_536,
        streams=chosen.streams,
        congestion=chosen.congestion,
        duration_s=chosen.duration,
    )
    for bed in chosen.beds:
        for each_cpu in chosen.hogs:
            found = measured(bed, chosen.trials, each_cpu, trial)
            print(f"{bed}, {each_cpu} busy processes for each CPU: {said(found, trial.duration_s)}", flush=True)
            if chosen.keep:
                (chosen.keep / f"{bed}-{each_cpu}-{chosen.streams}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()

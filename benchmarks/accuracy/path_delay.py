"""How often intervals of `keisoku path delay` contain the truth, where both ends have one clock, and on synthetic ones.

`python benchmarks/accuracy/path_delay.py virtual [RUNS] [FIRST]` draws clocks (offset and rate), queues and delays that
are alike or differ by up to a hundred times. `... loopback [RUNS]` and `... namespace [RUNS]` (root) ask our own
reflector, whose answers may be held back on the way for 0.3 ms. There the clock is the same, so T2 − T1 and
T4 − T3 are the truth, while the analysis is told that no clock is synchronised. Prints a table; judges nothing. Not
part of `make bench`.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.serving import serving
from support.veth_pair import veth_pair

from keisoku._core import StampedSocket
from keisoku.ground.host.place import Place
from keisoku.ground.host.two_ended.far_end import FarEnd
from keisoku.ground.run.result import Result
from keisoku.ground.statistics.quantity import Quantity
from keisoku.subjects.path.stamp.analysis import analyse
from keisoku.subjects.path.stamp.sender import DelaySender
from keisoku.subjects.path.stamp.settings import DelaySettings

EPOCH_NS = 1_795_000_000_000_000_000
INTERVAL_NS = 1_000_000
PACKETS = (20, 100, 1000)
HELD_S = 3e-4
Truth = dict[str, float]


def virtual(packets: int, alike: bool, seed: int) -> tuple[pa.Table, Truth]:
    """Rows of a session, and what they should show."""
    random = np.random.default_rng((packets, alike, seed))
    there_ns = 10 ** random.uniform(3.7, 7)
    back_ns = there_ns if alike else there_ns * 10 ** random.uniform(-2, 2)
    t1 = EPOCH_NS + np.arange(packets) * INTERVAL_NS + random.integers(0, 20_000, packets)

    def queued(least_ns: float) -> np.ndarray:
        waits = random.exponential(least_ns * random.uniform(0.01, 1), packets)
        return np.round(least_ns + waits * (random.random(packets) < random.uniform(0.2, 0.9))).astype(np.int64)

    forward, reverse = queued(there_ns), queued(back_ns)
    inside = random.integers(2_000, 20_000, packets)
    rate, offset_ns = random.normal(0, 2e-5), round(random.normal(0, 1e8))

    def far(times: np.ndarray) -> np.ndarray:
        return times + offset_ns + np.round((times - EPOCH_NS) * rate).astype(np.int64)

    t2, t3, t4 = t1 + forward, t1 + forward + inside, t1 + forward + inside + reverse
    columns = {"t1_ns": t1, "t2_ns": far(t2), "t3_ns": far(t3), "t4_ns": t4, "answers": np.ones(packets, np.int64)}
    for end in ("near", "far"):
        columns |= {f"{end}_synchronised": np.zeros(packets, np.int64), f"{end}_error_ns": np.zeros(packets, np.int64)}
    return pa.table(columns), {**_truth("forward", forward), **_truth("reverse", reverse), "rate": rate * 1e6}


def _truth(way: str, delays_ns: np.ndarray) -> Truth:
    return {f"{way} least": float(delays_ns.min()), f"{way} median": float(np.median(delays_ns))}


def real(near: Place, port: int, packets: int) -> tuple[pa.Table, Truth]:
    """The same of a session with a reflector that has this clock."""
    wanted = DelaySettings(host=near.host, port=port, packets=packets, interval_s=INTERVAL_NS / 1e9, wait_s=1.0)
    rows = DelaySender(near, wanted).measure()
    for end in ("near", "far"):
        place = rows.column_names.index(f"{end}_synchronised")
        rows = rows.set_column(place, f"{end}_synchronised", pa.array(np.zeros(rows.num_rows, np.int64)))
    t1, t2, t3, t4 = (rows[f"t{number}_ns"].to_numpy() for number in (1, 2, 3, 4))
    used = (rows["answers"].to_numpy() > 0) & (t1 > 0)
    truth = {**_truth("forward", (t2 - t1)[used]), **_truth("reverse", (t4 - t3)[used]), "rate": 0.0}
    return rows, truth


def figures(result: Result) -> Iterator[tuple[str, Quantity]]:
    """Those that have a truth."""
    for row in result.rows:
        for name in ("least", "median"):
            if row.case in ("forward", "reverse"):
                yield f"{row.case} {name}", row.figures[name]
    for flag in result.flags:
        if "rate_difference" in flag.figures:
            yield "rate", flag.figures["rate_difference"]


@contextmanager
def sessions(kind: str, alike: bool) -> Iterator[Callable[[int, int], tuple[pa.Table, Truth]]]:
    """What gives rows and truths by the number of packets and a seed."""
    if kind == "virtual":
        yield lambda packets, seed: virtual(packets, alike, seed)
    elif kind == "loopback":
        with reflecting(Place("127.0.0.1"), alike) as port:
            session = partial(real, Place("127.0.0.1"), port)
            yield lambda packets, _: session(packets)
    else:
        with veth_pair() as pair, reflecting(Place(pair.far_address, pair.far), alike) as port:
            session = partial(real, Place(pair.far_address, pair.near), port)
            yield lambda packets, _: session(packets)


@contextmanager
def reflecting(place: Place, alike: bool) -> Iterator[int]:
    """The port of ours; of what holds its answers back if the ways are not `alike`."""
    with FarEnd("reflect", place) as far:
        if alike:
            yield far.port
            return
        holder = Holder(place, far.port)
        with serving(holder):
            yield holder.port


class Holder:
    """Passes packets on to a port of its own host, and their answers back later than they came."""

    def __init__(self, place: Place, port: int) -> None:
        self._far = (place.host, port)
        self._socket = StampedSocket("udp", (place.host, 0), namespace=place.path)
        self._stopped = False

    @property
    def port(self) -> int:
        """The UDP port."""
        return self._socket.address[1]

    def serve(self) -> None:
        """Until `stop`."""
        sender: tuple[str, int] | None = None
        while not self._stopped:
            for packet in self._socket.receive(time.monotonic_ns() + 100_000_000)[0]:
                if packet.source != self._far:
                    sender = packet.source
                    self._socket.send([(packet.data, self._far, packet.ttl)], 0)
                elif sender is not None:
                    time.sleep(HELD_S)
                    self._socket.send([(packet.data, sender, packet.ttl)], 0)

    def stop(self) -> None:
        """Ends `serve` within 100 ms."""
        self._stopped = True


def main(kind: str = "virtual", runs: str = "100", first: str = "5000") -> None:
    """Prints the table of one kind."""
    print("| ways | packets | one-way delays inside | median half width | median error | rates inside |")
    print("|---|---:|---:|---:|---:|---:|")
    for alike in (True, False):
        with sessions(kind, alike) as session:
            for packets in PACKETS:
                inside: dict[str, list[bool]] = defaultdict(list)
                widths, errors = [], []
                for seed in range(int(first), int(first) + int(runs)):
                    rows, truth = session(packets, seed)
                    for name, figure in figures(analyse(rows, DelaySettings(host="far", packets=packets))):
                        error = abs(figure.value - truth[name])
                        inside[name].append(error <= (figure.uncertainty or 0.0))
                        if name != "rate":
                            widths.append(figure.uncertainty or 0.0)
                            errors.append(error)
                ways = [one for name, each in inside.items() if name != "rate" for one in each]
                medians = " | ".join(f"{np.median(each) / 1e3:.1f} µs" for each in (widths, errors))
                cells = f"{sum(ways)} of {len(ways)} | {medians}"
                print(
                    f"| {'alike' if alike else 'differ'} | {packets} | {cells} |"
                    f" {sum(inside['rate'])} of {len(inside['rate'])} |",
                    flush=True,
                )


if __name__ == "__main__":
    main(*sys.argv[1:])

"""How true the lab's serialising links are, by the kernels' own stamps: slopes of the least delay, and pairs.

A link of C bit/s must take 8/C for each byte more, and space a back-to-back pair by 8·L/C. Lone UDP packets go over
one hop (transmit stamp of the tester's kernel to receive stamp of the target's), then pairs. Prints a row a link;
measures and judges nothing else. Needs root.

Run: python benchmarks/speed/serial_link.py [--repeats 60] [--rates 7.142857e6 10e6 100e6 1e9] [--mtu 1500]
"""

from __future__ import annotations

import argparse
import random
import select
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

from keisoku.ground.lab.path.hop import Hop
from keisoku.ground.lab.path.lab import PathLab
from keisoku.ground.lab.path.truth import DirectionTruth

SO_TIMESTAMPING = 37
TX_SOFTWARE, RX_SOFTWARE, SOFTWARE, OPT_ID, OPT_TSONLY = 1 << 1, 1 << 3, 1 << 4, 1 << 7, 1 << 11
PORT = 5000
HEADERS_BYTES = 28
SEED = 1


@contextmanager
def sockets(lab: PathLab) -> Iterator[tuple[socket.socket, socket.socket]]:
    """A stamped sender in the tester's namespace and a stamped receiver in the target's."""

    def stamped() -> socket.socket:
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, TX_SOFTWARE | RX_SOFTWARE | SOFTWARE | OPT_ID | OPT_TSONLY)
        return made

    sender, receiver = lab.run_in_tester(stamped), lab.run_in_target(stamped)
    with sender, receiver:
        receiver.bind((lab.target_address, PORT))
        sender.connect((lab.target_address, PORT))
        yield sender, receiver


def one_way_ns(sender: socket.socket, receiver: socket.socket, ip_bytes: int) -> int | None:
    """The delay of one packet between both kernels' stamps; None if a stamp or the packet is missing."""
    sender.send(bytes(ip_bytes - HEADERS_BYTES))
    if not select.select([receiver], [], [], 1)[0]:
        return None
    received = _stamp(receiver.recvmsg(ip_bytes, 512)[1])
    sent = _stamp(sender.recvmsg(0, 512, socket.MSG_ERRQUEUE)[1])
    return received - sent if received and sent else None


def least_delays(lab: PathLab, sizes: list[int], repeats: int) -> dict[int, int]:
    """The least delay of each size, in ns; sizes come in random order, so that no drift looks like a slope."""
    least: dict[int, int] = {}
    chance = random.Random(SEED)
    with sockets(lab) as (sender, receiver):
        for _ in range(repeats):
            for size in chance.sample(sizes, len(sizes)):
                delay = one_way_ns(sender, receiver, size)
                if delay is not None:
                    least[size] = min(delay, least.get(size, delay))
    return least


def pair_spacings(lab: PathLab, ip_bytes: int, count: int) -> list[int]:
    """What lies between the receive stamps of a pair, in ns, sorted, of pairs that were sent back-to-back."""
    spacings = []
    line_ns = 8e9 * ip_bytes / lab.hops[0].forward_bps
    with sockets(lab) as (sender, receiver):
        for _ in range(count):
            sender.send(bytes(ip_bytes - HEADERS_BYTES))
            sender.send(bytes(ip_bytes - HEADERS_BYTES))
            arrived = [_stamp(receiver.recvmsg(ip_bytes, 512)[1]) for _ in range(2)]
            sent = [_stamp(sender.recvmsg(0, 512, socket.MSG_ERRQUEUE)[1]) for _ in range(2)]
            if None not in (*arrived, *sent) and sent[1] - sent[0] < line_ns:  # type: ignore[operator]
                spacings.append(arrived[1] - arrived[0])  # type: ignore[operator]
    return sorted(spacings)


def fit(points: dict[int, int]) -> tuple[float, float]:
    """Least squares: ns at size 0, ns a byte."""
    count = len(points)
    mean_x, mean_y = sum(points) / count, sum(points.values()) / count
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points.items()) / sum((x - mean_x) ** 2 for x in points)
    return mean_y - slope * mean_x, slope


def _stamp(messages: list[tuple[int, int, bytes]]) -> int | None:
    for level, kind, data in messages:
        if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPING):
            seconds, ns = struct.unpack("qq", data[:16])
            return int(seconds) * 1_000_000_000 + int(ns)
    return None


def main() -> None:
    """Measure links of several rates and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=60)
    parser.add_argument("--rates", type=float, nargs="+", default=[8e9 / 1120, 10e6, 100e6, 1e9], help="bit/s")
    parser.add_argument("--mtu", type=int, default=1500)
    arguments = parser.parse_args()
    sizes = list(range(arguments.mtu // 15, arguments.mtu + 1, arguments.mtu // 15))
    print("| rate, Mbit/s | must be, ns/B | slope, ns/B | error, % | at size 0, µs | median pair, error % | late |")
    print("|---|---|---|---|---|---|---|")
    for rate in (round(rate) for rate in arguments.rates):
        with PathLab([Hop(rate, 10_000_000_000, mtu=arguments.mtu)], icmp="unlimited") as lab:
            constant, slope = fit(least_delays(lab, sizes, arguments.repeats))
            spacings = pair_spacings(lab, arguments.mtu, arguments.repeats)
            forward = lab.truth().hops[0].forward
            assert isinstance(forward, DirectionTruth)
            late = forward.late_packets
        must = 8e9 / rate
        # At 1 Gb/s and 1500 bytes this sender is not fast enough for pairs.
        pair = f"{100 * (median(spacings) / (must * arguments.mtu) - 1):+.2f}" if spacings else "none sent"
        error = 100 * (slope / must - 1)
        slopes = f"{must:.3f} | {slope:.3f} | {error:+.3f}"
        print(f"| {rate / 1e6:.3f} | {slopes} | {constant / 1e3:.2f} | {pair} | {late} |")


if __name__ == "__main__":
    main()

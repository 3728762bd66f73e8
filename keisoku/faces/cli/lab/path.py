"""Output of `keisoku lab 'path?…'`: how to use the path, and at its end the counts of its links."""

from __future__ import annotations

from contextlib import suppress

import click

from keisoku.faces.cli import interruption
from keisoku.ground.lab.path.hop import Hop
from keisoku.ground.lab.path.lab import PathLab
from keisoku.ground.lab.path.name import find_path
from keisoku.ground.lab.path.truth import BucketTruth, DirectionTruth, PathTruth


def keep_path(name: str) -> None:
    """Builds the path, prints its nodes, and keeps it until Ctrl-C. Raises PlanError for an invalid name."""
    with find_path(name) as path:
        _print_nodes(path)
        with suppress(KeyboardInterrupt):
            click.echo("ready; Ctrl-C removes it")
            interruption.wait()
        truth = path.truth()
    _print_truth(truth)
    click.echo("removed")


def _print_nodes(path: PathLab) -> None:
    click.echo(f"{path.nodes[0].namespace}  {path.tester_address}  probe from here")
    for number, (hop, address) in enumerate(zip(path.hops, path.hop_addresses, strict=True), 1):
        click.echo(f"  hop {number}: {_describe(hop)}")
        click.echo(f"{path.nodes[number].namespace}  {address}")
    for traffic in path.cross_traffic:
        share = f"{traffic.share * 100:g} %"
        click.echo(f"  cross traffic over hop {traffic.hop}: {traffic.kind}, {share}, {traffic.way}")
    click.echo(f"ip netns exec {path.nodes[0].namespace} ping {path.target_address}")


def _describe(hop: Hop) -> str:
    forward, reverse = (f"{rate / 1e6:g} Mb/s" for rate in hop.rates_bps)
    words = [forward if forward == reverse else f"{forward} forward, {reverse} reverse", f"MTU {hop.mtu} B"]
    if hop.bucket_bytes is not None:
        return ", ".join([f"kernel token bucket ({hop.discipline}) of {hop.bucket_bytes} B", *words])
    words += [f"then a hidden line of {rate / 1e6:g} Mb/s" for rate in hop.stages]
    if hop.propagation_ns:
        words.append(f"{hop.propagation_ns / 1e6:g} ms propagation")
    if hop.jitter_ns:
        words.append(f"0 to {hop.jitter_ns / 1e6:g} ms jitter")
    if hop.loss:
        words.append(f"{hop.loss * 100:g} % loss")
    return ", ".join(words)


def _print_truth(truth: PathTruth) -> None:
    for number, hop in enumerate(truth.hops, 1):
        for way, counts in (("forward", hop.forward), ("reverse", hop.reverse)):
            click.echo(f"hop {number} {way}: {_counts(counts, truth.elapsed_ns)}")
    for cross in truth.cross:
        offered = 8e3 * cross.sent_bytes / truth.elapsed_ns
        click.echo(
            f"cross traffic over hop {cross.traffic.hop}, {cross.traffic.kind}: {cross.sent_bytes} B sent "
            f"({offered:.3f} Mb/s mean), {cross.received_bytes} B received"
        )


def _counts(counts: DirectionTruth | BucketTruth, elapsed_ns: int) -> str:
    if isinstance(counts, BucketTruth):
        return f"{counts.sent_packets} frames sent, {counts.dropped_packets} dropped"
    return (
        f"{counts.in_packets} packets in, {counts.delivered_packets} delivered, {counts.dropped_packets} dropped, "
        f"{counts.lost_packets} lost, {counts.held_packets} in transit; busy {100 * counts.busy_ns / elapsed_ns:.2f} %"
    )

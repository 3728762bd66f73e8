"""Flags and remarks of a measured path. It computes no figure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keisoku.ground.run.result import Flag
from keisoku.ground.statistics.quantity import Quantity
from keisoku.language import join_texts, phrase
from keisoku.subjects.path.one_packet.fit import slope as hop_slope
from keisoku.subjects.path.one_packet.fit.covariance import FORWARD
from keisoku.subjects.path.one_packet.fit.minimum import HopSamples
from keisoku.subjects.path.one_packet.fit.segment import HopFit, Segment
from keisoku.subjects.path.one_packet.judgement.loss import PathLoss
from keisoku.subjects.path.one_packet.judgement.path import PathFit, Unseen
from keisoku.subjects.path.one_packet.probe import HopProbe
from keisoku.subjects.path.one_packet.probing.sizes import SLOWER_ABOVE_BYTES

HOST_SILENT = phrase("the host itself was silent or refused the probes: the path behind the last hop listed is unknown")


def flags_of(path: PathFit, reached: bool) -> list[Flag]:
    """Findings that change the meaning of the figures."""
    flags = []
    for segment, verdict in zip(path.segments, path.verdicts, strict=True):
        where = phrase("hop {last_hop} ({far})", last_hop=segment.last_hop, far=segment.far)
        stage = {} if verdict.stage_rate is None else {"stage_rate": Quantity(value=verdict.stage_rate, unit="bit/s")}
        if verdict.kind == "hidden-stages":
            text = phrase(
                "{where}: one link of that rate would spread a train more, so at least {stages} "
                "store-and-forward stages (switches) lie in this hop; its one-packet rate is that of "
                "all of them in series",
                where=where,
                stages=verdict.stages,
            )
            flags.append(Flag(name="hidden-stages", text=text, figures=stage))
        elif verdict.kind == "slow-router":
            text = phrase(
                "{where}: the way out seems to be slower than the way back, but {why}: the router takes longer for "
                "packets above {above} byte or more, so its rates and those of the next hop are only bounds",
                where=where,
                why=verdict.why,
                above=SLOWER_ABOVE_BYTES,
            )
            flags.append(Flag(name="slow-router", text=text, figures=stage))
        elif verdict.kind == "token-bucket":
            text = phrase(
                "{where}: single packets pass without serialisation but a train does not: a token "
                "bucket (shaper), whose sustained rate is at most that of the train; the one-packet "
                "method cannot measure it",
                where=join_texts(", ", [where, verdict.why]) if verdict.why else where,
            )
            flags.append(Flag(name="token-bucket", text=text, figures=stage))
        elif verdict.kind == "not-serialising":
            text = phrase(
                "{where}: its delay does not depend on the size: a fast link, or a shaper with a large burst",
                where=where,
            )
            if (train := path.trains[segment.last_hop]).limited_by_sender:
                text = phrase(
                    "{where}: its delay does not depend on the size: a fast link, or a shaper with a large burst or a "
                    "rate above {rate:,.3g} Mb/s, at which this host sent its trains",
                    where=where,
                    rate=train.rate / 1e6,
                )
            flags.append(Flag(name="not-serialising", text=text))
    for hop in path.fits:
        if (kink := path.kinks.get(hop.samples.hop)) is not None:
            change = kink.change
            taken = phrase("this is taken out of the rates of this hop and the next")
            if not kink.placed:
                taken = phrase("where it begins is not seen, so the rates of this hop and the next are only bounds")
            text = phrase(
                "hop {hop} ({replier}): each byte above about {above} takes {change:+.3g} ± {error:.2g} ns more, which "
                "no link and no length of a reply explains: its router or host is slower there; {taken}",
                taken=taken,
                hop=hop.samples.hop,
                replier=hop.samples.replier,
                above=kink.from_bytes,
                change=change.value,
                error=change.half_width,
            )
            name = "slow-router" if kink.from_bytes == SLOWER_ABOVE_BYTES else "kink"
            more = Quantity(value=change.value, unit="ns/byte", uncertainty=change.half_width)
            flags.append(Flag(name=name, text=text, figures={"slower": more}))
        if (odd := _theil_sen_differs(hop)) is not None:
            flags.append(Flag(name="fits-disagree", text=odd))
    if mixed := [_ways(samples) for samples in path.hops if samples.mixed]:
        text = phrase(
            "replies came over several paths, of which only the most frequent one is measured: {mixed}",
            mixed=join_texts("; ", mixed),
        )
        flags.append(Flag(name="mixed-paths", text=text))
    if any(samples.user_stamps for samples in path.hops):
        text = phrase(
            "some packets were stamped by the program instead of the kernel: microseconds of noise, not nanoseconds"
        )
        flags.append(Flag(name="user-stamps", text=text))
    if not reached:
        flags.append(
            Flag(
                name="host-silent",
                text=HOST_SILENT,
            )
        )
    return flags


def _ways(samples: HopSamples) -> str:
    """The addresses that answered at a hop, each with its share, the measured one first."""
    kept = samples.answered - samples.mixed
    ways = [(samples.replier, kept), *samples.others.items()]
    shares = [
        phrase("{share:.0f} % from {address}", share=100 * count / samples.answered, address=address)
        for address, count in ways
    ]
    return phrase("hop {hop}: {shares}", hop=samples.hop, shares=join_texts(", ", shares))


def loss_flags(losses: PathLoss, loop: str) -> list[Flag]:
    """What interrupted the probing."""
    flags = [Flag(name="routing-loop", text=loop)] if loop else []
    if losses.outages:
        seconds = sum(outage.seconds for outage in losses.outages)
        nearest = min(outage.hop for outage in losses.outages)
        times = phrase("{count} times", count=len(losses.outages)) if len(losses.outages) > 1 else phrase("once")
        text = phrase(
            "nothing came back from hop {nearest} on, {times}, for {seconds:.1f} s in all: the "
            "path was interrupted; these probes are not in the loss ratios",
            nearest=nearest,
            times=times,
            seconds=seconds,
        )
        figures = {
            "longest": Quantity(value=max(outage.seconds for outage in losses.outages), unit="s"),
            "probes": Quantity(value=sum(outage.probes for outage in losses.outages), unit="packets", uncertainty=0.0),
        }
        flags.append(Flag(name="outage", text=text, figures=figures))
    return flags


def _theil_sen_differs(hop: HopFit) -> str | None:
    """A sentence if the median of all pairs' slopes is eight standard errors and a tenth of the slope from it."""
    forward, _ = hop_slope.theil_sen(hop.samples.sizes, hop.samples.replies, hop.fitted, hop.fit.kind)
    if not np.isfinite(forward):
        return None
    allowed = max(8 * hop.known.error((FORWARD,)), 0.1 * abs(hop.fit.forward), 0.4)
    if abs(forward - hop.fit.forward) <= allowed:
        return None
    return phrase(
        "hop {hop} ({replier}): the trimmed fit gives {forward:.2f} ns per byte, the median "
        "of all pairs {forward2:.2f}: too few undelayed probes",
        hop=hop.samples.hop,
        replier=hop.samples.replier,
        forward=hop.fit.forward,
        forward2=forward,
    )


def _higher(segment: Segment, unseen: Unseen) -> str:
    """A hop, and by how much its forward rate may be higher."""
    slope = 0.0 if segment.forward is None else segment.forward.value
    if slope < 2 * unseen.more:
        return phrase("{hop} (by any factor)", hop=segment.last_hop)
    percent = 100 * (slope / (slope - unseen.more) - 1)
    if unseen.of_way_back:
        return phrase("{hop} (+{percent:.2g} % if the way back is no slower)", hop=segment.last_hop, percent=percent)
    return phrase("{hop} (+{percent:.2g} %)", hop=segment.last_hop, percent=percent)


def remarks_of(path: PathFit, probes: Sequence[HopProbe], noise: float | None) -> list[str]:
    """Other sentences that a reader needs; `noise` of a round trip is in ns."""
    remarks = [phrase("latency is the round trip of a packet of zero length, with the time that routers take to reply")]
    sent = [probe.sent_ns for probe in probes]
    if sent:
        volume = sum(probe.size_bytes for probe in probes)
        seconds = (max(sent) - min(sent)) / 1e9
        remarks.append(
            phrase(
                "{count} probes of {volume} byte in {seconds:.1f} s", count=len(sent), volume=volume, seconds=seconds
            )
        )
    answered = {samples.hop for samples in path.hops}
    asked = {probe.hop for probe in probes if probe.hop <= max(answered, default=0)}
    if silent := sorted(asked - answered):
        hops = ", ".join(str(hop) for hop in silent)
        remarks.append(phrase("never answered: hop {hops}; its links are part of the next hop that did", hops=hops))
    fitted = {hop.samples.hop for hop in path.fits}
    if few := sorted(answered - fitted):
        hops = ", ".join(str(hop) for hop in few)
        remarks.append(
            phrase("answered too few sizes for a fit: hop {hops}; its links are part of the next hop", hops=hops)
        )
    if raised := [f"{hop.samples.hop} ({100 * hop.level:.0f} %)" for hop in path.fits if hop.level]:
        remarks.append(
            phrase(
                "in place of the minimum a low quantile was fitted, which is known better, at hop {raised}",
                raised=join_texts(", ", raised),
            )
        )
    if path.unseen:
        remarks.append(
            phrase(
                "a router that takes longer above {above} byte is not ruled out at hop {hops}: there the forward rate "
                "may be higher by as much, and that of the next hop lower",
                above=SLOWER_ABOVE_BYTES,
                hops=join_texts(
                    ", ",
                    [_higher(one, path.unseen[one.last_hop]) for one in path.segments if one.last_hop in path.unseen],
                ),
            )
        )
    if noise is None:
        remarks.append(phrase("the noise of the stamps alone is not known"))
    else:
        remarks.append(
            phrase(
                "noise of the stamps of one round trip: {noise:.0f} ns (standard deviation, on loopback)", noise=noise
            )
        )
    return remarks

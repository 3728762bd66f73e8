"""`path one-packet` as an entry of the table of measurements: what is probed, and the answer from the raw probes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keisoku.errors import PlanError, demand
from keisoku.ground.entry import Findings, Measurement, Work, without_files
from keisoku.ground.host.place import Place
from keisoku.ground.run.directory import RunDirectory
from keisoku.ground.run.result import Flag
from keisoku.language import join_texts, phrase, recorded
from keisoku.subjects.clock import rate_correction
from keisoku.subjects.path.one_packet.fit.segment import Segment, widths
from keisoku.subjects.path.one_packet.judgement.analysis import NAME
from keisoku.subjects.path.one_packet.judgement.analysis import analyse as analyse_probes
from keisoku.subjects.path.one_packet.judgement.path import fit_path
from keisoku.subjects.path.one_packet.judgement.sources import source_rows
from keisoku.subjects.path.one_packet.plot import hop_plots
from keisoku.subjects.path.one_packet.probe import HopProbe
from keisoku.subjects.path.one_packet.probing.discovery import KnownPath
from keisoku.subjects.path.one_packet.probing.schedule import HopProbing
from keisoku.subjects.path.one_packet.probing.sockets import HopSockets
from keisoku.subjects.path.one_packet.settings import OnePacketSettings
from keisoku.subjects.path.one_packet.table import append, probes_of
from keisoku.subjects.path.stamp_noise import stamp_noise
from keisoku.subjects.path.unfinished import unfinished

LOOP = "loop"
"""Key of the facts: true if `REFUSAL` is about a routing loop."""
REFUSAL = "refusal"
"""Key of the facts: which host or router refused the probes, and why."""
ENDED = "ended"
"""Of the facts: whether the probing came to its end, which that of its budget is too."""
SINGLE, TRAINS = "single packets", "trains"


def measure(work: Work[OnePacketSettings]) -> None:
    """Finds the hops and probes them until enough is known. Raises EngineError if no hop on the path answers."""
    demand(["scipy"])  # to judge losses
    settings = work.settings
    place = Place.parse(settings.host)
    with HopSockets(place, settings.port) as wire:
        directory = work.begin(
            {
                "stamp_noise_ns": stamp_noise(wire.destination, place.path),
                "address": wire.destination,
                "interface_mtu_bytes": wire.mtu_bytes,
                **rate_correction.context(),
            }
        )

        directory.know(**{ENDED: False})

        def found(path: KnownPath) -> None:
            if path.refusal:
                directory.know(**{REFUSAL: path.refusal, LOOP: path.loop is not None})

        def keep(probes: Sequence[HopProbe]) -> None:
            append(directory, probes)

        # A given budget may be longer than --within, which is kept as well.
        budget_s = min(settings.budget_s, settings.within_s or settings.budget_s)
        HopProbing(
            wire,
            settings.model_copy(update={"budget_s": budget_s}),
            keep,
            work.observer.tell,
            found=found,
            came_to=work.observer.came_to,
            started_s=work.waited_s(),
            answer=work.answer,
        ).run()
        directory.know(**{ENDED: True})


def analyse(directory: RunDirectory) -> Findings:
    """From the probes alone. Raises PlanError if there are too few for a fit of any hop.

    That the host itself was not reached is the result's failure.
    """
    probes, context, host = probes_of(directory), directory.context, str(directory.plan["host"])
    noise: dict[str, float] = context["stamp_noise_ns"]
    fitted = fit_path(probes)
    if not fitted.fits:
        problem = f"in {directory.path} no hop answered enough sizes of probe for a fit"
        raise PlanError("run", problem, "measure again with a longer --budget")
    reached = any(probe.replier == context["address"] for probe in probes)
    kernel = noise.get("kernel")
    loop = recorded(str(directory.facts.get(REFUSAL, ""))) if directory.facts.get(LOOP) else ""
    result = analyse_probes(host, fitted, probes, None if kernel is None else kernel * 2**0.5, reached, loop)
    why = recorded(directory.facts.get(REFUSAL, "")) or (
        phrase("neither the host nor any hop behind the last one shown ever answered")
    )
    result = result.model_copy(
        update={
            "rows": [*result.rows, *source_rows(probes, noise)],
            "flags": [*_unfinished(directory, probes), *result.flags],
            "remarks": [*result.remarks, *_imprecise(fitted.segments, float(directory.plan["precision_percent"]))],
            "failure": ""
            if reached
            else phrase("{host}: not measured as far as the host: {why}", host=host.partition("@")[0], why=why),
        }
    )
    return Findings([rate_correction.with_rate_of(directory, result)], hop_plots(fitted))


def _unfinished(directory: RunDirectory, probes: Sequence[HopProbe]) -> list[Flag]:
    """What is missing in a run that was stopped before its end."""
    if directory.facts.get(ENDED, True):
        return []
    sent = [
        name
        for name, of_train in ((SINGLE, False), (TRAINS, True))
        if any((one.train is not None) == of_train for one in probes)
    ]
    missing = [TRAINS] if TRAINS not in sent and directory.plan["trains"] else []
    return [unfinished(sent, missing)]


def _imprecise(between: Sequence[Segment], precision_percent: float) -> list[str]:
    """A sentence about the hops that lack the precision that was asked for."""
    lacking = [
        f"{hop} (± {100 * width:.2g} %)" if np.isfinite(width) else f"{hop}"
        for hop, width in widths(between, with_reverse=False).items()
        if 100 * width > precision_percent
    ]
    if not lacking:
        return []
    return [
        phrase(
            "the probing ended before the precision of {precision_percent:g} % was reached at hop {lacking}",
            precision_percent=precision_percent,
            lacking=join_texts(", ", lacking),
        )
    ]


MEASUREMENT = Measurement(
    name=NAME,
    title=phrase("Bandwidth of the hops from single packets"),
    settings=OnePacketSettings,
    seconds=lambda settings: settings.budget_s,
    shortens=("budget_s",),
    keeps_time=True,
    measure=measure,
    analyse=analyse,
    figure="forward",
    units={
        "bit/s": "forward reverse if_symmetric train",
        "ns": "latency reply_interval",
        "%": "lost clock_share",
        "packets": "probes answered refused in_outages",
        "per size": "repeats",
        "Mb/s": "mean",
        "(Mb/s)²": "variance clock_predicted",
    },
    summary="Measures bandwidth, forward and reverse, and latency of every hop to HOST by single packets.",
    help="""Only one probe is on the path at a time. Routers that limit their replies are probed at their own rate:
    with Linux's default of one reply a second this takes four to five minutes. The exit code is 2 if the host itself
    was not reached; the hops before it are still shown.

    \b
    keisoku path one-packet 192.0.2.7
    keisoku path one-packet 198.18.4.2@keisoku-1234-tester    # from a network namespace""",
    from_afar=without_files(),
)

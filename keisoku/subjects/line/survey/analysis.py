"""Result of a survey of a line: the figures of its responsiveness with those of capacity, loss, order, packets, NAT and
clocks, and all of it in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from keisoku.ground.report import digits
from keisoku.ground.run.result import Result, Row
from keisoku.ground.statistics.quantity import Interval, Quantity
from keisoku.ground.statistics.repeated import combined
from keisoku.ground.statistics.share import share
from keisoku.language import join_texts, phrase
from keisoku.subjects.line.responsiveness.analysis import QUEUE, WHILE
from keisoku.subjects.line.responsiveness.analysis import analyse as analyse_responsiveness
from keisoku.subjects.line.responsiveness.condition import HALVES, NAMES, OVERLOADS, WAYS, Condition, Way
from keisoku.subjects.line.responsiveness.outcome import Outcome, Times, by_condition
from keisoku.subjects.line.responsiveness.queue import OFFERED
from keisoku.subjects.line.survey.clocks import runs_fast
from keisoku.subjects.line.survey.nat import Nat, nat_rows, nat_sentences
from keisoku.subjects.line.survey.settings import LineSettings

NAME = "line survey"
RATE, PACKETS, CLOCKS = phrase("Direction"), phrase("UDP at half of the rate"), phrase("Clocks")
FAR_CLOCK = phrase("far clock")
Rounds = Mapping[Condition, list[Outcome]]


@dataclass(frozen=True)
class Clocks:
    """What both kernels say of their clocks."""

    near_synchronised: bool
    far_synchronised: bool


def analyse(
    settings: LineSettings,
    outcomes: Iterable[Outcome],
    repliers: Mapping[int, str],
    mtu_bytes: int,
    clocks: Clocks | None,
    nat: Nat | None = None,
) -> tuple[Result, dict[Condition, Times]]:
    """The result, and sorted round trips in ns by condition for its plot. `mtu_bytes`: 0 if not known."""
    found = list(outcomes)
    rounds = by_condition(found)
    base, curves = analyse_responsiveness(settings.responsiveness(), found, repliers)
    rates = [row for way in WAYS if (row := _rate_row(rounds, way)) is not None]
    packets = [row for way in WAYS if (row := _packet_row(rounds, way)) is not None]
    path = []
    if mtu_bytes:
        figures = {"longest_packet": Quantity(value=mtu_bytes, unit="byte", uncertainty=0.0)}
        path.append(Row(case=phrase("whole"), figures=figures, group=phrase("Path")))
    rows = [*rates, *base.rows, *packets, *path, *(nat_rows(nat) if nat is not None else [])]
    fast = runs_fast(rounds.get("idle", []))
    if fast is not None:
        figures = {"runs_fast": fast}
        rows.append(Row(case=FAR_CLOCK, figures=figures, group=CLOCKS, remark=_synchronised(clocks)))
    result = base.model_copy(
        update={
            "measurement": NAME,
            "title": phrase("the line to {address}", address=settings.address),
            "rows": rows,
            "remarks": [
                *base.remarks,
                phrase(
                    "capacity: the median of ten parts of the condition in which most arrived, of UDP above the rate"
                    " of TCP, or of TCP. Its interval contains how the parts differ and what probes took, not how "
                    "conditions differ"
                ),
                phrase("loss and order: of datagrams of 1200 byte at half of the rate of TCP"),
            ],
            "sentence": join_texts(" ", [_in_words(rows, mtu_bytes), *(nat_sentences(nat) if nat is not None else [])]),
        }
    )
    return result, curves


def _rate_row(rounds: Rounds, way: Way) -> Row | None:
    figures = {}
    tcp = [one.rates_bps[way] for one in rounds.get(way, []) if one.rates_bps.get(way)]
    if tcp:
        figures["tcp"] = combined([Quantity(value=one, unit="bit/s") for one in tcp])
    if (capacity := _capacity(rounds, way)) is not None:
        figures["capacity"] = capacity
    return Row(case=NAMES[way], figures=figures, group=RATE) if figures else None


def _capacity(rounds: Rounds, way: Way) -> Quantity | None:
    """What arrived in the condition in which most did; None without UDP above that rate, which alone fills the line.

    The median of parts of its time, as a sender that is held up offers too little in some of them, and a shaper lets
    more pass in the first; no more arrives than the line carries.
    """
    overloads = rounds.get(OVERLOADS[way], [])
    loaded = [one for one in (*overloads, *rounds.get(way, [])) if one.rates_bps.get(way)]
    if not overloads or not loaded:
        return None
    found = [(combined([Quantity(value=part, unit="bit/s") for part in one.parts_bps[way]]), one) for one in loaded]
    most, fastest = max(found, key=lambda each: each[0].value)
    if all((one.offered_bps or 0.0) < OFFERED * most.value for one in overloads):
        return Quantity(value=most.value, unit="bit/s", bound="at least")
    lower, upper = most.bounds or (most.value, most.value)
    edge, beside = fastest.edge_bps[way], fastest.beside_bps[way]
    return most.model_copy(update={"interval": Interval(lower=lower - edge, upper=upper + edge + beside)})


def _packet_row(rounds: Rounds, way: Way) -> Row | None:
    counts = [one.datagrams[way] for one in rounds.get(HALVES[way], []) if way in one.datagrams]
    offered = sum(one.offered for one in counts)
    if not offered:
        return None
    lost, dropped = sum(one.lost for one in counts), sum(one.dropped_by_hosts for one in counts)
    figures = {"lost": share(lost, offered)}
    remark = ""
    if dropped := min(dropped, lost):
        # What the host lost itself is no figure of the line: of the line's own loss this is a bound.
        figures["lost"] = Quantity(value=figures["lost"].value, unit="%", bound="at most")
        remark = phrase("up to {dropped} of the lost ones were lost by the far host itself", dropped=dropped)
    figures["reordered"] = share(sum(one.reordered for one in counts), max(offered - lost, 1))
    return Row(case=NAMES[way], figures=figures, group=PACKETS, remark=remark)


def _synchronised(clocks: Clocks | None) -> str:
    if clocks is None:
        return ""
    if clocks.near_synchronised and clocks.far_synchronised:
        return phrase("both clocks say that they are synchronised")
    if clocks.near_synchronised or clocks.far_synchronised:
        return phrase("one of both clocks says that it is not synchronised")
    return phrase("neither clock says that it is synchronised")


def _in_words(rows: list[Row], mtu_bytes: int) -> str:
    """Sentences for somebody who reads nothing else."""

    def figure(group: str, case: str, name: str) -> str | None:
        found = [row.figures.get(name) for row in rows if row.group == group and row.case == case]
        return digits.text(found[0]) if found and found[0] is not None else None

    said = []
    for way in WAYS:
        rate = figure(RATE, NAMES[way], "capacity") or figure(RATE, NAMES[way], "tcp")
        if rate is not None:
            said.append(phrase("The {way} carries {rate}.", way=NAMES[way], rate=rate))
    idle = figure(WHILE, NAMES["idle"], "median")
    if idle is not None:
        said.append(phrase("While the line is idle, a packet takes {idle} there and back.", idle=idle))
    for row in rows:
        if row.group == WHILE and "added" in row.figures:
            added = row.figures["added"]
            more, graded = digits.text(added), row.remark
            said.append(
                phrase("Under load ({case}) it takes {more} longer: {graded}.", case=row.case, more=more, graded=graded)
                if added.value > 0
                else phrase("Under load ({case}) it takes no longer: {graded}.", case=row.case, graded=graded)
            )
        elif row.group == QUEUE and row.remark:
            said.append(phrase("Queue of the {case}: {said}.", case=row.case, said=row.remark))
        elif row.group == PACKETS:
            lost, late = (digits.text(row.figures[name]) for name in ("lost", "reordered"))
            where = join_texts("; ", [part for part in (row.case, row.remark) if part])
            said.append(
                phrase(
                    "At half of the rate, the line lost {lost} of the packets ({case}) and {late} were overtaken.",
                    lost=lost,
                    case=where,
                    late=late,
                )
            )
    if mtu_bytes:
        said.append(phrase("Packets of up to {mtu_bytes} byte pass.", mtu_bytes=mtu_bytes))
    return join_texts(" ", said)

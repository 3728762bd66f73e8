"""Telemetry: whether what a device exports about its traffic (sFlow, NetFlow, IPFIX, interface counters) is true.

Every frame of a known load is counted exactly, flow by flow; the device's exports are collected meanwhile and held
against these counts.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from keisoku.errors import PlanError
from keisoku.ground.frame.payload import FCS_BYTES
from keisoku.ground.report import digits
from keisoku.ground.run.result import Flag, Result, Row, place
from keisoku.ground.statistics.quantity import Interval, Quantity, count
from keisoku.language import join_texts, phrase, plural, sentence_case
from keisoku.subjects.device.analysis.telemetry import CONFIDENCE, Account, Reading, accounts, readings, samples_needed
from keisoku.subjects.device.entry import Procedure
from keisoku.subjects.device.method.method_input import MethodInput
from keisoku.subjects.device.method.search import RETRIES
from keisoku.subjects.device.plan.plan import Plan
from keisoku.subjects.device.procedure.telemetry.plot import telemetry_plot
from keisoku.subjects.device.procedure.telemetry.settings import TelemetrySettings
from keisoku.subjects.device.record.capabilities import Capabilities
from keisoku.subjects.device.record.exports import Exports
from keisoku.subjects.device.record.trial import Flow, Trial
from keisoku.subjects.device.record.trial_record import TrialRecord
from keisoku.subjects.device.record.validity import why_invalid

EXPORTER = phrase("Exporter")
"""Header of the column of cases of exporters."""
INTERFACE = phrase("Interface")
_DEFAULT_FPS = 10_000.0
_ACCUSED = "false-telemetry"


def telemetry(inputs: MethodInput) -> Generator[Trial, TrialRecord, Result]:
    """Rows of each size: one each exporter ('bias' and 'byte_bias', %, of what its exports say beside the truth;
    'sampled_one_in' as it is and 'stated_one_in'; 'samples', frames that were looked at; of the 'flows' the
    'missing_flows'; 'lost_exports' by their sequence numbers; 'export_delay', ns, of the last export behind the last
    frame), then one each interface and direction whose counters grew by the load ('counter_frames', 'true_frames',
    'counter_error', %).

    Raises PlanError for headers without ports.
    """
    settings = inputs.plan.settings_of(TelemetrySettings)
    rows: list[Row] = []
    flags: list[Flag] = []
    for size in inputs.plan.frame_bytes:
        record = yield from _carried(inputs, settings, size)
        if not record.valid:
            remark = join_texts("; ", why_invalid(record))
            rows.append(Row(frame_bytes=size, figures={}, group=EXPORTER, trial=record.index, remark=remark))
            continue
        found = _Said(record, size, settings)
        rows += found.rows()
        flags += found.flags
    return Result(
        measurement="telemetry",
        rows=rows,
        flags=flags,
        deviations=[phrase("the DUT is simulated: results describe the model")]
        if inputs.capabilities.simulated
        else [],
        remarks=_foretold(inputs.plan, inputs.capabilities),
    )


def _carried(inputs: MethodInput, settings: TelemetrySettings, size: int) -> Generator[Trial, TrialRecord, TrialRecord]:
    """A trial that neither the tester nor its host disturbed, or the last one. Each has flows of its own: what is still
    exported of those before is not counted."""
    line = inputs.line_fps(size) or _DEFAULT_FPS
    fps = inputs.fps(settings.rate_fps, size) or min(_DEFAULT_FPS, line)
    headers = inputs.plan.contents()[0].headers
    for attempt in range(RETRIES + 1):
        modify = settings.modifier(headers, f"{inputs.plan.seed} {size} {attempt}")
        flow = Flow(transmit=0, receive=1, modify=(modify,), streams=settings.flows, frame_bytes=(size,))
        trial = inputs.trial(phrase("telemetry, {size} byte", size=size), size, fps, settings.length_s(fps))
        record = yield trial.model_copy(update={"flows": (flow,), "exporting": settings.exporting})
        if record.valid:
            break
    return record


class _Said:
    """What all exporters said of one trial."""

    def __init__(self, record: TrialRecord, size: int, settings: TelemetrySettings) -> None:
        self._record, self._size, self._settings = record, size, settings
        self._exports = record.facts.exports or Exports()
        self.flags: list[Flag] = []

    def rows(self) -> list[Row]:
        """Of exporters, then of interfaces."""
        exports = self._exports
        if exports.tester_dropped:
            text = plural(
                "the tester had no room for {count} export, so nothing is said of the device",
                "the tester had no room for {count} exports, so nothing is said of the device",
                count=exports.tester_dropped,
            )
            return [self._row(EXPORTER, "", {}, text)]
        found = [self._of_exporter(account) for account in accounts(self._record.facts, self._settings.sampling)]
        found += self._of_interfaces()
        if not found:
            text = phrase(
                "nothing was exported until {seconds:g} s after the load: is this the exporters' destination, and "
                "is their timeout shorter?",
                seconds=self._settings.after_s,
            )
            if exports.unread:
                text = plural(
                    "{count} datagram came that is neither sFlow 5, NetFlow 5, NetFlow 9 nor IPFIX",
                    "{count} datagrams came that are neither sFlow 5, NetFlow 5, NetFlow 9 nor IPFIX",
                    count=exports.unread,
                )
            return [self._row(EXPORTER, "", {}, text)]
        return found

    def _row(self, group: str, case: str, figures: dict[str, Quantity], remark: str) -> Row:
        return Row(
            frame_bytes=self._size,
            case=case,
            group=group,
            figures=figures,
            trial=self._record.index,
            remark=remark,
        )

    def _of_exporter(self, account: Account) -> Row:
        figures: dict[str, Quantity] = {}
        flows = len(account.most_frames)
        if account.samples:
            likely, low, high = account.ratio
            figures["bias"] = _percent(likely, low, high)
            if (bytes_ratio := self._bytes_ratio(account)) is not None:
                figures["byte_bias"] = _percent(*(one * bytes_ratio for one in (likely, low, high)))
            if account.one_in > 1:
                most = int(account.most_frames.sum())
                ends = Interval(lower=account.one_in / high, upper=account.one_in / low, confidence=CONFIDENCE)
                figures["sampled_one_in"] = Quantity(value=most / account.samples, unit="", interval=ends)
        if account.one_in_said is not None:
            figures["stated_one_in"] = count(account.one_in_said)
        figures |= {
            "samples": count(account.samples),
            "flows": count(flows),
            "missing_flows": count(int(account.missing.sum())),
            "lost_exports": count(account.exporter.missing),
        }
        if account.last_ns is not None:
            delay_ns = account.last_ns - self._record.facts.sent.last_sent_ns
            figures["export_delay"] = Quantity(value=delay_ns, unit="ns")
        case = phrase("{protocol} of {address}", protocol=account.exporter.protocol, address=account.exporter.address)
        return self._row(EXPORTER, case, figures, join_texts("; ", self._judged(account, figures)))

    def _bytes_ratio(self, account: Account) -> float | None:
        """Bytes of a counted frame by its true ones; None where they are not known."""
        if account.bytes_a_frame is None:
            return None
        own = self._size
        if not account.exporter.protocol.startswith("sFlow"):
            if self._exports.ip_at_bytes is None:
                return None
            own -= FCS_BYTES + self._exports.ip_at_bytes
        return account.bytes_a_frame / own

    def _judged(self, account: Account, figures: dict[str, Quantity]) -> list[str]:
        """The verdict, and what is to be known beside it."""
        said, wrong = [], []
        bias = figures.get("bias")
        if not len(account.most_frames):
            said.append(phrase("nothing is known, as every flow began before this run: give another --seed"))
        elif bias is None:
            said.append(
                phrase("none of its exports is of the flows that were sent: does the device change addresses or ports?")
            )
        else:
            wrong = self._wrong(account, bias, figures.get("byte_bias"))
            said += wrong or [self._right(account)]
        if account.older_flows and bias is not None:
            said.append(
                plural(
                    "{count} flow is left out, as it began before this run",
                    "{count} flows are left out, as they began before this run",
                    count=account.older_flows,
                )
            )
        if account.exporter.missing:
            said.append(
                plural(
                    "{count} export did not arrive, by its sequence numbers",
                    "{count} exports did not arrive, by their sequence numbers",
                    count=account.exporter.missing,
                )
            )
        if account.exporter.unknown_sets:
            said.append(
                plural(
                    "{count} set of records came before its template",
                    "{count} sets of records came before their template",
                    count=account.exporter.unknown_sets,
                )
            )
        if wrong:
            self.flags.append(Flag(name=_ACCUSED, text=sentence_case(join_texts("; ", wrong))))
        return said

    def _wrong(self, account: Account, bias: Quantity, byte_bias: Quantity | None) -> list[str]:
        """What of its exports is not true."""
        found = []
        low, high = bias.bounds or (bias.value, bias.value)
        times = round(1 + bias.value / 100)
        if times > 1 and low <= 100 * (times - 1) <= high:
            found.append(phrase("each frame is counted {times} times", times=times))
        elif low > 0:
            found.append(phrase("{share} too many frames are counted", share=digits.text(bias)))
        elif high < 0:
            text = digits.text(bias.negated)
            found.append(phrase("{share} of the frames are not counted", share=text))
        missing = int(account.missing.sum())
        if missing and (account.one_in == 1 or not account.is_explained):
            found.append(
                plural("{count} flow is missing", "{count} flows are missing", count=missing)
                if account.one_in == 1
                else plural(
                    "{count} flow is missing, which sampling does not explain",
                    "{count} flows are missing, which sampling does not explain",
                    count=missing,
                )
            )
        if account.one_in == 1 and not found and account.other_counts:
            found.append(
                plural(
                    "{count} flow is counted with another number of frames",
                    "{count} flows are counted with other numbers of frames",
                    count=account.other_counts,
                )
            )
        stated = account.one_in_said
        if stated is not None and self._settings.sampling not in (None, stated):
            found.append(phrase("its exports state one in {stated}", stated=stated))
        if byte_bias is not None and not found:
            low, high = byte_bias.bounds or (byte_bias.value, byte_bias.value)
            if low > 0 or high < 0:
                found.append(self._of_bytes(account, byte_bias))
        return found

    def _of_bytes(self, account: Account, byte_bias: Quantity) -> str:
        """What its bytes are, where its frames are counted truly."""
        if account.bytes_a_frame in (self._size, self._size - FCS_BYTES):
            return phrase("its bytes are those of Ethernet frames, and not of IP packets")
        return phrase("its bytes are {share} off, its frames are not", share=digits.text(byte_bias))

    def _right(self, account: Account) -> str:
        if account.one_in == 1:
            return phrase("every flow is counted exactly")
        return phrase("what it exports is true: it looks at one frame in {one_in}", one_in=account.one_in)

    def _of_interfaces(self) -> list[Row]:
        facts = self._record.facts
        found = readings(self._exports, facts.sent.last_sent_ns, facts.sent.offered_frames)
        return [self._of_interface(reading) for reading in found]

    def _of_interface(self, reading: Reading) -> Row:
        """Other frames pass an interface as well, so only fewer are wrong."""
        facts = self._record.facts
        passed = facts.sent.offered_frames if reading.inwards else facts.tracked.forwarded_frames
        least = facts.tracked.forwarded_frames
        off = 100 * (reading.frames / passed - 1)
        figures = {
            "counter_frames": count(reading.frames, "frames"),
            "true_frames": count(passed, "frames"),
            "counter_error": Quantity(value=off, unit="%", uncertainty=0.0),
        }
        name = {"address": reading.exporter.address, "interface": reading.interface}
        case = (
            phrase("{address}, {interface} in", **name)
            if reading.inwards
            else phrase("{address}, {interface} out", **name)
        )
        if reading.frames < least:
            said = plural(
                "{count} frame is not counted", "{count} frames are not counted", count=least - reading.frames
            )
            self.flags.append(Flag(name=_ACCUSED, text=sentence_case(join_texts(": ", [case, said]))))
        else:
            said = phrase("all frames are counted")
        return self._row(INTERFACE, case, figures, said)


def _percent(ratio: float, low: float, high: float) -> Quantity:
    """How far an estimate is off; without an interval's width it is exact."""
    value = 100 * (ratio - 1)
    if low == high:
        return Quantity(value=value, unit="%", uncertainty=0.0)
    ends = Interval(lower=100 * (low - 1), upper=100 * (high - 1), confidence=CONFIDENCE)
    return Quantity(value=value, unit="%", interval=ends)


def _foretold(plan: Plan, capabilities: Capabilities) -> list[str]:
    """How many samples the resolution needs."""
    settings = plan.settings_of(TelemetrySettings)
    if settings.sampling == 1:
        return []
    needed = samples_needed(settings.resolution_percent / 100)
    text = phrase(
        "{samples} samples find an estimate that is {resolution:g} % off with 95 % probability",
        samples=needed,
        resolution=settings.resolution_percent,
    )
    return [text]


def _check(plan: Plan, capabilities: Capabilities) -> None:
    """Raises PlanError for several directions, and for headers whose flows no exporter tells apart."""
    if plan.pairs() != [(0, 1)]:
        raise PlanError("pattern", "telemetry is measured from one port to one other", "leave it out")
    if plan.describes_flows:
        problem = "telemetry makes its flows itself, of one size each"
        raise PlanError("headers", problem, "leave out --modify, --streams, --networks, mixes and [[stream]]")
    settings = plan.settings_of(TelemetrySettings)
    settings.modifier(plan.contents()[0].headers, "")


def _from_afar(settings: Mapping[str, Any]) -> None:
    """Raises PlanError for a port of the server."""
    if settings.get("listen"):
        problem = "a port of the server may only be given on its own command line"
        raise PlanError("telemetry.listen", problem, "leave it out, and use a lab or a simulated device")


def _sentence(result: Result) -> str:
    """The verdict of each exporter."""
    found = [row for row in result.rows if row.remark and row.figures]
    said = [join_texts(": ", [place(row), row.remark] if len(found) > 1 else [row.remark]) for row in found]
    return join_texts(" ", [join_texts("", [sentence_case(text), "."]) for text in said])


PROCEDURE = Procedure(
    name="telemetry",
    title=phrase("Telemetry of the device"),
    standard=phrase("sFlow 5, NetFlow 5 and 9, IPFIX (RFC 7011)"),
    summary="Whether the device's own exports (sFlow, NetFlow, IPFIX) count its traffic truly, flow by flow.",
    settings=TelemetrySettings,
    generator=telemetry,
    figure="bias",
    units={
        "%": "bias byte_bias counter_error",
        "": "sampled_one_in stated_one_in samples flows missing_flows lost_exports",
        "frames": "counter_frames true_frames",
        "ns": "export_delay",
    },
    example="keisoku telemetry --dut 'lab:ovs-export?sampling=64' --sampling 64",
    sizes="128",
    needs=("exports",),
    pace={"before_s": 0.5, "after_s": 3.0},
    foretells=_foretold,
    check=_check,
    from_afar=_from_afar,
    plots=(telemetry_plot,),
    sentence=_sentence,
    adds=lambda result: [said] if (said := _sentence(result)) else [],
)
